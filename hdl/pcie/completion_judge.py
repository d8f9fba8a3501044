"""Finds the read that each completion is for, where its data belongs, and if it is due next."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.pcie.descriptors import ErrorCode
from hdl.pcie.params import ReadRequesterParams


class CompletionJudge(Component):
    """Adds to each of ``steps`` where in its read the data belongs, and whether it is due next.

    ``provided`` enters ``read`` into a table when it is sent. The completions of a read come in
    ascending order of addresses, so the address and the remaining bytes of the next one follow from
    the dwords that have come; a counter for each tag holds their number. ``expects`` has a bit for
    each tag whose last completion has not come. A completion for any other tag, or one that the
    block itself marks with an invalid tag, is not ``known``: it changes nothing, and ``stranger``
    pulses for a cycle.

    An entry counts from the second cycle after ``provided`` on. ``ready`` is low for
    ``params.tags`` cycles after a reset, while the counters are cleared. Throughput: a step a
    cycle. Latency: :attr:`latency`. Stalls: a step waits, in spite of a gap behind it.
    """

    latency = 1

    def __init__(self, params: ReadRequesterParams) -> None:
        super().__init__(
            params,
            provided=In(params.of_tag),
            read=In(params.cutter.piece),
            ready=Out(1),
            steps=In(stream.Signature(params.step)),
            judged=Out(stream.Signature(params.judged)),
            expects=Out(params.tags),
            stranger=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        step, head = self.steps.payload, self.steps.payload.head
        result = head.descriptor
        judged = data_register(m, self.judged.payload)
        tag = result.tag[: params.tag_bits]
        goes = Signal()
        known = Signal()  # the head's completion is for a read that is under way
        enters = Signal(params.of_tag)  # registered, since it is late and drives many loads
        m.d.sync += enters.eq(self.provided)
        offset, fits = self.look_up(m, tag, goes & known)
        tail_offset = Signal(params.offset_bits, reset_less=True)
        tail_bank = Signal(reset_less=True)
        m.d.comb += [
            # CompletionPlacer is ready without a step, too; more logic in this path is too much.
            self.steps.ready.eq(self.judged.ready),
            goes.eq(self.steps.valid & self.steps.ready),
            known.eq(
                head.valid
                & ~result.tag[params.tag_bits :].any()
                & (result.code != ErrorCode.INVALID_TAG)
                & Array(self.expects)[tag]
            ),
        ]
        m.d.sync += self.stranger.eq(goes & head.valid & ~known)
        after = Mux(head.valid, offset + head.count, tail_offset + step.tail.count)
        with m.If(goes):
            m.d.sync += tail_offset.eq(after[: len(tail_offset)])
            with m.If(head.valid):
                m.d.sync += tail_bank.eq(tag[0])
        with m.If(self.steps.ready):
            m.d.sync += [
                self.judged.valid.eq(self.steps.valid),
                judged.step.eq(step),
                judged.apart.eq(self.apart(tail_offset, offset, tail_bank == tag[0])),
                judged.tail_offset.eq(tail_offset),
                judged.head_offset.eq(offset),
                judged.known.eq(known),
                judged.address_fits.eq(fits[0]),
                judged.size_fits.eq(fits[1]),
            ]
        item = Const(1, params.tags)
        last = goes & known & result.completed
        set_bit = Mux(enters.valid, item << enters.tag, 0)
        clear_bit = Mux(last, item << tag, 0)
        m.d.sync += self.expects.eq((self.expects | set_bit) & ~clear_bit)
        expect(m, self, steps_follow_each_other=lambda: self.follow(m, goes))

    def follow(self, m: Module, goes: Value) -> Value:
        """Return whether a step goes on with a completion if one goes on, and ends it first."""
        tail, head = self.steps.payload.tail, self.steps.payload.head
        inside = Signal()  # a completion goes on
        with m.If(goes):
            m.d.sync += inside.eq(Mux(head.valid, ~head.ends, tail.valid & ~tail.ends))
        parts = [part.valid | ~(part.ends | part.count.any()) for part in (tail, head)]
        follows = (tail.valid == inside) & (tail.ends | ~(tail.valid & head.valid))
        return ~self.steps.valid | (follows & parts[0] & parts[1])

    def look_up(self, m: Module, tag: Value, counts: Value) -> tuple[Value, tuple[Value, Value]]:
        """Return the dwords that have come of a read, and whether address and size are as expected.

        While ``counts`` is high, the counter of the read adds the head's dwords, or returns to 0
        with the last completion.
        """
        params = self.params
        result = self.steps.payload.head.descriptor
        layout = data.StructLayout({"address": 10, "bytes": params.size_bits})
        read, write = self.memory(m, "reads", layout, tag)
        m.d.comb += [
            write.en.eq(self.provided.valid),
            write.addr.eq(self.provided.tag),
            write.data.address.eq(self.read.address[:10]),
            write.data.bytes.eq(self.read.bytes),
        ]
        come, count = self.memory(m, "come", data.StructLayout({"dwords": params.offset_bits}), tag)
        so_far = (come.dwords + result.dwords)[: params.offset_bits]
        cleared = Signal(range(params.tags + 1))
        m.d.comb += [
            self.ready.eq(cleared[-1]),
            count.en.eq(counts | ~self.ready),
            count.addr.eq(Mux(self.ready, tag, cleared[:-1])),
            count.data.dwords.eq(Mux(self.ready & ~result.completed, so_far, 0)),
        ]
        with m.If(~self.ready):
            m.d.sync += cleared.eq(cleared + 1)
        address = (read.address + come.dwords)[:10]
        left = read.bytes[2:] - come.dwords  # whole dwords
        dwords = self.steps.payload.head.remaining
        return come.dwords, (
            Cat(Const(0, 2), address) == result.address,
            (Cat(read.bytes[:2], left) == result.remaining)
            & result.dwords.any()
            & (result.dwords <= dwords)
            & (result.completed == (result.dwords == dwords)),
        )

    def memory(self, m: Module, name: str, layout: Any, tag: Value) -> tuple[Any, Any]:
        """Add a memory with an entry a tag; return the entry of ``tag``, and the write port."""
        m.submodules[name] = words = memory.Memory(
            shape=layout, depth=self.params.tags, init=[], attrs={"ram_style": "distributed"}
        )
        read, write = words.read_port(domain="comb"), words.write_port()
        m.d.comb += read.addr.eq(tag)
        return read.data, write

    def apart(self, tail_offset: Value, offset: Value, one_bank: Value) -> Value:
        """Return whether tail and head collide, so that they take a cycle each."""
        tail, head = self.steps.payload.tail, self.steps.payload.head
        bits = self.params.lane_bits
        ahead = (offset - tail_offset)[:bits]  # lanes from the tail's first to the head's first
        behind = (tail_offset - offset)[:bits]
        meet = (ahead < tail.count) | (behind < head.count)
        both = tail.count.any() & head.count.any()
        two_causes = self.steps.payload.corrupt & tail.ends & head.valid
        return (both & meet & one_bank) | two_causes
