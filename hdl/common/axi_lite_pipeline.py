"""Carries AXI4-Lite over a long distance through registers, such as to another die."""

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib.wiring import In, Out

from hdl.common.axi import AxiLiteSignature
from hdl.common.axi_guard import CHANNELS, beat_of
from hdl.common.component import Component
from hdl.common.params import Params, same_as, whole
from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams


class AxiLitePipelineParams(Params, suffix="{address_bits}_{stages}"):
    """Sets the width of an address, and the number of registers on the way."""

    address_bits: int = whole(1, 64)  #: width of an address
    stages: int = same_as(StreamPipelineParams, "stages")  #: registers on the way


class AxiLitePipeline(Component):
    """Passes AXI4-Lite from ``i`` to ``o``, which has the same clock, in domain ``far``.

    The reset of ``far`` is that of ``i``, as many registers later, and must last as long as a
    :class:`StreamPipeline` needs; each channel is one. Throughput: a beat a cycle on each channel.
    Latency: that of a StreamPipeline, in each direction. Stalls: those of ``o``.
    """

    domains = ("sync", "far")

    def __init__(self, params: AxiLitePipelineParams) -> None:
        bus = AxiLiteSignature(address_bits=params.address_bits)
        super().__init__(params, i=In(bus), o=Out(bus))

    def build(self, m: Module) -> None:
        for channel, forward in CHANNELS.items():
            source, sink = (self.i, self.o) if forward else (self.o, self.i)
            path = StreamPipeline.sized(
                shape=len(beat_of(source, channel)), stages=self.params.stages
            )
            m.submodules[channel] = path if forward else DomainRenamer("far")(path)
            m.d.comb += [
                path.i.payload.eq(beat_of(source, channel)),
                path.i.valid.eq(getattr(source, f"{channel}valid")),
                getattr(source, f"{channel}ready").eq(path.i.ready),
                beat_of(sink, channel).eq(path.o.payload),
                getattr(sink, f"{channel}valid").eq(path.o.valid),
                path.o.ready.eq(getattr(sink, f"{channel}ready")),
            ]
