"""Contains the packets' path through a switch, which a soft reset empties."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.bus_watch import BusTimer, overdue
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.netsparse.switch.params import CLASSES, KINDS, NetSparseSwitchParams
from hdl.netsparse.switch.pipe_fabric import PipeFabric
from hdl.netsparse.switch.spine_fabric import SpineFabric
from hdl.netsparse.switch.switch_port import PORT_EVENTS, SwitchPort

#: Describes the events of an input of a class; ``waits``: a packet waits for room after its pipe.
CAME = data.StructLayout({"came": PORT_EVENTS, "waits": 1})


class PacketPath(Component):
    """Connects the ports of both classes to the fabric, and watches the links.

    A route of ``write`` is entered for packets of the classes of ``routed_kinds`` that come by the
    ports of ``routed_inputs``, and for responses of the caches if ``hits`` are among these kinds.

    Bits of ``reads_begin`` and ``responses_begin`` say that the next beat of a port is a packet's
    first; they survive a soft reset, see :class:`SwitchPort`. A port is ``stalled`` while its link
    has taken no response for ``stall_limit`` cycles, or up to twice as many, though one waits.
    """

    def __init__(self, params: NetSparseSwitchParams) -> None:
        members = dict(params.fabric)
        for name in (*CLASSES, *(f"{name}_wait" for name in CLASSES)):
            del members[name]
        fabric = PipeFabric(params) if params.pipes else SpineFabric(params)
        self.latencies = {
            path: SwitchPort.latency + cycles for path, cycles in fabric.latencies.items()
        }
        super().__init__(
            params,
            {
                **members,
                "routed_inputs": In(params.ports),
                "routed_kinds": In(data.StructLayout(dict.fromkeys(KINDS, 1))),
                **{f"{name}_i": In(AXIS).array(params.ports) for name in CLASSES},
                **{f"{name}_begin": In(params.ports) for name in CLASSES},
                "stalled": Out(params.ports),
                "stall_limit": In(32),
                "port_events": Out(data.StructLayout(dict.fromkeys(CLASSES, CAME))).array(
                    params.ports
                ),
            },
        )

    def build(self, m: Module) -> None:
        params = self.params
        fabric = (PipeFabric if params.pipes else SpineFabric)(params)
        m.submodules.fabric = fabric
        m.submodules.timer = timer = BusTimer.sized()
        m.d.comb += [
            timer.limit.eq(self.stall_limit),
            fabric.write.eq(self.write),
            fabric.write.valid.eq(self.write.valid & self.routed_kinds.hits),
            fabric.settings.eq(self.settings),
            fabric.uplinks.eq(self.uplinks),
            fabric.configure.eq(self.configure),
            fabric.stalled.eq(self.stalled),
            self.busy.eq(fabric.busy),
        ]
        for inside, outside in zip(fabric.events, self.events, strict=True):
            m.d.comb += outside.eq(inside)
        for name in CLASSES:
            for k in range(params.ports):
                m.submodules[f"{name}_port_{k}"] = port = SwitchPort(params)
                leave = getattr(self, f"{name}_o")[k]
                connect(m, flipped(getattr(self, f"{name}_i")[k]), port.axis)
                connect(m, port.o, getattr(fabric, name)[k])
                connect(m, getattr(fabric, f"{name}_o")[k], flipped(leave))
                entered = self.write.valid & self.routed_kinds[name] & self.routed_inputs[k]
                m.d.comb += [
                    port.write.eq(self.write),
                    port.write.valid.eq(entered),
                    port.begins.eq(getattr(self, f"{name}_begin")[k]),
                    self.port_events[k][name].came.eq(port.events),
                    self.port_events[k][name].waits.eq(getattr(fabric, f"{name}_wait")[k]),
                ]
        for k, axis in enumerate(self.responses_o):
            moves = axis.tvalid & axis.tready
            stalled = Signal(name=f"stalled_{k}")
            late = overdue(m, timer.tick, axis.tvalid, moves)
            m.d.comb += self.stalled[k].eq(stalled)
            with m.If(moves):
                m.d.sync += stalled.eq(0)
            with m.Elif(late):
                m.d.sync += stalled.eq(1)
