"""Schedules which bank reads a finished sum, for which port, in which cycle."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import delay, index_of
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.round_robin import first_of, lowest
from hdl.switchgnn.switch.results.bank_choice import BankChoice, next_turn
from hdl.switchgnn.switch.results.read_schedule_params import ReadScheduleParams


class ReadSchedule(Component):
    """Chooses at most one READ a cycle among the ``ready`` lists of ``open`` ports.

    In a cycle with a bit of ``read``, that bank reads the list of ``port``, and the port's bit of
    ``claim`` claims room there. Two cycles before (:attr:`holes_ahead`) the choice reads ``ready``,
    the lists that are ready in the cycle of the READ (of each bank, a bit for each port), and
    ``holes``, the banks that are idle in that cycle. One cycle before (:attr:`open_ahead`) it reads
    ``open`` and ``taken``; with ``taken`` there is no READ. All outputs are registers, or gates
    after registers.

    ``open`` is low in the cycle of a claim, and from the next cycle on it stays high once it is,
    until there is a claim. ``ready`` may be late by ``params.settling`` cycles; a list that was
    read is not chosen again before.

    ``make_hole`` pulses if a port has ready lists but none in a bank with a hole, and is
    ``urgent``, or has had the turn for ``params.patience`` cycles. A hole for all banks must be
    among ``holes`` ``params.hole_cycles`` cycles later; the port requests again if it was not
    chosen then.

    Fairness: the ports have the turn in cyclic order; a port has it until one of its lists was
    read, or it is closed or without ready lists. Urgent ports have priority over all others, in
    order from the port that has the turn. An open port with ready lists is read within
    ``params.max_wait`` cycles; each ``taken`` costs at most ``params.hole_cycles`` + 4 more. Each
    list is read within ``params.max_passes`` READs of its port (:class:`BankChoice`). A closed
    port does not block the others.

    Throughput: a READ a cycle while an open port has a list that is ready in a bank with a hole.
    """

    holes_ahead = 2
    open_ahead = 1

    def __init__(self, params: ReadScheduleParams) -> None:
        super().__init__(
            params,
            ready=In(params.ports).array(params.banks),
            holes=In(params.banks),
            open=In(params.ports),
            urgent=In(params.ports),
            taken=In(1),
            read=Out(params.banks),
            port=Out(params.port_bits),
            claim=Out(params.ports),
            make_hole=Out(1),
        )

    def build(self, m: Module) -> None:
        ports = self.params.ports
        has, demands = Signal(ports), Signal(ports)
        reads = []
        for k in range(ports):
            m.submodules[f"choice_{k}"] = choice = BankChoice(self.params)
            reads.append(choice.bank & self.claim[k].replicate(len(choice.bank)))
            m.d.comb += [
                choice.ready.eq(Cat(ready[k] for ready in self.ready)),
                choice.holes.eq(self.holes),
                choice.chosen.eq(self.claim[k]),
                has[k].eq(choice.has),
                demands[k].eq(choice.demands),
            ]
        for bank in range(self.params.banks):
            m.d.comb += self.read[bank].eq(Cat(read[bank] for read in reads).any())
        turn, from_turn = Signal(ports, init=1), Signal(ports, init=(1 << ports) - 1)
        late = self.take_turns(m, has, turn, from_turn)
        pressed = Signal(ports)  # ports with priority
        first, free = Signal(ports), Signal(ports)
        grant = Signal(ports)
        m.d.comb += [
            free.eq(demands & self.open),
            first.eq(free & pressed),
            grant.eq(
                Mux(
                    first.any(),
                    first_of(first & from_turn, first),
                    first_of(free & from_turn, free),
                )
            ),
            self.port.eq(index_of(self.claim, self.params.port_bits)),
        ]
        m.d.sync += [
            pressed.eq(self.urgent | Mux(late, turn, 0)),
            self.claim.eq(Mux(self.taken, 0, grant)),
        ]
        self.make_holes(m, has & self.open & ~demands & pressed)

    def take_turns(self, m: Module, has: Value, turn: Signal, from_turn: Signal) -> Signal:
        """Pass the turn to the next port, unless the current one waits; return if it waits long."""
        patience = self.params.patience
        waited = Signal(bits_for(patience))
        late = Signal()
        with m.If(~(has & self.open & turn).any()):
            m.d.sync += [
                *next_turn(turn, from_turn),
                waited.eq(0),
                late.eq(0),
            ]
        with m.Elif(~late):
            m.d.sync += [waited.eq(waited + 1), late.eq(waited == patience - 1)]
        return late

    def make_holes(self, m: Module, wanting: Value) -> None:
        """Request a hole for one of the ports that are ``wanting``, and then wait for it."""
        built = Signal(self.params.ports)  # port that the hole is for
        waiting = delayed = built
        for k in range(self.params.hole_cycles):
            delayed = delay(m, delayed, 1, f"built_{k}", reset_less=False)
            waiting |= delayed
        needs = Signal(self.params.ports)
        m.d.comb += needs.eq(wanting & ~waiting)
        m.d.sync += [built.eq(lowest(needs)), self.make_hole.eq(needs.any())]
        requested = self.make_hole
        expect(
            m,
            self,
            claims_close_ports=lambda: ~(self.claim & self.open).any(),
            holes_are_created=lambda: (
                ~delay(m, requested, self.params.hole_cycles, "requested", reset_less=False)
                | self.holes.all()
            ),
        )
