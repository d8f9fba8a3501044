"""Packs what has been read of rows into beats that are full."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import data_register, looked_up, rotated
from hdl.common.component import Component
from hdl.gather.params import ROW_READ, SHARE, SKIP_BITS, GatherParams
from hdl.pcie.descriptors import DWORD_BITS, Cause


class RowPacker(Component):
    """The dwords of ``parts`` that are a row's leave as ``beats``, each row from a beat's begin on.

    ``parts`` are those of a :class:`hdl.pcie.read_requester.ReadRequester`, whose beats may be
    short where a read ends, with what :data:`hdl.gather.params.SHARE` says. Dwords that could not
    be read are zero, and so is a row whose idx is not in the table. ``read`` tells of each row.

    ``joined``: rows follow each other without a gap, from dword ``first`` of a beat on up to the
    row that is ``final``; both may change when nothing is inside.

    Throughput: a part a cycle, or in two where a row ends with it and fills two beats. Latency:
    :attr:`latency`. Stalls: all wait.
    """

    latency = 2

    def __init__(self, params: GatherParams) -> None:
        super().__init__(
            params,
            {
                "joined": In(1),
                "first": In(params.reads.lane_bits),
                "parts": In(stream.Signature(params.reads.beat)),
                "read": Out(ROW_READ),
                "beats": Out(stream.Signature(params.beat)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        lanes, bits = self.params.reads.lanes, self.params.reads.lane_bits
        beat = data_register(m, self.beats.payload)
        free, held, second = Signal(), Signal(), Signal()
        inside = Signal()  # a beat has begun
        fill = Signal(bits)  # dwords of the row that wait for more
        rest = Signal(lanes * DWORD_BITS, reset_less=True)  # with them
        failed = Signal(Cause)  # why earlier parts have, of what ends together
        part = self.take(m, held)
        total = fill + part.count
        # A row that ends here fills two beats.
        over = looked_up(lambda fill, count: fill + count > lanes, fill, part.count)
        ends = part.ends & (~over | second)
        turned = rotated(part.data, (fill - part.skip)[:bits], DWORD_BITS)
        words = (
            Mux(fill > k, rest.word_select(k, DWORD_BITS), turned.word_select(k, DWORD_BITS))
            for k in range(lanes)
        )
        packed = Signal(lanes * DWORD_BITS)
        cause = Mux(failed != Cause.NONE, failed, part.cause)
        m.d.comb += [
            packed.eq(Cat(words)),
            free.eq(~self.beats.valid | self.beats.ready),
            self.parts.ready.eq(~held | (free & (~part.ends | ends))),
        ]
        with m.If(self.parts.ready):
            m.d.sync += held.eq(self.parts.valid)
        with m.If(free):
            m.d.sync += [
                self.beats.valid.eq(held & (total[bits] | part.ends)),
                beat.data.eq(Mux(second, turned, packed)),
                beat.bytes.eq(Cat(Const(0, 2), Mux(total[bits] & ~second, lanes, total[:bits]))),
                beat.last.eq(ends),
                beat.cause.eq(cause),
                beat.beyond.eq(part.beyond),
            ]
        with m.If(free & held):
            m.d.sync += [
                inside.eq(~ends),
                second.eq(part.ends & ~ends),
                failed.eq(Mux(ends, Cause.NONE, cause)),
            ]
            with m.If(ends):
                m.d.sync += fill.eq(self.first)
            with m.Elif(~part.ends):
                m.d.sync += [fill.eq(total[:bits]), rest.eq(Mux(total[bits], turned, packed))]
        with m.Elif(~held & ~inside):
            m.d.sync += fill.eq(self.first)
        return m

    def take(self, m: Module, held: Value) -> Any:
        """Return a part in a register, with its first dword of the row and their number."""
        params, given = self.params, self.parts.payload
        share = SHARE(given.user)
        part = Signal(
            data.StructLayout(
                {
                    "data": params.reads.data_bits,
                    "skip": SKIP_BITS,
                    "count": bits_for(params.reads.lanes),
                    "ends": 1,
                    "cause": Cause,
                    "beyond": 1,
                }
            ),
            reset_less=True,
        )
        begins = Signal(init=1)  # a request
        lost = Signal()  # some of the row
        fails = share.beyond | (given.cause != Cause.NONE)
        row_ends = given.last & share.last
        skip = Mux(begins, share.skip, 0)
        less = looked_up(lambda a, b: a + b, skip, Mux(given.last, share.drop, 0), bits=4)
        with m.If(self.parts.ready):
            m.d.sync += [
                part.data.eq(given.data & ~fails.replicate(len(given.data))),
                part.skip.eq(skip),
                part.count.eq((given.bytes[2:] - less)[: len(part.count)]),
                part.ends.eq(row_ends & (share.final | ~self.joined)),
                part.cause.eq(given.cause),
                part.beyond.eq(share.beyond),
            ]
        moves = self.parts.valid & self.parts.ready
        m.d.sync += [
            self.read.valid.eq(moves & row_ends),
            self.read.beyond.eq(share.beyond),
            self.read.failed.eq(lost | (given.cause != Cause.NONE)),
        ]
        with m.If(moves):
            m.d.sync += [
                begins.eq(given.last),
                lost.eq(~row_ends & (lost | (given.cause != Cause.NONE))),
            ]
        return part
