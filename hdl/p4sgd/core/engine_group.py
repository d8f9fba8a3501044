"""Connects the engines of one die, and passes on the signals of the next die's engines."""

from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.streams import Fork, StreamRegister, register_stream
from hdl.p4sgd.core.group_params import GroupParams, GroupSignature
from hdl.p4sgd.core.group_routing import Branch, route_loads, route_peeks
from hdl.p4sgd.core.sum_tree import Term, add_sum_tree
from hdl.p4sgd.engine.engine import Engine


class EngineGroup(Component):
    """Connects a die's engines to the rest of the worker at ``near``, and to more dies at ``far``.

    Words and loads go to their engine, deltas to all of them (:class:`Fork`). The sums of the own
    engines and that of ``far`` are added exactly (:func:`add_sum_tree`); ``far`` enters the last
    level of adders, because it comes later. Peeks are answered in order, whatever the engines'
    latencies, so that no answer blocks the one that is due.

    Throughput: that of an engine. Latency: :attr:`deltas_latency` from ``deltas`` to engines and
    ``far``; :func:`sum_levels` for ``partials``; none for other signals. The last group has no
    ``far``.
    """

    deltas_latency = StreamRegister.latency  #: the register cuts a path of ready from all engines

    def __init__(self, params: GroupParams) -> None:
        ports = {"near": In(GroupSignature(params.worker, params.engines))}
        if params.beyond:
            ports["far"] = Out(GroupSignature(params.worker, params.beyond))
        super().__init__(params, ports)

    def elaborate(self, platform) -> Module:
        m = Module()
        near, params = self.near, self.params
        engines = [self.add_engine(m, e) for e in params.own]
        far = [self.far] if params.beyond else []  # port to the next die, if there is one
        for target in far:
            self.pass_on(m, target)
        self.share_deltas(
            m, [*(item.deltas for item in engines), *(flipped(item.deltas) for item in far)]
        )
        total = add_sum_tree(
            m,
            params.worker,
            [Term(engine.partials, 1) for engine in engines],
            [Term(flipped(target.partials), len(params.beyond)) for target in far],
        )
        connect(m, total, flipped(near.partials))
        own = zip(params.own, engines, strict=True)
        branches = [Branch(part=engine, first=e, beyond=False) for e, engine in own]
        branches += [Branch(part=target, first=params.beyond.start, beyond=True) for target in far]
        route_loads(m, near, branches, params.worker.engine.model)
        route_peeks(m, near, branches, params.worker.engine.model)
        m.d.comb += [
            near.events.eq(Cat([e.events for e in engines], [f.events for f in far])),
            near.updated.eq(Cat([e.updated for e in engines], [f.updated for f in far])),
            near.waiting.eq(Cat([e.waiting for e in engines], [f.waiting for f in far])),
            near.finished.eq(Cat(part.finished for part in [*engines, *far]).all()),
        ]
        return m

    def add_engine(self, m: Module, index: int) -> Engine:
        """Make an engine a submodule, named by its number in the worker."""
        near = self.near
        m.submodules[f"engine_{index}"] = engine = Engine(self.params.worker.engine)
        words = getattr(near, f"words_{index - self.params.own.start}")
        connect(m, flipped(words), engine.words)
        m.d.comb += [
            engine.settings.eq(near.settings),
            engine.start.eq(near.begin),
            engine.exchanging.eq(near.exchanging),
            engine.refill.eq(near.refill),
        ]
        return engine

    def pass_on(self, m: Module, far: Any) -> None:
        """Pass the settings and the start of a run, and words, to the engines of the next die."""
        m.d.comb += [
            getattr(far, name).eq(getattr(self.near, name))
            for name in ("settings", "begin", "exchanging", "refill")
        ]
        for k in range(len(self.params.beyond)):
            words = getattr(self.near, f"words_{len(self.params.own) + k}")
            connect(m, flipped(words), flipped(getattr(far, f"words_{k}")))

    def share_deltas(self, m: Module, targets: list) -> None:
        """Copy the deltas to every engine, and on to the next die."""
        deltas = flipped(self.near.deltas)
        m.submodules.fork = fork = Fork.sized(shape=deltas.payload.shape(), count=len(targets))
        register_stream(m, "deltas", deltas, fork.i)
        for copy, target in zip(fork.o, targets, strict=True):
            connect(m, copy, target)
