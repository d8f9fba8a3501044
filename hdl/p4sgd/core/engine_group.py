"""Connects the engines of one die, and passes on the signals of the next die's engines."""

from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.streams import Fork, StreamRegister, register_stream
from hdl.p4sgd.core.engine_set import add_set, engines_of
from hdl.p4sgd.core.group_params import GroupParams, GroupSignature
from hdl.p4sgd.core.group_routing import Branch, route_loads, route_peeks
from hdl.p4sgd.core.sum_tree import Term, add_sum_tree


class EngineGroup(Component):
    """Connects a die's engines to the rest of the worker at ``near``, and to more dies at ``far``.

    Words go to their set of engines and loads to their engine, deltas to all sets (:class:`Fork`).
    The sums of the own sets and that of ``far`` are added exactly (:func:`add_sum_tree`), those of
    several classes one after the other; ``far`` enters the last level of adders, because it comes
    later. Peeks are answered in order, whatever the engines'
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

    def build(self, m: Module) -> None:
        near, params = self.near, self.params
        sets = [self.add_set(m, k) for k in range(params.own_sets)]
        engines = [engine for item in sets for engine in engines_of(item)]
        far = [self.far] if params.beyond else []  # port to the next die, if there is one
        for target in far:
            self.pass_on(m, target)
        self.share_deltas(
            m, [*(item.deltas for item in sets), *(flipped(item.deltas) for item in far)]
        )
        far_sets = len(params.beyond) // params.worker.classes
        total = add_sum_tree(
            m,
            params.worker,
            [Term(item.partials, 1) for item in sets],
            [Term(flipped(target.partials), far_sets) for target in far],
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
            near.waiting.eq(Cat([item.waiting for item in sets], [f.waiting for f in far])),
            near.finished.eq(Cat(part.finished for part in [*sets, *far]).all()),
        ]

    def add_set(self, m: Module, index: int) -> Any:
        """Make a set of engines a submodule, named by its number in the worker."""
        near, worker = self.near, self.params.worker
        part = add_set(m, worker, self.params.own.start // worker.classes + index)
        connect(m, flipped(getattr(near, f"words_{index}")), part.words)
        m.d.comb += [
            part.settings.eq(near.settings),
            part.start.eq(near.begin),
            part.exchanging.eq(near.exchanging),
            part.refill.eq(near.refill),
        ]
        return part

    def pass_on(self, m: Module, far: Any) -> None:
        """Pass the settings and the start of a run, and words, to the engines of the next die."""
        m.d.comb += [
            getattr(far, name).eq(getattr(self.near, name))
            for name in ("settings", "begin", "exchanging", "refill")
        ]
        for k in range(len(self.params.beyond) // self.params.worker.classes):
            words = getattr(self.near, f"words_{self.params.own_sets + k}")
            connect(m, flipped(words), flipped(getattr(far, f"words_{k}")))

    def share_deltas(self, m: Module, targets: list) -> None:
        """Copy the deltas to every engine, and on to the next die."""
        deltas = flipped(self.near.deltas)
        m.submodules.fork = fork = Fork.sized(shape=deltas.payload.shape(), count=len(targets))
        register_stream(m, "deltas", deltas, fork.i)
        for copy, target in zip(fork.o, targets, strict=True):
            connect(m, copy, target)
