"""Tracks the turns of one job: which are open, which ports are done, which are loaded."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import OPEN_TURNS, TURN_BITS


class JobTurns(Component):
    """Keeps ``lo``, the oldest open turn, which ends when all ``ports`` are done with it.

    ``begin`` starts the job: turn 0 is open, and with ``two`` turn 1 as well. The relation of a
    frame's ``turn`` to the job's turns is given a cycle later. ``done`` says that the ports of
    ``sender`` have all of turn ``lo``. When all ports have, and the turn is loaded, it ``ends``: in
    the next cycle with ``quiet``, in which no frame is being judged, ``ended`` is high, while
    ``lo`` is still the turn that ends, and ``place`` its place among the open turns.

    Turns are opened one after the other: ``waits`` says that ``turn_waits`` must be opened, at
    place ``opens``; ``opened`` says that its aggregators are loaded. After ``stop`` no turn opens
    or ends.

    A switch with links has ``up``, the bits of the ports to the switches above. If the job has such
    ports, these switches end turns: when all other ports are done, ``said`` pulses a cycle later,
    and again for each repeated ``done``; the turn ends when ``advanced`` has come from each
    ``sender`` above.
    """

    latency = 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            begin=In(1),
            stop=In(1),
            two=In(1),
            ports=In(params.ports),
            turn=In(TURN_BITS),
            past=Out(1),
            lowest=Out(1),
            following=Out(1),
            done=In(1),
            sender=In(params.ports),
            ends=Out(1),
            quiet=In(1),
            ended=Out(1),
            place=Out(1),
            lo=Out(TURN_BITS),
            loaded=Out(OPEN_TURNS),
            waits=Out(1),
            turn_waits=Out(TURN_BITS),
            opens=Out(1),
            opened=In(1),
            **({"up": In(params.ports), "advanced": In(1), "said": Out(1)} if params.links else {}),
        )

    def build(self, m: Module) -> None:
        lo = Signal(TURN_BITS)
        after = Signal(TURN_BITS, init=1)  # the turn after lo
        done = Signal(self.params.ports)
        all_done = Signal()
        below, over = self.levels(m, all_done)
        unopened = Signal(range(OPEN_TURNS + 1))  # open turns that are not loaded yet
        place = Signal()  # place of lo
        m.d.sync += [
            self.past.eq(self.turn < lo),
            self.lowest.eq(self.turn == lo),
            self.following.eq((self.turn == after) & self.two),
        ]
        m.d.comb += [
            self.lo.eq(lo),
            self.place.eq(place),
            self.ends.eq(over & Mux(place, self.loaded[1], self.loaded[0])),
            self.ended.eq(self.ends & self.quiet),
            self.waits.eq(unopened != 0),
            # If one of two open turns is not loaded, it is the later one.
            self.turn_waits.eq(Mux(self.two & (unopened != OPEN_TURNS), after, lo)),
            self.opens.eq(self.turn_waits[0] & self.two),
        ]
        with m.If(self.begin):
            m.d.sync += [
                lo.eq(0),
                after.eq(1),
                place.eq(0),
                done.eq(0),
                all_done.eq(0),
                self.loaded.eq(0),
                unopened.eq(Mux(self.two, OPEN_TURNS, 1)),
            ]
        with m.Else():
            with m.If(self.ended):
                m.d.sync += [
                    lo.eq(after),
                    after.eq((after + 1)[:TURN_BITS]),
                    place.eq(after[0] & self.two),
                    done.eq(0),
                    all_done.eq(0),
                    self.loaded.bit_select(place, 1).eq(0),
                ]
            with m.Elif(self.done):
                now = done | self.sender
                m.d.sync += [done.eq(now), all_done.eq(now == below)]
            with m.If(self.opened):
                m.d.sync += self.loaded.bit_select(self.opens, 1).eq(1)
            with m.If(self.stop):
                m.d.sync += [unopened.eq(0), self.loaded.eq(0)]
            with m.Else():
                m.d.sync += unopened.eq((unopened + self.ended - self.opened)[: len(unopened)])

    def levels(self, m: Module, all_done: Signal) -> tuple[Value, Value]:
        """Return the ports whose DONEs are missing, and whether the oldest turn is over."""
        if not self.params.links:
            return self.ports, all_done
        has_up = Signal()  # the job has switches above
        waits_for = Signal(self.params.ports)  # those that have not ended the oldest turn
        own = self.ports & self.up
        advanced = Signal()
        came = Signal()
        m.d.sync += [has_up.eq(own.any()), came.eq(self.done)]
        m.d.comb += self.said.eq(came & all_done & has_up)
        with m.If(self.begin | self.ended):
            m.d.sync += [waits_for.eq(own), advanced.eq(0)]
        with m.Elif(self.advanced):
            left = waits_for & ~self.sender
            m.d.sync += [waits_for.eq(left), advanced.eq(~left.any())]
        return self.ports & ~self.up, Mux(has_up, advanced, all_done)
