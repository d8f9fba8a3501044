"""Lets packets of a port into a middle pipe when there is room for all that may become of them."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.streams import StreamRegister, StreamRegisterParams
from hdl.netsparse.switch.params import NetSparseSwitchParams


class PacketGate(Component):
    """Holds a packet at its first beat until the bit of its port in ``open`` is high.

    In the cycle in which its first beat moves at ``o``, ``admitted`` has the bit of its port;
    ``waits`` says that one waits for room. Throughput: a beat a cycle. Latency: :attr:`latency`.
    """

    latency = StreamRegister.latency

    def __init__(self, params: NetSparseSwitchParams) -> None:
        super().__init__(
            params,
            {
                "i": In(stream.Signature(params.routed)),
                "open": In(params.ports),
                "o": Out(stream.Signature(params.routed)),
                "admitted": Out(params.ports),
                "waits": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        routed = self.params.routed
        m.submodules.register = register = StreamRegister(StreamRegisterParams(width=routed.size))
        begins = Signal(init=1)  # the next beat is a packet's first
        passes = Signal()
        admitted = Signal()
        m.d.comb += [
            register.i.payload.eq(self.i.payload),
            register.i.valid.eq(self.i.valid),
            self.i.ready.eq(register.i.ready),
            self.o.payload.eq(routed(register.o.payload)),
            passes.eq(~begins | Array(self.open)[self.o.payload.egress]),
            self.o.valid.eq(register.o.valid & passes),
            register.o.ready.eq(self.o.ready & passes),
            admitted.eq(self.o.valid & self.o.ready & begins),
            *(
                self.admitted[k].eq(admitted & (self.o.payload.egress == k))
                for k in range(self.params.ports)
            ),
            self.waits.eq(register.o.valid & ~passes),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += begins.eq(self.o.payload.beat.tlast)
        return m
