"""Has a small design: one consumer beside its producer, one far off, pins and a vendor's cell."""

from types import SimpleNamespace

from amaranth.hdl import ClockSignal, Instance, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect

from hdl.common.component import Component
from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams
from hdl.common.wire_pipeline import WirePipeline, WirePipelineParams
from hdl.u280.vendor import VendorIp, VendorPort

MAC = VendorIp(
    name="mac",
    vlnv="vendor:ip:mac:1.0",
    ports=(
        VendorPort(name="core_clk", direction="input"),
        VendorPort(name="frame", direction="input", bits=7),
        VendorPort(name="status", direction="output", bits=2),
    ),
)


def delayed(m, name, wires, stages):
    """Return ``wires`` after an instance that has ``name`` in its own."""
    path = WirePipeline(WirePipelineParams(shape=len(wires), stages=stages))
    m.submodules[f"{name}_path"] = path
    m.d.comb += path.i.eq(wires)
    return path.o


class Producer(Component):
    def __init__(self):
        ports = {"o": Out(stream.Signature(16)), "mode": Out(3), "heard": In(5), "status": In(2)}
        super().__init__(None, ports)

    def build(self, m):
        count = Signal(16)
        m.d.sync += count.eq((count + self.heard + self.status)[:16])
        m.d.comb += [self.o.payload.eq(count), self.o.valid.eq(1), self.mode.eq(count[:3])]


class Consumer(Component):
    def __init__(self):
        ports = {"i": In(stream.Signature(16)), "mode": In(3), "heard": Out(5)}
        super().__init__(None, ports)

    def build(self, m):
        m.d.comb += self.i.ready.eq(1)
        with m.If(self.i.valid):
            m.d.sync += self.heard.eq((self.i.payload ^ self.mode)[:5])


class Group(Component):
    """Has a consumer, with its part of the way inside."""

    def __init__(self):
        ports = {"i": In(stream.Signature(16)), "mode": In(3), "heard": Out(5)}
        super().__init__(None, ports)

    def build(self, m):
        m.submodules.path = path = StreamPipeline(StreamPipelineParams(shape=16))
        m.submodules.consumer = consumer = Consumer()
        m.d.comb += [
            path.i.payload.eq(self.i.payload),
            path.i.valid.eq(self.i.valid),
            self.i.ready.eq(path.i.ready),
            consumer.mode.eq(delayed(m, "mode", self.mode, 2)),
            self.heard.eq(delayed(m, "heard", consumer.heard, 2)),
        ]
        connect(m, path.o, consumer.i)


class Board(Component):
    vendor_ips = (MAC,)

    def __init__(self):
        super().__init__(None, {"led": Out(1)})

    def build(self, m):
        m.submodules.producer = producer = Producer()
        m.submodules.near = near = Consumer()
        m.submodules.group = group = Group()
        frame = Signal(7)
        status = Signal(2)
        m.submodules.mac = MAC.place(core_clk=ClockSignal(), frame=frame, status=status)
        m.submodules.pad = Instance("OBUF", i_I=near.heard[0], o_O=self.led)
        both = Signal()
        m.d.comb += both.eq(near.i.ready & group.i.ready)
        m.d.comb += [
            producer.o.ready.eq(both),
            near.i.payload.eq(producer.o.payload),
            near.i.valid.eq(producer.o.valid),
            group.i.payload.eq(producer.o.payload),
            group.i.valid.eq(producer.o.valid),
            near.mode.eq(producer.mode),
            group.mode.eq(producer.mode),
            producer.heard.eq(near.heard ^ group.heard),
            frame.eq(delayed(m, "frame", producer.o.payload[:7], 4)),
            producer.status.eq(delayed(m, "status", status, 5)),
        ]


#: for each module, what it takes with all that is inside
SYNTHESIS = {
    "producer": 10,
    "consumer": 20,
    "stream_pipeline_16_2": 5,
    "wire_pipeline_3_2": 1,
    "wire_pipeline_5_2": 1,
    "wire_pipeline_7_4": 1,
    "wire_pipeline_2_5": 1,
    "group": 30,
    "board": 74,
}


def synthesis(emission):
    """Return made-up amounts of every module of ``emission``."""
    from gen.synth.resources import Resources

    assert set(emission.modules) - {"fifo_16x8_distributed"} == set(SYNTHESIS)
    return SimpleNamespace(inclusive=lambda name: Resources(lut=SYNTHESIS[name]))
