"""The slots of a worker: which use each is in, and what it waits for."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.p4sgd.transport.params import Phase, TransportParams, Verdict

USE_BITS = 8
QUESTIONS = 3

#: Of the use last taken and the use last freed, the lowest bit: a slot is never two uses behind.
PROGRESS = data.StructLayout({"taken": 1, "freed": 1})


class SlotTable(Component):
    """The states of all slots: P4SGD, section 3.3, algorithm 3, with numbered uses.

    Slots are started in turn: ``start`` gives ``next_slot`` its ``next_use``, if ``may_start``.
    That is so when its last use is freed and what came of it was ``delivered``. An ``arrival`` is
    judged in the cycle in which it is valid: ``verdict``; FULL is to be kept and acknowledged,
    PENDING changes no slot, and one that comes while no job is open is of none.
    Micro-batches are handed on in order: ``arrived`` says that the full activation of
    ``deliver_slot`` is there, ``delivered`` moves on. ``seen`` is high for a cycle per full
    activation, in the same order but as early as it can be.

    ``questions`` are slots, ``answers`` their phase and use in the same cycle. ``clear`` begins a
    job: all slots take use -1, freed, in ``slots`` cycles of ``clearing``; then it is ``open``.
    ``idle`` is high while no slot waits and all is delivered.

    Throughput: a start, an arrival, a delivery and the questions every cycle.
    """

    def __init__(self, params: TransportParams) -> None:
        super().__init__(
            params,
            {
                "slot_count": In(params.count_bits),
                "clear": In(1),
                "open": Out(1),
                "clearing": Out(1),
                "idle": Out(1),
                "start": In(1),
                "may_start": Out(1),
                "next_slot": Out(params.slot_bits),
                "next_use": Out(USE_BITS),
                "valid": In(1),
                "arrival": In(params.arrival),
                "verdict": Out(Verdict),
                "arrived": Out(1),
                "delivered": In(1),
                "deliver_slot": Out(params.slot_bits),
                "seen": Out(1),
                "outstanding": Out(params.count_bits),
                "questions": In(params.slot_bits).array(QUESTIONS),
                "answers": Out(params.answer).array(QUESTIONS),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.progress = progress = Memory(
            shape=PROGRESS,
            depth=self.params.slots,
            init=[],
            attrs={"ram_style": "distributed"},
        )

        def read(slot: Value):
            port = progress.read_port(domain="comb")
            m.d.comb += port.addr.eq(slot)
            return port.data

        previous_use = Signal(USE_BITS, init=-1)

        def use_of(slot: Value) -> Value:
            return Mux(slot < self.next_slot, self.next_use, previous_use)

        def phase_of(slot: Value) -> Value:
            bit, known = use_of(slot)[0], read(slot)
            waits = Mux(known.taken == bit, Phase.ACK, Phase.PARTIAL)
            return Mux(known.freed == bit, Phase.FREE, waits)

        for question, answer in zip(self.questions, self.answers, strict=True):
            m.d.comb += [answer.phase.eq(phase_of(question)), answer.use.eq(use_of(question))]
        self.judge(m, progress.write_port(), phase_of, use_of)
        wraps = self.step(m, self.next_slot, self.start)
        with m.If(self.start & wraps):
            m.d.sync += [self.next_use.eq(self.next_use + 1), previous_use.eq(self.next_use)]
        with m.If(self.clear):
            m.d.sync += [self.next_use.eq(0), previous_use.eq(-1)]
        m.d.comb += self.may_start.eq(
            self.open
            & (read(self.next_slot).freed != self.next_use[0])
            & (self.outstanding != self.slot_count)
        )
        self.follow(m, "deliver", self.deliver_slot, read, self.arrived, self.delivered)
        seen_slot = Signal(self.params.slot_bits)
        self.follow(m, "see", seen_slot, read, self.seen, self.seen)
        self.count(m)
        self.surroundings(m)
        return m

    def surroundings(self, m: Module) -> None:
        """What transmitter, delivery, arrivals and the check of the settings keep."""
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

    def judge(self, m: Module, write, phase_of, use_of) -> None:
        """What an arrival is, and what it changes; or the job's start, slot after slot."""
        arrival = self.arrival
        phase, use = phase_of(arrival.slot), use_of(arrival.slot)
        cleared = Signal(self.params.slot_bits)
        with m.If(self.valid):
            with m.If(arrival.verdict != Verdict.NONE):
                m.d.comb += self.verdict.eq(arrival.verdict)
            with m.Elif(~self.open):
                m.d.comb += self.verdict.eq(Verdict.WRONG_JOB)
            with m.Elif(arrival.use != use):
                m.d.comb += self.verdict.eq(Verdict.STALE)
            with m.Elif(arrival.is_agg & arrival.acked & (phase != Phase.FREE)):
                m.d.comb += self.verdict.eq(Verdict.PENDING)
            with m.Elif(arrival.is_agg & (phase == Phase.PARTIAL)):
                m.d.comb += self.verdict.eq(Verdict.FULL)
            with m.Elif(~arrival.is_agg & (phase == Phase.ACK)):
                m.d.comb += self.verdict.eq(Verdict.FREED)
            with m.Else():
                m.d.comb += self.verdict.eq(Verdict.REPEATED)
        m.d.comb += [
            write.en.eq((self.verdict == Verdict.FULL) | (self.verdict == Verdict.FREED)),
            write.addr.eq(arrival.slot),
            write.data.taken.eq(use[0]),
            write.data.freed.eq(use[0] ^ arrival.is_agg),
        ]
        with m.If(self.clearing):
            m.d.comb += [write.en.eq(1), write.addr.eq(cleared), write.data.as_value().eq(0b11)]
            m.d.sync += cleared.eq(cleared + 1)
            with m.If(cleared == self.params.slots - 1):
                m.d.sync += [cleared.eq(0), self.clearing.eq(0), self.open.eq(1)]
        with m.If(self.clear):
            m.d.sync += [cleared.eq(0), self.clearing.eq(1), self.open.eq(0)]

    def step(self, m: Module, slot: Signal, moves: Value) -> Value:
        """Go round the job's slots; high at the last of them."""
        last = Signal(name=f"{slot.name}_last")
        m.d.comb += last.eq(slot == (self.slot_count - 1)[: self.params.slot_bits])
        with m.If(moves):
            m.d.sync += slot.eq(Mux(last, 0, slot + 1))
        with m.If(self.clear):
            m.d.sync += slot.eq(0)
        return last

    def follow(self, m: Module, name: str, slot: Signal, read, there: Signal, moves: Value) -> None:
        """A pointer that goes over the full activations in order; ``there`` when one is."""
        bit = Signal(name=f"{name}_bit")
        ahead = Signal(self.params.count_bits, name=f"{name}_ahead")
        m.d.comb += there.eq((ahead != 0) & (read(slot).taken == bit))
        m.d.sync += ahead.eq(ahead + self.start - moves)
        with m.If(moves & self.step(m, slot, moves)):
            m.d.sync += bit.eq(~bit)
        with m.If(self.clear):
            m.d.sync += [bit.eq(0), ahead.eq(0)]

    def count(self, m: Module) -> None:
        """Slots that wait, and micro-batches that were not delivered."""
        waiting = Signal(self.params.count_bits)
        m.d.sync += [
            waiting.eq(waiting + self.start - (self.verdict == Verdict.FREED)),
            self.outstanding.eq(self.outstanding + self.start - self.delivered),
        ]
        with m.If(self.clear):
            m.d.sync += [waiting.eq(0), self.outstanding.eq(0)]
        m.d.comb += self.idle.eq((waiting == 0) & (self.outstanding == 0))
