"""Packs what comes of a request, of several reads, into beats that are full."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register, rotated
from hdl.common.component import Component
from hdl.pcie.descriptors import DWORD_BITS, Cause
from hdl.pcie.params import ReadRequesterParams


class PartPacker(Component):
    """The dwords of ``parts`` leave as ``beats``, each request's from a beat's begin on.

    ``parts`` are the beats of a :class:`hdl.pcie.read_requester.ReadRequester`, of which the last
    of each read may be short; requests are of whole dwords. All of ``beats`` but a request's last
    are full. ``cause`` says from the first beat of a read that failed on why it has.

    Throughput: a part a cycle, or in two where a request ends with it and fills two beats. Latency:
    :attr:`latency`. Stalls: ``parts`` wait for ``beats``.
    """

    latency = 1

    def __init__(self, params: ReadRequesterParams) -> None:
        super().__init__(
            params,
            {
                "parts": In(stream.Signature(params.beat)),
                "beats": Out(stream.Signature(params.beat)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        lanes, bits = self.params.lanes, self.params.lane_bits
        part, beat = self.parts.payload, data_register(m, self.beats.payload)
        free, second = Signal(), Signal()
        fill = Signal(bits)  # dwords of the request that wait for more
        rest = Signal(lanes * DWORD_BITS, reset_less=True)  # with them
        failed = Signal(Cause)  # why earlier parts of the request have
        total = Signal(bits + 1)
        over, ends = Signal(), Signal()  # a request that ends here fills two beats; ends now
        turned, packed = Signal(lanes * DWORD_BITS), Signal(lanes * DWORD_BITS)
        cause = Mux(failed != Cause.NONE, failed, part.cause)
        m.d.comb += [
            total.eq((fill + part.bytes[2:])[: bits + 1]),
            over.eq(total[bits] & total[:bits].any()),
            ends.eq(part.last & (~over | second)),
            turned.eq(rotated(part.data, fill, DWORD_BITS)),
            packed.eq(
                Cat(
                    Mux(fill > k, rest.word_select(k, 32), turned.word_select(k, 32))
                    for k in range(lanes)
                )
            ),
            free.eq(~self.beats.valid | self.beats.ready),
            self.parts.ready.eq(free & (~part.last | ends)),
        ]
        with m.If(free):
            m.d.sync += [
                self.beats.valid.eq(self.parts.valid & (total[bits] | part.last)),
                beat.data.eq(Mux(second, turned, packed)),
                beat.bytes.eq(Cat(Const(0, 2), Mux(total[bits] & ~second, lanes, total[:bits]))),
                beat.last.eq(ends),
                beat.user.eq(part.user),
                beat.cause.eq(cause),
            ]
        with m.If(free & self.parts.valid):
            m.d.sync += [
                second.eq(part.last & ~ends),
                failed.eq(Mux(ends, Cause.NONE, cause)),
            ]
            with m.If(ends):
                m.d.sync += fill.eq(0)
            with m.Elif(~part.last):
                m.d.sync += [fill.eq(total[:bits]), rest.eq(Mux(total[bits], turned, packed))]
        return m
