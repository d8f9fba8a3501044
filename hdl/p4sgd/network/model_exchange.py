"""Adds up the workers' models over the network after a mini-batch, in data parallelism."""

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.gearbox import Deserializer, Serializer
from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.worker_params import WorkerParams


class ModelExchange(Component):
    """Connects the engines' weights to the host or the network, and controls their exchange.

    In model parallelism ``partial`` and ``full`` activations go to and from the network,
    ``host_load``, ``host_peek`` and ``host_peeked`` reach the engines, and a run is ``finished``
    when the engines are. A packet has eight activations, so that those of 16 banks take two.

    In data parallelism (P4SGD, sections 2.1 and 5.1), a build option with a setting, each worker
    trains the whole model on its own samples. One worker updates the model, and the others update
    zeros, so that the sum over the workers is the model minus all gradients. When all engines have
    ``updated`` the mini-batch, ``exchanging`` is high: eight weights a packet, engine by engine,
    group by group, chunk by chunk, go to the network, and their sums, saturated there, go into the
    model. ``refill`` ends the exchange.

    Throughput of an exchange: a packet a cycle is sent; a packet is received in the time of a load
    of an engine (5 cycles, and the round trip to its die), or as fast as the network answers.
    Latency: ``send_latency`` from ``partial`` to its last packet and ``receive_latency`` from the
    last packet to ``full``; none where one packet carries a micro-batch.
    """

    def __init__(self, params: WorkerParams) -> None:
        engine, network = params.engine, params.transport.activations
        activations = stream.Signature(engine.activations)
        cut_up = params.frames > 1
        self.send_latency = cut_up * (Serializer.latency + params.frames - 1)
        self.receive_latency = cut_up * Deserializer.latency
        load, peek = stream.Signature(engine.model.load), stream.Signature(engine.model.address)
        group, count = stream.Signature(engine.model.group), params.engines
        super().__init__(
            params,
            settings=In(engine.settings),
            begin=In(1),
            updated=In(count),
            engines_finished=In(1),
            exchanging=Out(1),
            refill=Out(1),
            finished=Out(1),
            partial=In(activations),
            full=Out(activations),
            network_partial=Out(stream.Signature(network)),
            network_full=In(stream.Signature(network)),
            host_load=In(load).array(count),
            host_peek=In(peek).array(count),
            host_peeked=Out(group).array(count),
            load=Out(load).array(count),
            peek=Out(peek).array(count),
            peeked=In(group).array(count),
        )

    @property
    def place(self) -> data.StructLayout:
        """Describe the place of eight weights in the worker.

        In an exchange the engine changes first, then the group, then the chunk.
        """
        address = self.params.engine.model.address.members
        return data.StructLayout({"engine": range(max(2, self.params.engines)), **address})

    def build(self, m: Module) -> None:
        if self.params.engine.data_parallel:
            self.exchange(m)
        else:
            self.pass_host(m)
            m.d.comb += self.finished.eq(self.engines_finished)
        partial, full = flipped(self.partial), flipped(self.full)
        if self.params.frames > 1:
            partial, full = self.cut_up(m, partial, full)
        if self.params.engine.data_parallel:
            with m.If(~self.settings.data_parallel):
                self.pass_activations(m, partial, full)
        else:
            self.pass_activations(m, partial, full)

    def cut_up(self, m: Module, partial: Any, full: Any) -> tuple[Any, Any]:
        """Send a micro-batch in several packets; return the streams of their activations."""
        shape, parts = self.params.engine.activations, self.params.frames
        m.submodules.serializer = serializer = Serializer.sized(shape=shape, parts=parts)
        m.submodules.deserializer = deserializer = Deserializer.sized(shape=shape, parts=parts)
        connect(m, partial, serializer.i)
        connect(m, deserializer.o, full)
        return serializer.o, deserializer.i

    def pass_activations(self, m: Module, partial: Any, full: Any) -> None:
        """Pass activations to the network and back, in the first of its eight lanes."""
        outgoing, incoming = self.network_partial, self.network_full
        sent, received = Value.cast(partial.payload), Value.cast(full.payload)
        m.d.comb += [
            outgoing.payload.as_value().eq(sent),
            outgoing.valid.eq(partial.valid),
            partial.ready.eq(outgoing.ready),
            received.eq(incoming.payload.as_value()[: len(received)]),
            full.valid.eq(incoming.valid),
            incoming.ready.eq(full.ready),
        ]

    def pass_host(self, m: Module) -> None:
        """Pass the host's accesses to the engines."""
        for e in range(self.params.engines):
            connect(m, flipped(self.host_load[e]), flipped(self.load[e]))
            connect(m, flipped(self.host_peek[e]), flipped(self.peek[e]))
            connect(m, flipped(self.peeked[e]), flipped(self.host_peeked[e]))

    def exchange(self, m: Module) -> None:
        """Exchange models, from the last update of a mini-batch to the new model in all engines."""
        due = Signal(self.params.engines)
        requesting = Signal()
        ended = Signal()
        all_requested = Signal()
        all_put = Signal()
        with m.If(self.exchanging):
            m.d.comb += all_requested.eq(self.issue(m, requesting))
            self.send(m)
            m.d.comb += all_put.eq(self.put(m))
        with m.Else():
            self.pass_host(m)
        m.d.sync += [due.eq(due | self.updated), self.refill.eq(all_put)]
        with m.If(due.all() & self.settings.data_parallel):
            m.d.sync += [due.eq(0), requesting.eq(1), self.exchanging.eq(1)]
        with m.If(all_requested):
            m.d.sync += requesting.eq(0)
        with m.If(all_put):
            m.d.sync += [self.exchanging.eq(0), ended.eq(self.engines_finished)]
        # Updates of a run without data parallelism do not start an exchange in the next run.
        with m.If(self.begin | ~self.settings.data_parallel):
            m.d.sync += [due.eq(0), ended.eq(0)]
        m.d.comb += self.finished.eq(Mux(self.settings.data_parallel, ended, self.engines_finished))

    def issue(self, m: Module, requesting: Signal) -> Value:
        """Peek at all weights; return a signal that is high with the last."""
        place = Signal(self.place, name="requested")
        moves = Signal()
        for e, peek in enumerate(self.peek):
            m.d.comb += [
                peek.payload.chunk.eq(place.chunk),
                peek.payload.group.eq(place.group),
                peek.valid.eq(requesting & (place.engine == e)),
            ]
        m.d.comb += moves.eq(requesting & Array(peek.ready for peek in self.peek)[place.engine])
        return self.walk(m, place, moves)

    def send(self, m: Module) -> None:
        """Send the engines' answers in the order of the requests."""
        place = Signal(self.place, name="sent")
        moves = Signal()
        outgoing = self.network_partial
        payloads = Array(peeked.payload.as_value() for peeked in self.peeked)
        m.d.comb += [
            outgoing.payload.as_value().eq(payloads[place.engine]),
            outgoing.valid.eq(Array(peeked.valid for peeked in self.peeked)[place.engine]),
            moves.eq(outgoing.valid & outgoing.ready),
        ]
        for e, peeked in enumerate(self.peeked):
            m.d.comb += peeked.ready.eq(outgoing.ready & (place.engine == e))
        self.walk(m, place, moves)

    def put(self, m: Module) -> Value:
        """Load the sums into the engines in order; return a signal that is high with the last."""
        place = Signal(self.place, name="put")
        moves = Signal()
        incoming = self.network_full
        for e, load in enumerate(self.load):
            m.d.comb += [
                load.payload.chunk.eq(place.chunk),
                load.payload.group.eq(place.group),
                load.payload.weights.as_value().eq(incoming.payload.as_value()),
                load.valid.eq(incoming.valid & (place.engine == e)),
            ]
        m.d.comb += [
            incoming.ready.eq(Array(load.ready for load in self.load)[place.engine]),
            moves.eq(incoming.valid & incoming.ready),
        ]
        return self.walk(m, place, moves)

    def walk(self, m: Module, place: data.View, moves: Signal) -> Value:
        """Move on to the next engine, group, chunk; return a signal that is high after the last."""
        limits = (
            ("engine", self.params.engines - 1),
            ("group", -(-self.params.engine.lanes // GROUP_LANES) - 1),
            ("chunk", (self.settings.chunks - 1)[: self.params.engine.model.chunk_bits]),
        )
        step: Value = moves
        for name, limit in limits:
            last = place[name] == limit
            with m.If(step):
                m.d.sync += place[name].eq(Mux(last, 0, place[name] + 1))
            step = step & last
        return step
