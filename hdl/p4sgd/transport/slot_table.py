"""Tracks the slots of a worker: which use each is in, and what it waits for."""

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.p4sgd.transport.params import Phase, TransportParams, Verdict
from hdl.p4sgd.transport.slot_progress import Progress, read_port

USE_BITS = 8  #: width of the number of a slot's use
QUESTIONS = 3  #: number of slots that other parts may query in a cycle


class SlotTable(Component):
    """Keeps the states of all slots (P4SGD, section 3.3, algorithm 3, with numbered uses).

    Slots are started in cyclic order: ``start`` begins ``next_use`` of ``next_slot``, and is
    allowed with ``may_start``: the slot's last use is freed and its full activation was
    ``delivered``. ``verdict`` is valid in the cycle of an ``arrival``: FULL must be kept and
    acknowledged, and PENDING changes no slot; an arrival while no job is open belongs to none.
    Micro-batches are passed on in order: ``arrived`` says that the full activation of
    ``deliver_slot`` has come, and ``delivered`` moves on to the next. ``seen`` pulses for each full
    activation, in the same order but as early as possible. With ``params.shadow``, nothing is
    acknowledged: FULL frees the slot.

    ``questions`` are slots to query, and ``answers`` have their phase and use in the same cycle.
    ``clear`` begins a job: all slots are set to use -1, freed, in ``slots`` cycles of ``clearing``;
    then the job is ``open``. ``idle`` is high while no slot waited a cycle ago and all
    micro-batches were delivered.

    Throughput: a start, an arrival, a delivery and the queries every cycle.
    """

    def __init__(self, params: TransportParams) -> None:
        super().__init__(
            params,
            slot_count=In(params.count_bits),
            clear=In(1),
            open=Out(1),
            clearing=Out(1),
            idle=Out(1),
            start=In(1),
            may_start=Out(1),
            next_slot=Out(params.slot_bits),
            next_use=Out(USE_BITS),
            valid=In(1),
            arrival=In(params.arrival),
            verdict=Out(Verdict),
            arrived=Out(1),
            delivered=In(1),
            deliver_slot=Out(params.slot_bits),
            seen=Out(1),
            outstanding=Out(params.count_bits),
            questions=In(params.slot_bits).array(QUESTIONS),
            answers=Out(params.answer).array(QUESTIONS),
        )

    def build(self, m: Module) -> None:
        m.submodules.progress = progress = Memory(
            shape=Progress,
            depth=self.params.slots,
            init=[],
            attrs={"ram_style": "distributed"},
        )
        m.submodules.uses = uses = Memory(
            shape=1, depth=self.params.slots, init=[], attrs={"ram_style": "distributed"}
        )
        cleared = Signal(self.params.slot_bits)
        requested = [read_port(progress) for _ in range(QUESTIONS)]
        of_arrival, of_next, of_delivered, of_seen = (read_port(progress) for _ in range(4))
        previous_use = Signal(USE_BITS, init=-1)
        for question, answer, port in zip(self.questions, self.answers, requested, strict=True):
            bit = read_bit(m, uses, question)
            m.d.comb += [
                port.addr.eq(question),
                answer.phase.eq(port.data.phase(bit)),
                answer.use.eq(Mux(bit == self.next_use[0], self.next_use, previous_use)),
            ]
        bit = read_bit(m, uses, self.arrival.slot)
        self.judge(m, of_arrival, bit, previous_use)
        self.write(m, progress.write_port(), bit, cleared)
        self.keep_use(m, uses.write_port(), cleared)
        wraps = self.step(m, self.next_slot, self.start)
        with m.If(self.start & wraps):
            m.d.sync += [self.next_use.eq(self.next_use + 1), previous_use.eq(self.next_use)]
        with m.If(self.clear):
            m.d.sync += [self.next_use.eq(0), previous_use.eq(-1)]
        m.d.comb += of_next.addr.eq(self.next_slot)
        m.d.comb += self.may_start.eq(
            self.open & of_next.data.has_freed_before(self.next_use) & ~self.all_outstanding(m)
        )
        started = delay(m, self.start, 1, "started", reset_less=False)
        deliver = "deliver", self.deliver_slot, of_delivered
        self.follow(m, *deliver, started, self.arrived, self.delivered)
        see = "see", Signal(self.params.slot_bits, name="seen_slot"), of_seen
        self.follow(m, *see, started, self.seen, self.seen)
        self.count(m, started)
        self.surroundings(m)

    def keep_use(self, m: Module, port: Any, cleared: Signal) -> None:
        """Keep the lowest bit of the use that each slot is in, ``next_use`` or the one before.

        Slots are started in cyclic order, so those from ``next_slot`` on are one use behind; this
        is known sooner by their bit than by a comparison.
        """
        m.d.comb += [
            port.en.eq(self.start | self.clearing),
            port.addr.eq(Mux(self.clearing, cleared, self.next_slot)),
            port.data.eq(self.next_use[0] | self.clearing),  # of use -1
        ]

    def surroundings(self, m: Module) -> None:
        """State what the table's neighbours guarantee; tests and proofs rely on it."""
        arrival, count = self.arrival, self.slot_count
        dropped = arrival.verdict.as_value() >= Verdict.WRONG_SLOT.value
        judged = (arrival.verdict == Verdict.NONE) & (~self.open | (arrival.slot < count))

        def stays():
            opened_with = Signal.like(count)
            with m.If(self.clear):
                m.d.sync += opened_with.eq(count)
            return ~self.start | (count == opened_with)

        expect(
            m,
            self,
            starts_if_it_may=lambda: ~self.start | self.may_start,
            hands_on_what_arrived=lambda: ~self.delivered | self.arrived,
            dropped_or_of_a_slot=lambda: ~self.valid | dropped | judged,
            slot_count_is_legal=lambda: ~self.start | ((count != 0) & (count <= self.params.slots)),
            slot_count_stays=stays,
        )

    def judge(self, m: Module, port: Any, bit: Value, previous_use: Signal) -> None:
        """Return the verdict on an arrival; ``port`` reads the progress of its slot.

        ``bit`` is the lowest of the use that the slot is in.
        """
        arrival = self.arrival
        fits = Signal()
        is_one = (arrival.use == self.next_use) | (arrival.use == previous_use)
        m.d.comb += [port.addr.eq(arrival.slot), fits.eq(is_one & (arrival.use[0] == bit))]
        phase = port.data.phase(bit)
        with m.If(self.valid):
            with m.If(arrival.verdict != Verdict.NONE):
                m.d.comb += self.verdict.eq(arrival.verdict)
            with m.Elif(~self.open):
                m.d.comb += self.verdict.eq(Verdict.WRONG_JOB)
            with m.Elif(~fits):
                m.d.comb += self.verdict.eq(Verdict.STALE)
            with m.Elif(arrival.is_agg & arrival.acked & (phase != Phase.FREE)):
                m.d.comb += self.verdict.eq(Verdict.PENDING)
            with m.Elif(arrival.is_agg & (phase == Phase.PARTIAL)):
                m.d.comb += self.verdict.eq(Verdict.FULL)
            with m.Elif(~arrival.is_agg & (phase == Phase.ACK)):
                m.d.comb += self.verdict.eq(Verdict.FREED)
            with m.Else():
                m.d.comb += self.verdict.eq(Verdict.REPEATED)

    def write(self, m: Module, port: Any, bit: Value, cleared: Signal) -> None:
        """Write the progress that an arrival changes, or, at the job's start, that of all slots.

        ``bit`` is the lowest of the use that the arrival's slot is in.
        """
        acknowledged = Const(0) if self.params.shadow else self.arrival.is_agg
        m.d.comb += [
            port.en.eq((self.verdict == Verdict.FULL) | (self.verdict == Verdict.FREED)),
            port.addr.eq(self.arrival.slot),
            port.data.taken.eq(bit),
            port.data.freed.eq(bit ^ acknowledged),  # until the confirmation comes
        ]
        with m.If(self.clearing):
            m.d.comb += [port.en.eq(1), port.addr.eq(cleared), port.data.as_value().eq(0b11)]
            m.d.sync += cleared.eq(cleared + 1)
            with m.If(cleared == self.params.slots - 1):
                m.d.sync += [cleared.eq(0), self.clearing.eq(0), self.open.eq(1)]
        with m.If(self.clear):
            m.d.sync += [cleared.eq(0), self.clearing.eq(1), self.open.eq(0)]

    def step(self, m: Module, slot: Signal, moves: Value) -> Value:
        """Move ``slot`` on, cyclically; return whether it is the last of the job's slots."""
        last = Signal(name=f"{slot.name}_last")
        m.d.comb += last.eq(slot == (self.slot_count - 1)[: self.params.slot_bits])
        with m.If(moves):
            m.d.sync += slot.eq(Mux(last, 0, slot + 1))
        with m.If(self.clear):
            m.d.sync += slot.eq(0)
        return last

    def follow(
        self,
        m: Module,
        name: str,
        slot: Signal,
        port: Any,
        started: Signal,
        present: Signal,
        moves: Value,
    ) -> None:
        """Follow the full activations in order; ``present`` is high when that of ``slot`` has come.

        ``port`` reads the progress of the slot; a slot that was ``started`` a cycle ago counts.
        """
        bit = Signal(name=f"{name}_bit")  # the lowest bit of the use that the slot is in
        ahead = Signal(self.params.count_bits, name=f"{name}_ahead")
        m.d.comb += port.addr.eq(slot)
        m.d.comb += present.eq((ahead != 0) & port.data.has_taken(bit))
        m.d.sync += ahead.eq(ahead + started - moves)
        with m.If(moves & self.step(m, slot, moves)):
            m.d.sync += bit.eq(~bit)
        with m.If(self.clear):
            m.d.sync += [bit.eq(0), ahead.eq(0)]

    def count(self, m: Module, started: Signal) -> None:
        """Count the slots that wait, a cycle late, and the undelivered micro-batches."""
        waiting = Signal(self.params.count_bits)
        frees = Verdict.FULL if self.params.shadow else Verdict.FREED
        freed = delay(m, self.verdict == frees, 1, "freed", reset_less=False)
        none_waits = Signal(init=1)
        with m.If(started ^ freed):
            m.d.sync += waiting.eq((waiting + Mux(started, 1, -1))[: len(waiting)])
            m.d.sync += none_waits.eq(freed & (waiting == 1))
        m.d.sync += self.outstanding.eq(self.outstanding + self.start - self.delivered)
        with m.If(self.clear):
            m.d.sync += [waiting.eq(0), none_waits.eq(1), self.outstanding.eq(0)]
            m.d.sync += [started.eq(0), freed.eq(0)]
        m.d.comb += self.idle.eq(none_waits & (self.outstanding == 0))

    def all_outstanding(self, m: Module) -> Signal:
        """Return a register that is high if every slot has an undelivered micro-batch."""
        full = Signal()
        all_but_one = Signal(self.params.count_bits, reset_less=True)
        m.d.sync += all_but_one.eq((self.slot_count - 1)[: self.params.count_bits])
        with m.If(self.clear | self.delivered & ~self.start):
            m.d.sync += full.eq(0)
        with m.Elif(self.start & ~self.delivered):
            m.d.sync += full.eq(self.outstanding == all_but_one)
        return full


def read_bit(m: Module, uses: Memory, slot: Value) -> Value:
    """Return the bit that is kept of ``slot``, in the same cycle."""
    bit = read_port(uses)
    m.d.comb += bit.addr.eq(slot)
    return bit.data
