"""Tests parts that take a shape: their ports have it, and their hardware has only its bits."""

import pytest
from amaranth.hdl import Shape, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from gen.base.emission.emit import emit
from hdl.common.component import Component
from hdl.common.crossbar import Crossbar, CrossbarParams
from hdl.common.crossing.async_fifo import AsyncFifo, AsyncFifoParams
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.gearbox import Deserializer, GearboxParams, Serializer
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.common.packet_buffer import PacketBuffer, PacketBufferParams
from hdl.common.reserved_fifo import ReservedFifo, ReservedFifoParams
from hdl.common.stream_arbiter import StreamArbiter, StreamArbiterParams
from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams
from hdl.common.streams import Fork, ForkParams, StreamRegister, StreamRegisterParams, StreamSkid
from hdl.common.wire_pipeline import WirePipeline, WirePipelineParams
from hdl.pcie.packet_gate import PacketGate, PacketGateParams
from hdl.switch.update_memory import UpdateMemory

BEAT = data.StructLayout({"low": 3, "high": signed(5), "lanes": data.ArrayLayout(2, 4)})
PARTS = {
    AsyncFifo: AsyncFifoParams(shape=BEAT),
    Crossbar: CrossbarParams(shape=BEAT, inputs=2, outputs=2, last_bit=2, reported_bits=4),
    Deserializer: GearboxParams(shape=BEAT, parts=3),
    DualPortMemory: MemoryParams(shape=BEAT, depth=5),
    Fifo: FifoParams(shape=BEAT, depth=66, output_register=True),
    Fork: ForkParams(shape=BEAT, count=2),
    PacketBuffer: PacketBufferParams(shape=BEAT, words=16, behind=1),
    PacketGate: PacketGateParams(shape=BEAT, packet_beats=4, last_bit=2),
    ReservedFifo: ReservedFifoParams(shape=BEAT, depth=8, passes=True),
    Serializer: GearboxParams(shape=BEAT, parts=3),
    StreamArbiter: StreamArbiterParams(shape=BEAT, count=3, last_bit=2),
    StreamPipeline: StreamPipelineParams(shape=BEAT),
    StreamRegister: StreamRegisterParams(shape=BEAT),
    StreamSkid: StreamRegisterParams(shape=BEAT),
    Synchroniser: SynchroniserParams(shape=BEAT),
    UpdateMemory: MemoryParams(shape=BEAT, depth=5),
    WirePipeline: WirePipelineParams(shape=BEAT),
}
of_parts = pytest.mark.parametrize(("kind", "params"), PARTS.items())


class Pair(Component):
    """Has two registers whose beats have the same number of bits, but not the same shape."""

    def __init__(self, shapes):
        super().__init__(shapes, {"i": In(1), "o": Out(1)})

    def build(self, m):
        for name, shape in zip("ab", self.params, strict=True):
            m.submodules[name] = StreamRegister(StreamRegisterParams(shape=shape))
        m.d.comb += [m.submodules.a.i.valid.eq(self.i), self.o.eq(m.submodules.a.o.valid)]


@of_parts
def test_ports_have_the_shape(kind, params):
    part = kind(params)
    values = [value for _, _, value in part.signature.flatten(part)]
    layouts = [layout for value in values if isinstance(layout := value.shape(), data.Layout)]
    inner = [field.shape for layout in layouts for _, field in layout]
    assert BEAT in layouts + inner


@of_parts
def test_elaborates_with_the_shape_as_with_its_bits(kind, params):
    assert emit(kind(params)).verilog == emit(kind(params.bare)).verilog
    assert params.bare.suffix == params.suffix
    kind(params).elaborate(None)  # as Amaranth's simulator does


@pytest.mark.parametrize("shapes", [(BEAT, 16), (16, BEAT)])
def test_shapes_of_one_width_share_a_module(shapes):
    modules = emit(Pair(shapes)).modules
    assert {name: module.instances for name, module in modules.items()} == {
        "stream_register_16": {},
        "pair": {"stream_register_16": 2},
    }
    assert (
        modules["stream_register_16"].verilog
        == emit(Pair((16, 16))).modules["stream_register_16"].verilog
    )


def test_width_is_that_of_the_shape():
    assert StreamRegisterParams(shape=BEAT).width == Shape.cast(BEAT).width == 16
    assert StreamRegisterParams(shape=signed(7)).width == 7
