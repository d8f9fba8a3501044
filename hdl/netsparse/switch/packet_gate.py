"""Lets packets of a port into a middle pipe when there is room for all that may become of them."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.switch.params import NetSparseSwitchParams


class PacketGate(Component):
    """Holds a packet at its first beat until the bit of its port in ``open`` is high.

    That bit is looked up a cycle ahead: where a first beat is valid at ``o``, it was high in the
    cycle before. In the cycle in which such a beat moves, ``admitted`` has the bit of its port;
    ``waits`` says that one waits for room. Throughput: a beat a cycle. Latency: :attr:`latency`.
    ``i.ready`` follows ``o.ready`` combinationally.
    """

    latency = 1

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
        beat = Signal(self.params.routed, reset_less=True)
        valid = Signal()
        begins = Signal(init=1)  # the beat is a packet's first
        is_open = Signal()  # the port of its packet
        takes = Signal()
        admitted = Signal()
        room = Array(self.open)
        m.d.comb += [
            self.o.payload.eq(beat),
            self.o.valid.eq(valid & (~begins | is_open)),
            takes.eq(~valid | (self.o.valid & self.o.ready)),
            self.i.ready.eq(takes),
            admitted.eq(self.o.valid & self.o.ready & begins),
            *(self.admitted[k].eq(admitted & (beat.egress == k)) for k in range(self.params.ports)),
            self.waits.eq(valid & begins & ~is_open),
        ]
        with m.If(takes):
            m.d.sync += [
                beat.eq(self.i.payload),
                valid.eq(self.i.valid),
                is_open.eq(room[self.i.payload.egress]),
            ]
        with m.Else():
            m.d.sync += is_open.eq(room[beat.egress])
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += begins.eq(beat.beat.tlast)
        return m
