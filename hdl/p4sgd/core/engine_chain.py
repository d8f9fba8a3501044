"""Distributes the engines of a worker over several dies, as a chain with a group in each die."""

from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.streams import register_stream
from hdl.p4sgd.core.engine_group import EngineGroup
from hdl.p4sgd.core.group_params import GroupParams, group_load, group_peek, group_peeked
from hdl.p4sgd.core.slr_crossing import SlrCrossing
from hdl.p4sgd.core.sum_tree import sum_levels
from hdl.p4sgd.engine.engine_events import ENGINE_EVENTS
from hdl.p4sgd.worker_params import WorkerParams


class EngineChain(Component):
    """Connects groups of engines: ``group_0``, then ``group_1`` behind ``crossing_0``, and so on.

    Each set of engines keeps its own words, each engine its events and flags; ``deltas`` go to all
    and ``partials`` is their sum, class after class. ``load`` and ``peek`` go to one engine at a
    time. ``load`` is ready when its engine has taken the weights, in whichever die it is;
    ``peeked`` comes in the order of ``peek``. A bit of ``waiting`` says that a set lacks a word and
    none is on its way. ``finished`` falls in the cycle after ``begin``. Words that come before
    ``begin`` wait, and so do words left over at the end of a run, until a reset; the engines of the
    first die report that there are some. The reset travels from die to die like the streams, and
    must last at least :attr:`reset_cycles`.

    Throughput: that of an engine, but a ``load`` beyond the first die takes a round trip. Latency:
    :attr:`latency` cycles more than an engine's from ``deltas`` to ``partials``, out to the engine
    that is farthest and back with a level of adders in each die; events and ``finished`` come
    ``slr_stages`` later for each die between.
    """

    def __init__(self, params: WorkerParams) -> None:
        engine = params.engine
        self.group_params = [GroupParams(worker=params, index=k) for k in range(params.slrs)]
        crossing = SlrCrossing(self.group_params[0]).loop_latency
        self.reset_cycles = 2 * (params.slrs - 1) * params.slr_stages + 1
        levels = [sum_levels(group) for group in self.group_params]
        self.latency = max(
            2 * k * crossing
            + (k + 1) * EngineGroup.deltas_latency
            + own
            + sum(far for _, far in levels[:k])
            for k, (own, _) in enumerate(levels)
        )
        super().__init__(
            params,
            settings=In(engine.settings),
            begin=In(1),
            exchanging=In(1),
            refill=In(1),
            words=In(stream.Signature(engine.word)).array(params.sets),
            deltas=In(stream.Signature(engine.deltas)),
            partials=Out(stream.Signature(params.sums(params.sets))),
            load=In(stream.Signature(engine.model.load)).array(params.engines),
            peek=In(stream.Signature(engine.model.address)).array(params.engines),
            peeked=Out(stream.Signature(engine.model.group)).array(params.engines),
            updated=Out(params.engines),
            waiting=Out(params.sets),
            finished=Out(1),
            events=Out(ENGINE_EVENTS).array(params.engines),
        )

    def build(self, m: Module) -> None:
        groups = [EngineGroup(params) for params in self.group_params]
        m.submodules.group_0 = groups[0]
        domain = "sync"
        for k, (near, far) in enumerate(pairwise(groups)):
            crossing = DomainRenamer(domain)(SlrCrossing(near.params))
            m.submodules[f"crossing_{k}"] = crossing
            domain = self.add_die(m, k + 1, crossing)
            m.submodules[f"group_{k + 1}"] = DomainRenamer(domain)(far)
            connect(m, near.far, crossing.near)
            connect(m, crossing.far, far.near)
        first = groups[0].near
        for k in range(self.params.sets):
            connect(m, flipped(self.words[k]), getattr(first, f"words_{k}"))
        for e in range(self.params.engines):
            m.d.comb += self.events[e].eq(first.events[e])
        connect(m, flipped(self.deltas), first.deltas)
        connect(m, first.partials, flipped(self.partials))
        self.share_load(m, first)
        self.share_peek(m, first)
        for name in ("settings", "begin", "exchanging", "refill"):
            m.d.comb += getattr(first, name).eq(getattr(self, name))
        for name in ("updated", "waiting", "finished"):
            m.d.comb += getattr(self, name).eq(getattr(first, name))

    def add_die(self, m: Module, index: int, crossing: Any) -> str:
        """Add the clock domain of a die, which has a reset of its own; return its name."""
        name = f"die_{index}"
        m.domains += ClockDomain(name, local=True)
        m.d.comb += [
            ClockSignal(name).eq(ClockSignal()),
            ResetSignal(name).eq(crossing.far_reset),
        ]
        return name

    def share_load(self, m: Module, first) -> None:
        """Send the load that waits, once; it is ready a cycle after its engine has taken it."""
        sent = Signal()
        loaded = Signal()
        load = stream.Signature(group_load(self.params)).create(path=("sent_load",))
        register_stream(m, "load", load, first.load)
        m.d.comb += load.valid.eq(Cat(load.valid for load in self.load).any() & ~sent)
        for engine, waiting in enumerate(self.load):
            with m.If(waiting.valid):
                m.d.comb += load.payload.engine.eq(engine)
                m.d.comb += [
                    load.payload[name].eq(waiting.payload[name])
                    for name in self.params.engine.model.load.members
                ]
            m.d.comb += waiting.ready.eq(loaded)
        m.d.sync += loaded.eq(first.loaded)
        with m.If(loaded):
            m.d.sync += sent.eq(0)
        with m.Elif(load.valid & load.ready):
            m.d.sync += sent.eq(1)

    def share_peek(self, m: Module, first) -> None:
        """Send the peek that waits, and route each answer to its engine's port."""
        peeked = stream.Signature(group_peeked(self.params)).create(path=("answered_peek",))
        register_stream(m, "peeked", first.peeked, flipped(peeked))
        peek = stream.Signature(group_peek(self.params)).create(path=("sent_peek",))
        register_stream(m, "peek", peek, first.peek)
        m.d.comb += peek.valid.eq(Cat(peek.valid for peek in self.peek).any())
        for engine, (waiting, answer) in enumerate(zip(self.peek, self.peeked, strict=True)):
            with m.If(waiting.valid):
                m.d.comb += peek.payload.engine.eq(engine)
                m.d.comb += [
                    peek.payload[name].eq(waiting.payload[name])
                    for name in self.params.engine.model.address.members
                ]
            due = peeked.payload.engine == engine
            m.d.comb += [
                waiting.ready.eq(waiting.valid & peek.ready),
                answer.payload.eq(peeked.payload.group),
                answer.valid.eq(peeked.valid & due),
            ]
            with m.If(due):
                m.d.comb += peeked.ready.eq(answer.ready)
