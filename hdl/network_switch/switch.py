"""Connects the engines of all systems to the ports of a switch that forwards other packets."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.axi_lite_decoder import AxiLiteDecoder
from hdl.common.component import Component
from hdl.common.event_counters import EventCounters
from hdl.common.packets import AXIS, PRIORITY_COUNT, to_axis
from hdl.common.register_block import RegisterBlock
from hdl.network_switch.engines import Stream, engines
from hdl.network_switch.lossless_port import LosslessPort
from hdl.network_switch.params import NetworkSwitchParams
from hdl.network_switch.registers import (
    PAGE_BITS,
    lost_counters,
    own_registers,
    part_maps,
    register_map,
)
from hdl.switch.classifier import Classifier
from hdl.switch.forwarding.port_scheduler import PortScheduler
from hdl.switch.forwarding.switch import ForwardingSwitch

ANSWERING = ("p4sgd", "allreduce")  #: engines that answer a frame at once


class NetworkSwitch(Component):
    """Passes packets of each system to the system's own switch, and forwards all others.

    What comes at a port is classified by its first beat. The answers of the engines and forwarded
    packets share a port as its scheduler is set (:class:`ForwardingSwitch`). An engine is the
    switch of its system, unchanged; with ``params.slr_stages`` those whose frames never wait are
    behind so many registers (:class:`FarEngine`), as the memories of all fill more than a die.
    Packets of NetSparse wait for their engine in buffers (:class:`LosslessPort`). ``pause``, from
    registers, has a bit for each priority of PFC that the neighbour of a port must pause;
    ``paused`` has a bit for each that the neighbour pauses. Nothing enters or leaves by a port that
    is ``down``, or that forwarding's ``shut_ports`` names: it is dropped and counted, and nothing
    waits for it. ``s_axis`` is always ready.

    Registers are in pages of 4 KB: the switch's own, then those of each of its ``pages``.
    Throughput: a beat of 64 bytes a cycle at every port, each way, and in each engine what its own
    switch has. Latency: :attr:`latencies`, from the last beat of a packet to the first of what is
    forwarded, at most, or of the answer to a frame, if nothing else moves.
    """

    register_map = staticmethod(register_map)

    def __init__(self, params: NetworkSwitchParams) -> None:
        self.registers = register_map(params)
        self.pages = part_maps(params)
        around = Classifier.latency + PortScheduler.latency
        self.latencies = {"forwarded": ForwardingSwitch(params.hub).latency}
        for part in engines(params):
            if part.name in ANSWERING:
                wait = 0 if getattr(part.params, "announces", False) else PortScheduler.wait
                own = part.make().latency
                self.latencies[part.name] = own + around + wait
        priorities = {"pause": Out(PRIORITY_COUNT), "paused": In(PRIORITY_COUNT)}
        super().__init__(
            params,
            s_axis=In(AXIS).array(params.ports),
            m_axis=Out(AXIS).array(params.ports),
            **{name: member.array(params.ports) for name, member in priorities.items()},
            down=In(params.ports),
            s_axil=In(AxiLiteSignature(address_bits=self.registers.address_bits)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.registers = registers = RegisterBlock(own_registers(params))
        m.submodules.forwarding = hub = ForwardingSwitch(params.hub)
        buses, streams = [registers.axil, hub.s_axil], []
        for engine in engines(params):
            m.submodules[engine.name] = part = engine.make()
            buses.append(part.s_axil)
            streams += [(each, part) for each in engine.streams]
        self.decode(m, buses)
        lost = self.count(m, registers)
        m.d.comb += hub.down.eq(self.down)
        for k in range(params.ports):
            connect(m, flipped(self.s_axis[k]), hub.s_axis[k])
            connect(m, hub.m_axis[k], flipped(self.m_axis[k]))
            pauses = [hub.pause[k]]
            for number, (stream, part) in enumerate(streams):
                pauses.append(self.join(m, k, hub, number, stream, part, lost))
            for bit in range(PRIORITY_COUNT):
                m.d.sync += self.pause[k][bit].eq(Cat(each[bit] for each in pauses).any())
            held = [0 if s.priority is None else self.paused[k][s.priority] for s, _ in streams]
            m.d.comb += hub.paused[k].eq(self.paused[k])
            if held:
                m.d.comb += hub.hold[k].eq(Cat(*held))

    def decode(self, m: Module, buses: Sequence[Any]) -> None:
        """Lead accesses of the host to the registers of each page."""
        decoder = AxiLiteDecoder.sized(count=len(buses), address_bits=PAGE_BITS)
        m.submodules.decoder = decoder
        connect(m, flipped(self.s_axil), decoder.i)
        for page, bus in zip(decoder.o, buses, strict=True):
            connect(m, page, bus)

    def count(self, m: Module, registers: RegisterBlock) -> Any:
        """Report what is built, and count lost packets; return the counters' events."""
        constants, counted = own_registers(self.params).constants, lost_counters(self.params)
        m.d.comb += [registers.status[name].eq(value) for name, value in constants.items()]
        if counted is None:
            return None
        m.submodules.lost = lost = EventCounters(counted)
        m.d.comb += [
            lost.clear.eq(registers.control.clear_lost),
            *(registers.status[name].eq(lost.counts[name]) for name, _ in counted.counters),
        ]
        return lost.events

    def join(
        self, m: Module, k: int, hub: Any, number: int, stream: Stream, part: Any, lost: Any
    ) -> Any:
        """Connect a stream of an engine to port ``k``; return the priorities that it pauses."""
        come, go = (getattr(part, f"{side}_{stream.name}")[k] for side in "sm")
        to_engine, from_engine = hub.to_engine[number][k], hub.from_engine[number][k]
        pause = Signal(PRIORITY_COUNT, name=f"pause_{number}_{k}")
        if getattr(part.params, "announces", False):
            m.d.comb += hub.coming[k][number].eq(part.coming[k])
        if stream.priority is None:
            connect(m, to_engine, come)
            connect(m, go, from_engine)
            return pause
        kind = stream.name.removeprefix("axis_")
        m.submodules[f"{kind}_{k}"] = port = LosslessPort(self.params.lossless)
        connect(m, to_engine, port.i)
        connect(m, port.come, come)
        connect(m, go, port.go)
        to_axis(m, port.o, from_engine)
        m.d.comb += [
            pause[stream.priority].eq(port.pause),
            lost[f"port_{k}_{kind}_lost"].eq(port.dropped),
        ]
        return pause
