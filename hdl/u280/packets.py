"""Packets of 512-bit AXI4-Stream as beats of our own streams."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data

from hdl.common.axi import AxiStreamSignature

AXIS = AxiStreamSignature(data_bits=512)
BEAT = data.StructLayout({"data": 512, "keep": 64, "last": 1})


def to_stream(m: Module, axis: Any, stream: Any) -> None:
    """``axis``, of a source, into ``stream``; what ``tuser`` says is left out."""
    beat = BEAT(stream.payload)
    m.d.comb += [
        beat.data.eq(axis.tdata),
        beat.keep.eq(axis.tkeep),
        beat.last.eq(axis.tlast),
        stream.valid.eq(axis.tvalid),
        axis.tready.eq(stream.ready),
    ]


def to_axis(m: Module, stream: Any, axis: Any) -> None:
    """``stream`` into ``axis``, of a sink; no packet is marked as broken."""
    beat = BEAT(stream.payload)
    m.d.comb += [
        axis.tdata.eq(beat.data),
        axis.tkeep.eq(beat.keep),
        axis.tlast.eq(beat.last),
        axis.tuser.eq(0),
        axis.tvalid.eq(stream.valid),
        stream.ready.eq(axis.tready),
    ]
