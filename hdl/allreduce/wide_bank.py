"""Keeps a bank of slots for frames of many numbers, and adds a beat of 64 bytes every cycle."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.allreduce.wide_params import Operation, WideParams, WideVerdict
from hdl.allreduce.wide_rule import WideRule
from hdl.common.arithmetic import count_ones, data_register, delay, low_bits, saturate
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.memory import MemoryParams
from hdl.common.reserved_fifo import ReservedFifo, ReservedFifoParams
from hdl.common.streams import register_stream
from hdl.switch.frame_format import copied
from hdl.switch.slots import PAYLOAD_BITS
from hdl.switch.update_memory import UpdateMemory


class WideBank(Component):
    """Applies packets to the slots of a bank, beat by beat, by :class:`WideRule`.

    The packets come one after the other in ``i``, each with its beats from number 0 to the last.
    A packet's numbers begin in lane ``params.first`` of its first beat; lanes without a number are
    0. Acknowledgements and heads with ``clear`` are one beat. Who the workers of a packet's job
    are, ``everyone``, and why it is ``refused``, if it is, must be there :attr:`lead` cycles after
    its first beat; all of a slot's packets between two clears have the same workers. Then the rule
    decides, and each beat's numbers begin the sum, are added to it, or change nothing. A refused
    packet changes nothing, and has no answer.

    ``answers`` has the heads of answers, and ``numbers`` their beats. The first comes a cycle after
    the head at the latest, and the others one a cycle after it, if the packet's beats are offered
    one a cycle: a stall for want of room ends long before what is queued has left. An answer goes
    to all ports of its ``bm`` at once. A packet that completes a sum, and one that repeats an
    activation of a complete sum, is answered by a beat of the sum for each beat of its own, in the
    same lanes. All others are answered by one beat without numbers, or not at all. Results are
    exact; they are clamped on the way out. When a sum is completed, ``clamped`` is for a cycle how
    many of its numbers were clamped. The ``verdict`` on a packet and its ``sender`` are shown for a
    cycle.

    Throughput: a beat a cycle, even of packets of a beat for the same slot. Latency: from a
    packet's first beat to the head of its answer :attr:`latency`, and to the verdict
    :attr:`verdict_latency` cycles. Stalls: ``i.ready``, which depends on registers only, is low
    while the queue of answers may be full. Contents survive a reset: slots are valid after they
    were cleared.
    """

    lead = UpdateMemory.lead
    verdict_latency = lead + 1

    def __init__(self, params: WideParams) -> None:
        self.latency = params.sums_memory.latency + 2
        super().__init__(
            params,
            i=In(stream.Signature(params.beat)),
            everyone=In(params.ports),
            refused=In(WideVerdict),
            answers=Out(stream.Signature(params.answer)),
            numbers=Out(stream.Signature(params.answer_beat)),
            clamped=Out(params.answer_beat["saturated"].shape),
            verdict=Out(WideVerdict),
            sender=Out(params.ports),
        )

    def build(self, m: Module) -> None:
        params, i = self.params, self.i
        table = MemoryParams(shape=params.state, depth=params.slots)
        queue = ReservedFifoParams(shape=params.answer_beat, depth=params.waiting, cancels=True)
        m.submodules.heads = heads = UpdateMemory(table)
        m.submodules.sums = sums = UpdateMemory(params.sums_memory)
        m.submodules.rule = rule = WideRule(params)
        m.submodules.numbers = numbers = ReservedFifo(queue)
        connect(m, numbers.o, flipped(self.numbers))
        entered = i.valid & numbers.room
        m.d.comb += [i.ready.eq(numbers.room), numbers.reserve.eq(entered)]
        # The slot's state is read, and the rule decides with the first beat of a packet.
        head, more = i.p.head, params.more_cycles
        valid = delay(m, entered, heads.lead, "valid", reset_less=False)
        beat = delay(m, i.p, heads.lead, "beat")
        begins, refused = valid & (beat.number == 0), self.refused != WideVerdict.NONE
        m.d.comb += [
            heads.address.eq(head.slot),
            heads.write.eq(begins & ~refused),
            heads.after.eq(rule.after),
            rule.before.eq(heads.before),
            rule.head.eq(beat.head),
            rule.everyone.eq(self.everyone),
            rule.previous.eq(delay(m, (head.use - 1)[:8], heads.lead, "previous")),
            rule.following.eq(delay(m, (head.use + 1)[:8], heads.lead, "following")),
        ]
        decision: Any = Signal(params.decision, reset_less=True)
        actions: Any = Signal(params.actions, reset_less=True)
        place = ceil_log2(params.beats)
        behind = ~beat.number[place:].any()
        verdict = Mux(refused, self.refused, rule.verdict)
        m.d.sync += self.verdict.eq(Mux(begins, verdict, WideVerdict.NONE))
        m.d.sync += data_register(m, self.sender).eq(beat.head.sender)
        for name in params.actions.members:
            first, held = rule.decision[name] & ~refused, decision[name]
            both = Mux(begins, Cat(0, first), Cat(held, held & behind))
            m.d.sync += actions[name].eq(both)
        with m.If(begins):
            m.d.sync += decision.eq(rule.decision)
            with m.If(refused):
                m.d.sync += [decision[name].eq(0) for name in ("take", "add", "full", "short")]
        # The sum's beat is read a cycle later, and changed. A packet's beat beyond those that the
        # most numbers fill shares an entry with its first, which has no numbers in its lanes.
        decision, actions = delay(m, decision, more, "decision"), delay(m, actions, more, "actions")
        begins = delay(m, begins, 1 + more, "begins", reset_less=False)
        self.announce(m, begins & (decision.full | decision.short), decision.answer)
        valid = delay(m, valid, 1 + more, "valid_sum", reset_less=False)
        addend = Signal(params.addend)
        m.d.comb += [*copied(addend, beat), addend.operation.eq(beat.head.operation)]
        addend = delay(m, addend, 1 + more, "addend")
        entry = Cat(i.p.number[:place], head.use[0], head.slot)
        m.d.comb += [sums.address.eq(delay(m, entry, 1, "entry")), sums.write.eq(valid)]
        self.combine(m, sums, addend, actions)
        full = self.in_lanes(delay(m, actions.full, 1, "full"))
        beat = Cat(valid, begins, addend.last)
        self.answer(m, sums.written.contents, full, beat, decision, numbers)

    def announce(self, m: Module, valid: Value, answer: Any) -> None:
        """Queue the head of an answer."""
        whole = FifoParams(
            shape=self.params.answer,
            depth=self.params.waiting,
            style="distributed",
            refuses=False,
            passes=True,
        )
        m.submodules.answers = answers = Fifo(whole)
        register_stream(m, "next_answer", answers.o, flipped(self.answers))
        m.d.comb += [answers.i.valid.eq(valid), answers.i.payload.eq(answer)]

    def in_lanes(self, action: Value) -> list[Value]:
        """Return for each lane the bit of lanes before the first number's, or of the others."""
        first, lanes = self.params.first, self.params.lanes
        return [action[0]] * first + [action[1]] * (lanes - first)

    def combine(self, m: Module, sums: UpdateMemory, addend: Any, actions: Any) -> None:
        """Set the beat of the slot's sum after the packet's beat."""
        does: dict[str, list[Value]] = {}
        for operation in Operation:
            both = Signal(2, name=f"adds_{operation.name.lower()}")
            m.d.comb += both.eq(Mux(addend.operation == operation, actions.add, 0))
            does[operation.name] = self.in_lanes(both)
        idle = Signal(2)
        m.d.comb += idle.eq(~(actions.add | actions.take))
        idles = self.in_lanes(idle)
        lanes = zip(sums.before, sums.after, addend.numbers, strict=True)
        for k, (before, after, number) in enumerate(lanes):
            total = low_bits(before + number, len(after)).as_signed()
            stays = idles[k] | (does["MAX"][k] & (before > number))
            taken = Mux(does["OR"][k], before | number, number)
            m.d.comb += after.eq(Mux(does["SUM"][k], total, Mux(stays, before, taken)))

    def answer(self, m: Module, exact: Any, full, beat: Value, decision: Any, queue: Any) -> None:
        """Clamp what has been registered, count what is clamped, and queue the answer's beat.

        ``beat`` has the bits of the cycle before that say whether there is one, and whether it is
        the first or the last.
        """
        valid, begins, last = delay(m, beat, 1, "answered", reset_less=False)
        decided = Cat(decision.full, decision.short, decision.take | decision.add)
        complete, short, counts = delay(m, decided, 1, "decided")
        pairs = [saturate(number, PAYLOAD_BITS) for number in exact]
        overflows = []
        for k, (on, (_, over)) in enumerate(zip(full, pairs, strict=True)):
            overflow = Signal(name=f"overflow_{k}")
            m.d.comb += overflow.eq(over)
            overflows.append(on & overflow)
        payload, answered = queue.payload, complete | (short & begins)
        earlier = Signal.like(payload.saturated, reset_less=True)  # of the packet's beats before
        m.d.comb += [
            queue.push.eq(valid & answered),
            queue.cancel.eq(valid & ~answered),
            payload.last.eq(last | short),
            payload.saturated.eq(low_bits(count_ones(overflows) + earlier, len(earlier))),
        ]
        for number, on, (clamped, _) in zip(payload.numbers, full, pairs, strict=True):
            m.d.comb += number.eq(Mux(on, clamped, 0))
        ends = valid & complete & last & counts
        m.d.sync += self.clamped.eq(Mux(ends, payload.saturated, 0))
        with m.If(valid):
            m.d.sync += earlier.eq(Mux(last, 0, payload.saturated))
