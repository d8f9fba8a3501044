"""Counters of what happens at several ports in one cycle, and of the switch as a whole."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.network.frame import LANES
from hdl.p4sgd.switch.params import SwitchParams

#: Counters of every port.
PORT_COUNTERS = {
    "overflows": "frames lost as the queue of the port was full",
    "answers_sent": "answers that left the port",
    "answers_dropped": "answers lost as the port did not take them",
}
PORT_COUNTER_BITS = 32
TOTAL_BITS = 48

PORT_COUNTS = data.StructLayout(dict.fromkeys(PORT_COUNTERS, PORT_COUNTER_BITS))


class PortCounters(Component):
    """Counts the bits of every event, port by port; they wrap. ``clear`` sets all to zero.

    ``counts`` are those of port ``port``, a cycle behind.
    """

    def __init__(self, params: SwitchParams) -> None:
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


class TotalCounters(Component):
    """``packets`` that came with ``taken``, and ``cycles`` from the first to the last of them.

    Both ends count, so equal counters are one packet every cycle. ``saturations`` adds up
    ``saturated``, the lanes of a sum that were clamped. ``clear`` sets all to zero. 48 bits last
    13 days; for saturations 39 hours, with all lanes in every cycle.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            {
                "clear": In(1),
                "taken": In(1),
                "saturated": In(range(LANES + 1)),
                "packets": Out(TOTAL_BITS),
                "saturations": Out(TOTAL_BITS),
                "cycles": Out(TOTAL_BITS),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        event = Signal()
        saturated = Signal.like(self.saturated)
        begun = Signal()
        elapsed = Signal(TOTAL_BITS, init=1)  # the cycle in which an event would come now
        m.d.sync += [event.eq(self.taken), saturated.eq(self.saturated)]
        with m.If(self.clear):
            m.d.sync += [self.packets.eq(0), self.cycles.eq(0), elapsed.eq(1), begun.eq(0)]
            m.d.sync += self.saturations.eq(0)
        with m.Else():
            m.d.sync += self.saturations.eq(self.saturations + saturated)
            with m.If(event):
                m.d.sync += [self.packets.eq(self.packets + 1), self.cycles.eq(elapsed)]
                m.d.sync += begun.eq(1)
            with m.If(event | begun):
                m.d.sync += elapsed.eq(elapsed + 1)
        return m
