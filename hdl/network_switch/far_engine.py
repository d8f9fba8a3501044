"""Places an engine in another die than the ports of the switch."""

from typing import Any

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.axi_lite_pipeline import AxiLitePipeline
from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT
from hdl.common.params import Params, same_as
from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams
from hdl.common.wire_pipeline import WirePipeline, WirePipelineParams

PATH_BITS = BEAT.size + 1  #: width of a beat with ``tuser``


class FarEngineParams(Params, suffix="{name}_{stages}"):
    """Names the engine, and the number of registers to it and back."""

    name: str  #: name of the engine
    component: type[Any]  #: class of its component, which has one stream of packets a port
    own: Any  #: its parameters
    stages: int = same_as(StreamPipelineParams, "stages")  #: registers each way

    @property
    def path(self) -> StreamPipelineParams:
        """Return the sizes of a way of packets."""
        return StreamPipelineParams(shape=PATH_BITS, stages=self.stages)


class FarEngine(Component):
    """Has the ports of an engine, which lies behind registers: packets, addresses and its reset.

    ``s_axis`` is always ready if the engine's is. A reset must last as long as a
    :class:`StreamPipeline` needs. Throughput: the engine's. Latency: the engine's, and that of a
    :class:`StreamPipeline` each way.
    """

    def __init__(self, params: FarEngineParams) -> None:
        engine = params.component(params.own)
        self.latency = getattr(engine, "latency", 0) + 2 * params.path.latency
        self.registers = params.component.register_map(params.own)
        ports = params.own.ports
        super().__init__(
            params,
            s_axis=In(AXIS).array(ports),
            m_axis=Out(AXIS).array(ports),
            s_axil=In(AxiLiteSignature(address_bits=self.registers.address_bits)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.domains.far = ClockDomain(local=True)
        m.submodules.reset = reset = WirePipeline(WirePipelineParams(shape=1, stages=params.stages))
        m.submodules.engine = engine = DomainRenamer("far")(params.component(params.own))
        m.submodules.registers = registers = AxiLitePipeline.sized(
            address_bits=self.registers.address_bits, stages=params.stages
        )
        m.d.comb += [
            ClockSignal("far").eq(ClockSignal()),
            reset.i.eq(ResetSignal()),
            ResetSignal("far").eq(reset.o),
        ]
        connect(m, flipped(self.s_axil), registers.i)
        connect(m, registers.o, engine.s_axil)
        for k in range(params.own.ports):
            m.submodules[f"to_{k}"] = to = StreamPipeline(params.path)
            m.submodules[f"of_{k}"] = of = DomainRenamer("far")(StreamPipeline(params.path))
            carry(m, flipped(self.s_axis[k]), to, engine.s_axis[k])
            carry(m, engine.m_axis[k], of, flipped(self.m_axis[k]))


def carry(m: Module, source: Any, path: StreamPipeline, sink: Any) -> None:
    """Connect packets of ``source`` to ``sink`` by ``path``."""
    fields = ("tdata", "tkeep", "tlast", "tuser")
    m.d.comb += [
        path.i.payload.eq(Cat(getattr(source, name) for name in fields)),
        path.i.valid.eq(source.tvalid),
        source.tready.eq(path.i.ready),
        Cat(getattr(sink, name) for name in fields).eq(path.o.payload),
        sink.tvalid.eq(path.o.valid),
        path.o.ready.eq(sink.tready),
    ]
