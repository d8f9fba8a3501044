"""Packs what has been read of rows into beats that are full."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import data_register, looked_up, rotated
from hdl.common.component import Component
from hdl.gather.params import SHARE, SKIP_BITS, GatherParams
from hdl.pcie.descriptors import DWORD_BITS, Cause


class RowPacker(Component):
    """The dwords of ``parts`` that are a row's leave as ``beats``, each row from a beat's begin on.

    ``parts`` are those of a :class:`hdl.pcie.read_requester.ReadRequester`, whose beats may be
    short where a read ends, with what :data:`hdl.gather.params.SHARE` says.

    Throughput: a part a cycle, or in two where a row ends with it and fills two beats. Latency:
    :attr:`latency`. Stalls: all wait.
    """

    latency = 2

    def __init__(self, params: GatherParams) -> None:
        super().__init__(
            params,
            {
                "parts": In(stream.Signature(params.reads.beat)),
                "beats": Out(stream.Signature(params.beat)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        lanes, bits = self.params.reads.lanes, self.params.reads.lane_bits
        beat = data_register(m, self.beats.payload)
        free, held, second = Signal(), Signal(), Signal()
        fill = Signal(bits)  # dwords of the row that wait for more
        rest = Signal(lanes * DWORD_BITS, reset_less=True)  # with them
        failed = Signal(Cause)  # why earlier parts of the row have
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
                second.eq(part.ends & ~ends),
                failed.eq(Mux(ends, Cause.NONE, cause)),
            ]
            with m.If(ends):
                m.d.sync += fill.eq(0)
            with m.Elif(~part.ends):
                m.d.sync += [fill.eq(total[:bits]), rest.eq(Mux(total[bits], turned, packed))]
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
        skip = Mux(begins, share.skip, 0)
        less = looked_up(lambda a, b: a + b, skip, Mux(given.last, share.drop, 0), bits=4)
        with m.If(self.parts.ready):
            m.d.sync += [
                part.data.eq(given.data),
                part.skip.eq(skip),
                part.count.eq((given.bytes[2:] - less)[: len(part.count)]),
                part.ends.eq(given.last & share.last),
                part.cause.eq(given.cause),
                part.beyond.eq(share.beyond),
            ]
        with m.If(self.parts.valid & self.parts.ready):
            m.d.sync += begins.eq(given.last)
        return part
