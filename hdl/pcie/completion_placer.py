"""Writes each dword of a beat of completions to its lane of the buffer, and ends or fails reads."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register, looked_up
from hdl.common.component import Component
from hdl.pcie.descriptors import COMPLETION_DWORDS, Cause, ErrorCode, Status
from hdl.pcie.params import ReadRequesterParams


class CompletionPlacer(Component):
    """Puts dword k of a read into lane k modulo ``lanes`` of its bank, in line k // ``lanes``.

    The head of a completion decides about all of it: nothing is written for a read whose ``open``
    bit is low, or of a completion with an error. ``failure`` reports the first error of a read,
    whose ``open`` bit must be low from the next cycle on. At the end of the completion that the
    block marks as a read's last, one of ``ends`` has its tag for a cycle, and the last data is
    ``placed`` in that cycle. ``rests`` says that the block has timed the read out, so that data may
    still come.

    Throughput: a step a cycle; a step whose tail and head collide (``apart``) takes two. Latency:
    :attr:`latency` to ``placed``, ``failure`` and ``ends``. Stalls: never.
    """

    latency = 1

    def __init__(self, params: ReadRequesterParams) -> None:
        super().__init__(
            params,
            judged=In(stream.Signature(params.judged)),
            open=In(params.tags),
            placed=Out(params.placed),
            failure=Out(params.failure),
            ends=Out(params.ends),
        )

    def build(self, m: Module) -> None:
        params, judged = self.params, self.judged.payload
        step, head = judged.step, judged.step.head
        tail_goes, head_goes = self.take_apart(m)
        end = params.ends.elem_shape
        own = Signal(end)  # what to report when the head's completion ends
        stored = Signal(end)  # the same for the completion that goes on in the tail
        writes = Signal()  # the head's data is written
        kept_writes = Signal()
        cause = self.cause_of_head(m)
        tag = head.descriptor.tag[: params.tag_bits]
        failed = self.failure.valid & (self.failure.tag == tag)  # in the step before
        takes = judged.known & Array(self.open)[tag] & ~failed  # its user still waits for it
        spoilt = step.corrupt & tail_goes & step.tail.ends & kept_writes
        m.d.comb += [
            own.valid.eq(judged.known & head.descriptor.completed),
            own.tag.eq(tag),
            own.rests.eq(head.descriptor.code == ErrorCode.TIMEOUT),
            writes.eq(takes & (cause == Cause.NONE)),
        ]
        m.d.sync += [
            self.failure.valid.eq(spoilt | (head_goes & takes & (cause != Cause.NONE))),
            self.failure.tag.eq(Mux(spoilt, stored.tag, tag)),
            self.failure.cause.eq(Mux(spoilt, Cause.CORRUPT, cause)),
        ]
        with m.If(head_goes):
            m.d.sync += [stored.eq(own), kept_writes.eq(writes)]
        ways = (tail_goes & step.tail.ends, stored), (head_goes & head.ends, own)
        for shown, (happens, said) in zip(self.ends, ways, strict=True):
            m.d.sync += [shown.eq(said), shown.valid.eq(happens & said.valid)]
        self.place(m, tail_goes & kept_writes, stored.tag, head_goes & writes, tag)

    def take_apart(self, m: Module) -> tuple[Signal, Signal]:
        """Return whether the tail is taken in this cycle, and whether the head is."""
        judged, second = self.judged.payload, Signal()  # the tail has been taken
        tail_goes, head_goes = Signal(), Signal()
        m.d.comb += [
            self.judged.ready.eq(~self.judged.valid | ~judged.apart | second),
            tail_goes.eq(self.judged.valid & judged.step.tail.valid & ~second),
            head_goes.eq(self.judged.valid & judged.step.head.valid & self.judged.ready),
        ]
        m.d.sync += second.eq(~self.judged.ready)
        return tail_goes, head_goes

    def cause_of_head(self, m: Module) -> Any:
        """Return the cause of failure of the completion that begins, or none."""
        judged, cause = self.judged.payload, Signal(Cause)
        result = judged.step.head.descriptor
        with m.Switch(result.code):
            with m.Case(ErrorCode.GOOD):
                with m.If(result.poisoned):
                    m.d.comb += cause.eq(Cause.POISONED)
                with m.Elif(~judged.address_fits):
                    m.d.comb += cause.eq(Cause.ADDRESS)
                with m.Elif(~judged.size_fits):
                    m.d.comb += cause.eq(Cause.LENGTH)
                with m.Elif(judged.step.corrupt & judged.step.head.ends):
                    m.d.comb += cause.eq(Cause.CORRUPT)
            with m.Case(ErrorCode.BAD_STATUS):
                aborted = result.status == Status.ABORTED
                m.d.comb += cause.eq(Mux(aborted, Cause.ABORTED, Cause.UNSUPPORTED))
            for code, said in CAUSES.items():
                with m.Case(code):
                    m.d.comb += cause.eq(said)
            with m.Default():
                m.d.comb += cause.eq(Cause.MISMATCH)
        return cause

    def place(self, m: Module, tail: Value, tail_tag: Value, head: Value, head_tag: Value) -> None:
        """Let each lane take its dword of the tail or of the head, if there is one."""
        params, judged = self.params, self.judged.payload
        bits, step = params.lane_bits, judged.step
        first = Signal(bits)  # dword of the beat with which the head's data begins
        m.d.comb += first.eq((step.head.segment << 2) + COMPLETION_DWORDS)
        placed = data_register(m, self.placed)
        m.d.sync += placed.data.eq(step.data)
        for k in range(params.lanes):
            behind_tail = lanes_to(m, "tail", k, judged.tail_offset[:bits])
            behind_head = lanes_to(m, "head", k, judged.head_offset[:bits])
            of_tail, of_head = Signal(name=f"of_tail_{k}"), Signal(name=f"of_head_{k}")
            dword = Signal(bits, name=f"dword_of_head_{k}")
            m.d.comb += [
                dword.eq((behind_head + first)[:bits]),
                of_tail.eq(tail & (behind_tail < step.tail.count)),
                of_head.eq(head & (behind_head < step.head.count)),
            ]
            for number, bank in enumerate(placed.banks):
                own = f"{number}_{k}"
                tails, heads = Signal(name=f"tails_{own}"), Signal(name=f"heads_{own}")
                offset = Signal.like(judged.head_offset, name=f"offset_{own}")
                line = Signal(len(offset) - bits, name=f"line_{own}")  # that it writes
                below = Signal(name=f"below_{own}")  # the data begins above this lane
                m.d.comb += [
                    tails.eq(of_tail & (tail_tag[0] == number)),
                    heads.eq(of_head & (head_tag[0] == number)),
                    offset.eq(Mux(tails, judged.tail_offset, judged.head_offset)),
                    below.eq(looked_up(lambda first, k=k: k < first, offset[:bits])),
                    line.eq(looked_up(added, offset[bits:], below, bits=len(line))),
                ]
                m.d.sync += [
                    bank[k].write.eq(tails | heads),
                    bank[k].dword.eq(Mux(tails, behind_tail, dword)),
                    bank[k].at.eq(Cat(line, Mux(tails, tail_tag[1:], head_tag[1:]))),
                ]


def lanes_to(m: Module, part: str, lane: int, first: Value) -> Signal:
    """Return how many lanes ``lane`` is behind a part's ``first``, modulo the number of lanes."""
    behind = Signal(len(first), name=f"behind_{part}_{lane}")  # one table for all that read it
    m.d.comb += behind.eq(looked_up(lambda first: lane - first, first, bits=len(first)))
    return behind


def added(line: int, item: int) -> int:
    """Return a line, or the next one."""
    return line + item


#: cause of failure for each error code of the block
CAUSES = {
    ErrorCode.POISONED: Cause.POISONED,
    ErrorCode.LENGTH: Cause.LENGTH,
    ErrorCode.ADDRESS: Cause.ADDRESS,
    ErrorCode.FLR: Cause.RESET,
    ErrorCode.TIMEOUT: Cause.TIMEOUT,
}
