"""Times every slot: a packet without an answer is sent again, and finally given up."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.p4sgd.transport.params import (
    NETWORK_SETTINGS,
    PEER_BITS,
    TIME_BITS,
    TRIES,
    Phase,
    TransportParams,
)
from hdl.p4sgd.transport.pending_flags import add_pending_flags

#: Describes a slot's last packet: the time when it is due, and how often it was sent before.
SENT = data.StructLayout({"due": TIME_BITS, "tries": TRIES})


class Timers(Component):
    """Scans the slots for overdue packets (P4SGD, section 3.3, algorithm 3, lines 31 to 34).

    ``sent`` says that a packet of ``sent_slot`` is sent now, after ``sent_tries``. A slot whose
    packet is older than ``settings.timeout`` cycles is passed to ``overdue``, with the tries that
    it will have had when it is sent. If an overdue packet cannot be sent, each further ``timeout``
    counts as a repetition, so a MAC that is stalled is detected as well.

    ``pending`` says that the switch has the packet of ``pending_slot`` and waits for other workers.
    After too many repetitions a slot raises ``abandoned``, with ``stuck_slot``, until ``clear``:
    after ``settings.retries`` repetitions in a row without any such answer, because the switch does
    not answer; or, with ``peers_missing``, if the switch still answers pending after
    ``settings.peer_retries`` repetitions in all.

    Throughput: a slot a cycle, so a timer runs up to ``slot_count`` cycles late, more while
    ``overdue`` is not taken. ``questions`` and ``answers`` go to the table of slots: they query the
    slot that is scanned, and again when its timer has been read.
    """

    def __init__(self, params: TransportParams) -> None:
        super().__init__(
            params,
            settings=In(NETWORK_SETTINGS),
            clear=In(1),
            open=In(1),
            sent=In(1),
            sent_slot=In(params.slot_bits),
            sent_tries=In(TRIES),
            pending=In(1),
            pending_slot=In(params.slot_bits),
            questions=Out(params.slot_bits).array(2),
            answers=In(params.answer).array(2),
            overdue=Out(stream.Signature(params.overdue)),
            abandoned=Out(1),
            peers_missing=Out(1),
            stuck_slot=Out(params.slot_bits),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.store = store = DualPortMemory.sized(shape=SENT, depth=params.slots)
        now = Signal(TIME_BITS)
        due = Signal(TIME_BITS, reset_less=True)  # time at which a packet sent now is due
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
        # A slot that was free when its timer was read has an old time in it; so may have a slot
        # whose timer was read before the last overdue packet was sent.
        waited = delay(m, looks & (self.answers[0].phase != Phase.FREE), 1, "waited")
        waited = delay(m, waited & ~self.overdue.valid, 1, "still_waited")
        m.d.comb += [
            self.questions[1].eq(delay(m, slot, 1, "read_slot")),
            late.eq(
                waited
                & (self.answers[1].phase != Phase.FREE)
                # A timeout is less than half of the clock's range, so the sign of the difference
                # tells.
                & (sent.due - now)[TIME_BITS - 1]
            ),
        ]
        self.decide(m, late, sent.tries)

    def decide(self, m: Module, late: Signal, sent_tries: data.View) -> None:
        """Send an overdue packet again, or give up.

        A packet that cannot be sent in time counts as lost.
        """
        overdue, settings = self.overdue, self.settings
        blocked = Signal(TIME_BITS)
        before_last = Signal.like(settings.timeout, reset_less=True)  # cycle of a timeout
        refused = Signal()
        reached = Signal()
        expired = refused & reached  # the overdue packet has been blocked for a timeout
        tries = Signal(TRIES)
        again = Signal()
        decides = late & ~self.abandoned & ~overdue.valid
        answered = add_pending_flags(
            m,
            slots=self.params.slots,
            comes=self.pending,
            comes_for=self.pending_slot,
            demands=decides,
            requests_for=self.questions[1],
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
            m.d.sync += blocked.eq(Mux(expired, 0, blocked + 1))
        m.d.sync += [
            before_last.eq((settings.timeout - 1)[: len(before_last)]),
            refused.eq(overdue.valid & ~overdue.ready),
            reached.eq((blocked == before_last) & ~expired),
        ]
        waited = tries.repetitions == settings.peer_retries
        unanswered = Mux(
            overdue.valid,
            overdue.payload.tries.unanswered == settings.retries,
            ~answered & (sent_tries.unanswered == settings.retries),
        )
        silent = (settings.retries != 0) & unanswered
        alone = (settings.peer_retries != 0) & answered & ~overdue.valid & waited
        with m.If(again):
            m.d.sync += [
                self.abandoned.eq(silent | alone),
                self.peers_missing.eq(alone),
                self.stuck_slot.eq(Mux(overdue.valid, overdue.payload.slot, self.questions[1])),
                overdue.payload.tries.unanswered.eq((tries.unanswered + 1)[:8]),
                overdue.payload.tries.repetitions.eq((tries.repetitions + ~waited)[:PEER_BITS]),
            ]
        with m.If(again):
            m.d.sync += overdue.valid.eq(~(silent | alone))
        with m.If(self.clear | (overdue.valid & overdue.ready)):
            m.d.sync += overdue.valid.eq(0)
        with m.If(self.clear):
            m.d.sync += [self.abandoned.eq(0), self.peers_missing.eq(0)]

    def scan(self, m: Module, late: Signal) -> tuple[Signal, Signal]:
        """Scan one slot after the other, but not while one is overdue.

        Returns the slot that was scanned a cycle ago, and whether one is scanned now. When a slot
        turns out to be ``late``, the scan of the slot after it is lost; so that slot is scanned
        next, otherwise two slots of three could starve.
        """
        slot = Signal(self.params.slot_bits)
        looks = Signal()
        before = delay(m, slot, 1, "looked_at")
        last = slot == (self.settings.slot_count - 1)[: self.params.slot_bits]
        m.d.comb += [
            looks.eq(self.open & ~self.overdue.valid & ~self.abandoned),
            self.questions[0].eq(slot),
        ]
        with m.If(self.clear):
            m.d.sync += slot.eq(0)
        with m.Elif(late & ~self.overdue.valid):
            m.d.sync += slot.eq(before)
        with m.Elif(looks):
            m.d.sync += slot.eq(Mux(last, 0, slot + 1))
        return before, looks
