"""Packs the data that was read of rows into full beats."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register, delay, looked_up
from hdl.common.component import Component
from hdl.common.streams import forward
from hdl.gather.params import ROW_READ, SHARE, GatherParams
from hdl.pcie.beat_packer import BeatPacker, BeatPackerParams
from hdl.pcie.descriptors import Cause


class RowPacker(Component):
    """Packs the bytes of ``parts`` that belong to a row into ``beats``; each row begins a beat.

    ``parts`` are the beats of a :class:`hdl.pcie.read_requester.ReadRequester`, which may be short
    where a read ends; their ``user`` bits are a :data:`hdl.gather.params.SHARE`. Dwords that could
    not be read are zero, and so is a row whose idx is not in the table. ``read`` reports each row.

    With ``joined``, rows follow each other without a gap, from byte ``first`` of a beat up to the
    end of the row that is ``final``. Both inputs may change when nothing is inside.

    Throughput: a part a cycle; a part that ends a row and fills two beats takes two. Latency:
    :attr:`latency`. Stalls: all wait.
    """

    latency = 1 + BeatPacker.latency

    def __init__(self, params: GatherParams) -> None:
        super().__init__(
            params,
            joined=In(1),
            first=In(params.first_bits),
            parts=In(stream.Signature(params.reads.beat)),
            read=Out(ROW_READ),
            beats=Out(stream.Signature(params.beat)),
        )

    def build(self, m: Module) -> None:
        sizes = BeatPackerParams(data_bits=self.params.reads.data_bits, user_bits=2, unit_bytes=1)
        m.submodules.packer = packer = BeatPacker(sizes)
        packed = packer.beats.payload
        self.take(m, packer.parts)
        m.d.comb += [
            packer.first.eq(self.first),
            *forward(
                packer.beats,
                self.beats,
                **{name: packed[name] for name in ("data", "bytes", "last", "cause")},
                beyond=packed.user[0],
                final=packed.user[1],
            ),
        ]

    def take(self, m: Module, parts: Any) -> None:
        """Drive ``parts``, through a register, with the bytes of a beat that belong to the row."""
        provided, part = self.parts.payload, data_register(m, parts.payload)
        share = SHARE(provided.user)
        begins = Signal(init=1)  # the part begins a request
        lost = Signal()  # an earlier part of the row could not be read
        fails = share.beyond | (provided.cause != Cause.NONE)
        row_ends = provided.last & share.last
        skip = Mux(begins, share.skip, 0)
        drop = Mux(provided.last, share.drop, 0)
        low, less = Signal(3), Signal(6)
        high = looked_up(lambda a, b, more: a + b + more, skip[2:], drop[2:], low[2], bits=4)
        m.d.comb += [
            # Without a carry chain before that of the next sum.
            low.eq(looked_up(lambda a, b: a + b, skip[:2], drop[:2], bits=3)),
            less.eq(Cat(low[:2], high)),
            self.parts.ready.eq(~parts.valid | parts.ready),
        ]
        with m.If(self.parts.ready):
            m.d.sync += [
                parts.valid.eq(self.parts.valid),
                part.data.eq(provided.data & ~fails.replicate(len(provided.data))),
                part.skip.eq(skip),
                part.count.eq((provided.bytes - less)[: len(part.count)]),
                part.ends.eq(row_ends & (share.final | ~self.joined)),
                part.cause.eq(provided.cause),
                part.user.eq(Cat(share.beyond, share.final)),
            ]
        moves = self.parts.valid & self.parts.ready
        # Whether the part moves is known late in a cycle, so it goes straight to a register.
        taken = delay(m, self.parts.ready, 1, "taken")
        ended = delay(m, self.parts.valid & row_ends, 1, "ended", reset_less=False)
        m.d.comb += self.read.valid.eq(taken & ended)
        m.d.sync += [
            self.read.beyond.eq(share.beyond),
            self.read.failed.eq(lost | (provided.cause != Cause.NONE)),
        ]
        with m.If(moves):
            m.d.sync += [
                begins.eq(provided.last),
                lost.eq(~row_ends & (lost | (provided.cause != Cause.NONE))),
            ]
