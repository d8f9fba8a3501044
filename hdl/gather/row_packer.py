"""Packs what has been read of rows into beats that are full."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register, looked_up
from hdl.common.component import Component
from hdl.gather.params import ROW_READ, SHARE, GatherParams
from hdl.pcie.beat_packer import BeatPacker, BeatPackerParams
from hdl.pcie.descriptors import Cause


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

    latency = 1 + BeatPacker.latency

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
        sizes = BeatPackerParams(data_bits=self.params.reads.data_bits, user_bits=2)
        m.submodules.packer = packer = BeatPacker(sizes)
        beat, packed = self.beats.payload, packer.beats.payload
        self.take(m, packer.parts)
        m.d.comb += [
            packer.first.eq(self.first),
            self.beats.valid.eq(packer.beats.valid),
            packer.beats.ready.eq(self.beats.ready),
            beat.data.eq(packed.data),
            beat.bytes.eq(packed.bytes),
            beat.last.eq(packed.last),
            beat.cause.eq(packed.cause),
            Cat(beat.beyond, beat.final).eq(packed.user),
        ]
        return m

    def take(self, m: Module, parts: Any) -> None:
        """Give ``parts``, from a register, which dwords of a beat are the row's."""
        given, part = self.parts.payload, data_register(m, parts.payload)
        share = SHARE(given.user)
        begins = Signal(init=1)  # a request
        lost = Signal()  # some of the row
        fails = share.beyond | (given.cause != Cause.NONE)
        row_ends = given.last & share.last
        skip = Mux(begins, share.skip, 0)
        less = looked_up(lambda a, b: a + b, skip, Mux(given.last, share.drop, 0), bits=4)
        m.d.comb += self.parts.ready.eq(~parts.valid | parts.ready)
        with m.If(self.parts.ready):
            m.d.sync += [
                parts.valid.eq(self.parts.valid),
                part.data.eq(given.data & ~fails.replicate(len(given.data))),
                part.skip.eq(skip),
                part.count.eq((given.bytes[2:] - less)[: len(part.count)]),
                part.ends.eq(row_ends & (share.final | ~self.joined)),
                part.cause.eq(given.cause),
                part.user.eq(Cat(share.beyond, share.final)),
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
