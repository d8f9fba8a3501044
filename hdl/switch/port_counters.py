"""Counts what happens at several ports in one cycle."""

from amaranth.hdl import Array, Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.event_counters import CountersParams, EventCounters
from hdl.switch.params import PacketSwitchParams

#: Lists the counters that every port has, and what each counts.
PORT_COUNTERS = {
    "overflows": "counts frames lost because the queue of the chosen port was full",
    "answers_sent": "counts answers that left the chosen port",
    "answers_dropped": "counts answers lost because the chosen port did not take them in time",
}
PORT_COUNTER_BITS = 32

OF_A_PORT = CountersParams(
    name="port", counters=tuple((name, 1) for name in PORT_COUNTERS), bits=PORT_COUNTER_BITS
)
PORT_COUNTS = OF_A_PORT.counts


class PortCounters(Component):
    """Counts the bits of every event for each port; counters wrap. ``clear`` sets all to zero.

    ``counts`` are the counters of port ``port``, a cycle later.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        events = data.StructLayout(dict.fromkeys(PORT_COUNTERS, params.ports))
        super().__init__(
            params,
            clear=In(1),
            events=In(events),
            port=In(params.port_bits),
            counts=Out(PORT_COUNTS),
        )

    def build(self, m: Module) -> None:
        counts = []
        for k in range(self.params.ports):
            m.submodules[f"port_{k}"] = port = EventCounters(OF_A_PORT)
            m.d.comb += port.clear.eq(self.clear)
            m.d.comb += [port.events[name].eq(self.events[name][k]) for name in PORT_COUNTERS]
            counts.append(port.counts)
        m.d.sync += self.counts.eq(Array(counts)[self.port])
