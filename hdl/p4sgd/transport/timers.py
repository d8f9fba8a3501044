"""A timer for every slot: what waits for too long is sent again, and in the end given up."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.p4sgd.transport.params import NETWORK_SETTINGS, TIME_BITS, Phase, TransportParams

SENT = data.StructLayout({"time": TIME_BITS, "retries": 8})


class Timers(Component):
    """Looks at one slot after the other: P4SGD, section 3.3, algorithm 3, lines 31 to 34.

    ``sent`` notes that a packet of ``sent_slot`` goes out now, for the ``sent_retries``-th time
    again. A slot whose packet is older than ``settings.timeout`` cycles goes to ``overdue``, or,
    after ``settings.retries`` repetitions, makes ``gave_up`` high, with ``stuck_slot``, until
    ``clear``. Each ``timeout`` that an overdue packet cannot leave counts as a repetition, so a
    MAC that takes nothing is noticed as well.

    Throughput: a slot a cycle, so a timer runs up to ``slot_count`` cycles late, more while
    ``overdue`` is not taken. ``questions`` and ``answers`` go to the table of slots: the slot
    that is looked at, and the same when its timer has been read.
    """

    def __init__(self, params: TransportParams) -> None:
        super().__init__(
            params,
            {
                "settings": In(NETWORK_SETTINGS),
                "clear": In(1),
                "open": In(1),
                "sent": In(1),
                "sent_slot": In(params.slot_bits),
                "sent_retries": In(8),
                "questions": Out(params.slot_bits).array(2),
                "answers": In(params.answer).array(2),
                "overdue": Out(stream.Signature(params.overdue)),
                "gave_up": Out(1),
                "stuck_slot": Out(params.slot_bits),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        m.submodules.store = store = DualPortMemory(
            MemoryParams(bits=SENT.size, depth=params.slots)
        )
        now = Signal(TIME_BITS)
        sent = Signal(SENT)
        written = Signal(SENT)
        m.d.sync += now.eq(now + 1)
        m.d.comb += [
            written.time.eq(now),
            written.retries.eq(self.sent_retries),
            store.write.eq(self.sent),
            store.write_address.eq(self.sent_slot),
            store.write_data.eq(written),
            store.read_address.eq(self.questions[0]),
            sent.eq(store.read_data),
        ]
        late = Signal()
        slot, looks = self.scan(m, late)
        # A slot that was free when its timer was read has an old one in it, and so may have one
        # that was read before the last overdue packet went out.
        waited = delay(m, looks & (self.answers[0].phase != Phase.FREE), 1, "waited")
        waited = delay(m, waited & ~self.overdue.valid, 1, "still_waited")
        m.d.comb += [
            self.questions[1].eq(delay(m, slot, 1, "read_slot")),
            late.eq(
                waited
                & (self.answers[1].phase != Phase.FREE)
                & ((now - sent.time)[:TIME_BITS] >= self.settings.timeout)
            ),
        ]
        self.decide(m, late, sent.retries)
        return m

    def decide(self, m: Module, late: Signal, retries: Value) -> None:
        """Once more, or never again; a packet that does not get out in time is as good as lost."""
        overdue, settings = self.overdue, self.settings
        blocked = Signal(TIME_BITS)
        tries = Mux(overdue.valid, overdue.payload.retries, retries)
        again = Signal()
        with m.If(~overdue.valid):
            m.d.comb += again.eq(late & ~self.gave_up)
            m.d.sync += [blocked.eq(0), overdue.payload.slot.eq(self.questions[1])]
        with m.Else():
            m.d.comb += again.eq((blocked == settings.timeout) & ~overdue.ready)
            m.d.sync += [blocked.eq(Mux(again, 0, blocked + 1)), overdue.valid.eq(~overdue.ready)]
        with m.If(again):
            m.d.sync += [
                overdue.valid.eq(1),
                overdue.payload.retries.eq((tries + overdue.valid)[:8]),
            ]
            with m.If((settings.retries != 0) & (tries == settings.retries)):
                m.d.sync += [
                    overdue.valid.eq(0),
                    self.gave_up.eq(1),
                    self.stuck_slot.eq(Mux(overdue.valid, overdue.payload.slot, self.questions[1])),
                ]
        with m.If(self.clear):
            m.d.sync += [overdue.valid.eq(0), self.gave_up.eq(0)]

    def scan(self, m: Module, late: Signal) -> tuple[Signal, Signal]:
        """The slot that was looked at before, and whether one is: not while one is overdue."""
        slot = Signal(self.params.slot_bits)
        looks = Signal()
        m.d.comb += [
            looks.eq(self.open & ~self.overdue.valid & ~self.gave_up),
            self.questions[0].eq(slot),
        ]
        with m.If(looks):
            m.d.sync += slot.eq(slot + 1)
            with m.If(slot == (self.settings.slot_count - 1)[: self.params.slot_bits]):
                m.d.sync += slot.eq(0)
        before = delay(m, slot, 1, "looked_at")
        with m.If(late & ~self.overdue.valid):
            # The look at the slot behind is lost: it comes next, lest two slots of three starve.
            m.d.sync += slot.eq(before)
        with m.If(self.clear):
            m.d.sync += slot.eq(0)
        return before, looks
