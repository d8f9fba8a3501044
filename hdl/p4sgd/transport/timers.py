"""Times every slot: what waits for too long is sent again, and in the end given up."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.p4sgd.transport.params import (
    NETWORK_SETTINGS,
    PEER_BITS,
    TIME_BITS,
    TRIES,
    Phase,
    TransportParams,
)
from hdl.p4sgd.transport.pending_flags import add_pending_flags

#: Keeps of a slot's last packet until when it is not late, and how often it was sent before.
SENT = data.StructLayout({"due": TIME_BITS, "tries": TRIES})


class Timers(Component):
    """Looks at one slot after the other for overdue packets (P4SGD, algorithm 3, lines 31 to 34).

    ``sent`` notes that a packet of ``sent_slot`` goes out now, after so many ``sent_tries``. A slot
    whose packet is older than ``settings.timeout`` cycles goes to ``overdue``, with the tries that
    it will have had when it is sent. Each ``timeout`` that an overdue packet cannot leave counts as
    a repetition, so a MAC that takes nothing is noticed as well.

    ``pending`` says that the switch has what ``pending_slot`` sent and waits for other workers.
    Instead of being overdue, a slot makes ``gave_up`` high, with ``stuck_slot``, until ``clear``:
    after ``settings.retries`` repetitions in a row without such an answer, as the switch is gone;
    or, then with ``peers_missing``, when the switch still says so after
    ``settings.peer_retries`` repetitions in all.

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
                "sent_tries": In(TRIES),
                "pending": In(1),
                "pending_slot": In(params.slot_bits),
                "questions": Out(params.slot_bits).array(2),
                "answers": In(params.answer).array(2),
                "overdue": Out(stream.Signature(params.overdue)),
                "gave_up": Out(1),
                "peers_missing": Out(1),
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
        due = Signal(TIME_BITS, reset_less=True)  # last cycle in which what is sent now is not late
        sent = Signal(SENT)
        written = Signal(SENT)
        m.d.sync += [now.eq(now + 1), due.eq((now + self.settings.timeout)[:TIME_BITS])]
        m.d.comb += [
            written.due.eq(due),
            written.tries.eq(self.sent_tries),
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
                # A timeout is less than half of what the clock counts: a sign tells the later.
                & (sent.due - now)[TIME_BITS - 1]
            ),
        ]
        self.decide(m, late, sent.tries)
        return m

    def decide(self, m: Module, late: Signal, sent_tries: data.View) -> None:
        """Have an overdue packet sent once more, or give up.

        A packet that does not get out in time is as good as lost.
        """
        overdue, settings = self.overdue, self.settings
        blocked = Signal(TIME_BITS)
        before_last = Signal.like(settings.timeout, reset_less=True)  # cycle of a timeout
        expired = Signal()  # the overdue packet has been blocked for a timeout
        tries = Signal(TRIES)
        again = Signal()
        decides = late & ~self.gave_up & ~overdue.valid
        answered = add_pending_flags(
            m,
            slots=self.params.slots,
            comes=self.pending,
            comes_for=self.pending_slot,
            asks=decides,
            asks_for=self.questions[1],
        )
        with m.If(~overdue.valid):
            m.d.comb += [
                again.eq(decides),
                tries.unanswered.eq(Mux(answered, 0, sent_tries.unanswered)),
                tries.repetitions.eq(sent_tries.repetitions),
            ]
            m.d.sync += [blocked.eq(0), overdue.payload.slot.eq(self.questions[1])]
        with m.Else():
            m.d.comb += [
                again.eq(expired),
                tries.eq(overdue.payload.tries),
            ]
            m.d.sync += blocked.eq(Mux(again, 0, blocked + 1))
        m.d.sync += [
            before_last.eq((settings.timeout - 1)[: len(before_last)]),
            expired.eq(overdue.valid & ~overdue.ready & (blocked == before_last) & ~again),
        ]
        waited = tries.repetitions == settings.peer_retries
        silent = (settings.retries != 0) & (tries.unanswered == settings.retries)
        alone = (settings.peer_retries != 0) & answered & ~overdue.valid & waited
        with m.If(again):
            m.d.sync += [
                overdue.payload.tries.unanswered.eq((tries.unanswered + 1)[:8]),
                overdue.payload.tries.repetitions.eq((tries.repetitions + ~waited)[:PEER_BITS]),
            ]
        with m.If(self.clear):
            m.d.sync += [overdue.valid.eq(0), self.gave_up.eq(0), self.peers_missing.eq(0)]
        with m.Elif(again & (silent | alone)):
            m.d.sync += [
                overdue.valid.eq(0),
                self.gave_up.eq(1),
                self.peers_missing.eq(alone),
                self.stuck_slot.eq(Mux(overdue.valid, overdue.payload.slot, self.questions[1])),
            ]
        with m.Elif(overdue.valid & overdue.ready):
            m.d.sync += overdue.valid.eq(0)
        with m.Elif(again):
            m.d.sync += overdue.valid.eq(1)

    def scan(self, m: Module, late: Signal) -> tuple[Signal, Signal]:
        """Look at one slot after the other, but not while one is overdue.

        Returns the slot that was looked at a cycle ago, and whether one is looked at now. When a
        slot turns out to be ``late``, the look at the one behind it is lost: that one comes next,
        lest two slots of three starve.
        """
        slot = Signal(self.params.slot_bits)
        looks = Signal()
        before = delay(m, slot, 1, "looked_at")
        last = slot == (self.settings.slot_count - 1)[: self.params.slot_bits]
        m.d.comb += [
            looks.eq(self.open & ~self.overdue.valid & ~self.gave_up),
            self.questions[0].eq(slot),
        ]
        with m.If(self.clear):
            m.d.sync += slot.eq(0)
        with m.Elif(late & ~self.overdue.valid):
            m.d.sync += slot.eq(before)
        with m.Elif(looks):
            m.d.sync += slot.eq(Mux(last, 0, slot + 1))
        return before, looks
