"""Implements the fabric of a switch with middle pipes (NetSparse, figure 8)."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib.wiring import connect, flipped

from hdl.common.component import Component
from hdl.common.crossbar import Crossbar, CrossbarParams
from hdl.common.stream_arbiter import StreamArbiter, StreamArbiterParams
from hdl.common.streams import forward
from hdl.netsparse.middle_pipe.middle_pipe import MiddlePipe
from hdl.netsparse.middle_pipe.output_queues import to_axis
from hdl.netsparse.switch.packet_gate import PacketGate
from hdl.netsparse.switch.params import OUTPUT_BEAT, NetSparseSwitchParams


class PipeFabric(Component):
    """Sends every packet through a middle pipe to its port.

    Reads go through a crossbar to the pipe of the port where they leave; responses go to the pipe
    of the port where they came, and through a crossbar of output queues to all ports. So a read and
    its response use the same cache. Port k belongs to pipe k modulo the number of pipes.

    Packets wait at their port (:class:`PacketGate`) until there is room after the pipe for all
    their possible results. A blocked port therefore blocks only packets of the same class that come
    on the same link as a packet for it. Throughput: a beat a cycle, of each class, at every port
    and in every pipe. :attr:`latencies` are those of :class:`MiddlePipe`, plus those of the parts
    before and after it.
    """

    def __init__(self, params: NetSparseSwitchParams) -> None:
        before = PacketGate.latency + Crossbar.latency
        self.latencies = {
            path: before + cycles + (path != "read") * StreamArbiter.latency
            for path, cycles in MiddlePipe(params).latencies.items()
        }
        super().__init__(params, params.fabric)

    def build(self, m: Module) -> None:
        params = self.params
        pipes = []
        for k in range(params.pipes):
            m.submodules[f"pipe_{k}"] = pipe = MiddlePipe(params)
            pipes.append(pipe)
            m.d.comb += [
                pipe.write.eq(self.write),
                pipe.settings.eq(self.settings),
                pipe.configure.eq(self.configure),
                pipe.stalled.eq(self.stalled),
                self.events[k].eq(pipe.events),
            ]
        m.d.comb += self.busy.eq(Cat(pipe.busy for pipe in pipes).any())
        self.enter_reads(m, pipes)
        self.enter_responses(m, pipes)
        self.leave(m, pipes)

    def gate(self, m: Module, name: str, port: int, room: Value) -> PacketGate:
        """Add the gate of a port's packets of class ``name``."""
        gate = PacketGate(self.params)
        m.submodules[f"{name}_gate_{port}"] = gate
        come = getattr(self, name)[port]
        connect(m, flipped(come), gate.i)
        m.d.comb += [
            gate.open.eq(room),
            getattr(self, f"{name}_wait")[port].eq(gate.waits),
        ]
        return gate

    def cross(self, m: Module, name: str, gates: list, uplinks: list, pipes: list) -> Any:
        """Connect the packets of ``gates`` to the ``pipes``; a single pipe takes all.

        Returns for each pipe the one-hot port of a packet whose first beat enters.
        """
        params = self.params
        crossbar = Crossbar(
            CrossbarParams(
                inputs=len(gates),
                outputs=len(pipes),
                shape=params.entering,
                last_bit=params.entering["beat"].offset
                + params.entering["beat"].shape["tlast"].offset,
                reported_bits=params.port_bits,  # the packet's output port
            )
        )
        m.submodules[name] = crossbar
        for gate, uplink, i in zip(gates, uplinks, crossbar.i, strict=True):
            egress = gate.o.payload.egress
            entering = i.payload.beat
            m.d.comb += [
                *forward(gate.o, i, to=params.pipe_of(egress) if len(pipes) > 1 else 0),
                entering.tag.egress.eq(egress),
                entering.tag.uplink.eq(uplink),
                entering.beat.eq(gate.o.payload.beat),
            ]
        for o, stream in zip(crossbar.o, pipes, strict=True):
            connect(m, o, stream)
        return [
            [begins.valid & (begins.reported == port) for port in range(params.ports)]
            for begins in crossbar.begins
        ]

    def enter_reads(self, m: Module, pipes: list) -> None:
        """Connect reads to the pipes of the ports where they leave."""
        params = self.params
        count = params.pipes
        room = Cat(pipes[k % count].open_reads[k // count] for k in range(params.ports))
        gates = [self.gate(m, "reads", k, room) for k in range(params.ports)]
        uplinks = []  # whether the packet goes to an uplink, looked up before the gate
        for k, gate in enumerate(gates):
            uplinks.append(uplink := Signal(name=f"uplink_{k}", reset_less=True))
            with m.If(gate.i.ready):
                m.d.sync += uplink.eq(Array(self.uplinks)[gate.i.payload.egress])
        streams = [pipe.reads for pipe in pipes]
        admitted = self.cross(m, "reads_crossbar", gates, uplinks, streams)
        for k, pipe in enumerate(pipes):
            m.d.comb += pipe.admitted_reads.eq(Cat(admitted[k][k::count]))

    def enter_responses(self, m: Module, pipes: list) -> None:
        """Connect responses to the pipes of the ports where they came."""
        params = self.params
        for k, pipe in enumerate(pipes):
            ports = range(k, params.ports, params.pipes)
            gates = [self.gate(m, "responses", port, pipe.open_responses) for port in ports]
            uplinks = [self.uplinks[port] for port in ports]
            name = f"responses_turns_{k}"
            (admitted,) = self.cross(m, name, gates, uplinks, [pipe.responses])
            m.d.comb += pipe.admitted_responses.eq(Cat(admitted))

    def leave(self, m: Module, pipes: list) -> None:
        """Connect the output queues of the pipes to the links."""
        params = self.params
        sizes = StreamArbiterParams(
            shape=OUTPUT_BEAT, count=params.pipes, last_bit=OUTPUT_BEAT["last"].offset
        )
        for k in range(params.ports):
            reads = pipes[k % params.pipes].reads_o[k // params.pipes]
            to_axis(m, reads.payload, reads.valid, reads.ready, self.reads_o[k])
            m.submodules[f"responses_arbiter_{k}"] = arbiter = StreamArbiter(sizes)
            for i, pipe in zip(arbiter.i, pipes, strict=True):
                connect(m, pipe.responses_o[k], i)
            beat = arbiter.o.payload.payload
            to_axis(m, beat, arbiter.o.valid, arbiter.o.ready, self.responses_o[k])
