"""Counters of what happens at several ports in one cycle."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switch.params import PacketSwitchParams

#: Counters of every port.
PORT_COUNTERS = {
    "overflows": "frames lost as the queue of the port was full",
    "answers_sent": "answers that left the port",
    "answers_dropped": "answers lost as the port did not take them",
}
PORT_COUNTER_BITS = 32

PORT_COUNTS = data.StructLayout(dict.fromkeys(PORT_COUNTERS, PORT_COUNTER_BITS))


class PortCounters(Component):
    """Counts the bits of every event, port by port; they wrap. ``clear`` sets all to zero.

    ``counts`` are those of port ``port``, a cycle behind.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        events = data.StructLayout(dict.fromkeys(PORT_COUNTERS, params.ports))
        super().__init__(
            params,
            {
                "clear": In(1),
                "events": In(events),
                "port": In(params.port_bits),
                "counts": Out(PORT_COUNTS),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        for name in PORT_COUNTERS:
            counts = []
            for k in range(self.params.ports):
                count = Signal(PORT_COUNTER_BITS, name=f"{name}_{k}")
                event = Signal(name=f"{name}_event_{k}")
                m.d.sync += event.eq(self.events[name][k])
                with m.If(self.clear):
                    m.d.sync += count.eq(0)
                with m.Elif(event):
                    m.d.sync += count.eq(count + 1)
                counts.append(count)
            m.d.sync += self.counts[name].eq(Array(counts)[self.port])
        return m
