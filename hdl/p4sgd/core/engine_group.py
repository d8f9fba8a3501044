"""The engines of one die, and the way through it to those of the next."""

from collections.abc import Callable

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.streams import Fork, ForkParams
from hdl.p4sgd.core.group_params import GroupParams, GroupSignature
from hdl.p4sgd.core.sum_stage import MOST_TERMS, SumStage, SumStageParams
from hdl.p4sgd.engine.engine import Engine

PEEKS = 32  #: peeks that a group has taken and not answered, those for other dies included


def sum_levels(params: GroupParams) -> tuple[int, int]:
    """Levels of adders from an engine of the group to ``near``, and from ``far``."""
    terms, levels = len(params.own), 0
    far = len(params.beyond) > 0
    while terms + far > MOST_TERMS:
        terms, levels = -(-terms // MOST_TERMS), levels + 1
    last = int(terms + far > 1)
    return levels + last, last


class EngineGroup(Component):
    """Engines of one die: the rest of the worker is at ``near``, the engines beyond at ``far``.

    Words and loads go to their engine, deltas to all of them (:class:`Fork`). The sums of the own
    engines and that of ``far`` are added exactly; ``far`` enters the last level of adders, as it
    is the later one. Peeks are answered in their order, whichever engine is the faster one, so
    that no answer stands in the way of the one that is waited for.

    Throughput: an engine's. Latency: none but :func:`sum_levels` of ``partials``. The last group
    has no ``far``.
    """

    def __init__(self, params: GroupParams) -> None:
        ports = {"near": In(GroupSignature(params.worker, params.engines))}
        if params.beyond:
            ports["far"] = Out(GroupSignature(params.worker, params.beyond))
        super().__init__(params, ports)

    def elaborate(self, platform) -> Module:
        m = Module()
        near = self.near
        far = [self.far] if self.params.beyond else []
        engines = [self.add_engine(m, e) for e in self.params.own]
        for target in far:
            m.d.comb += [
                getattr(target, name).eq(getattr(near, name))
                for name in ("settings", "begin", "exchanging", "refill")
            ]
            for k in range(len(self.params.beyond)):
                words = getattr(near, f"words_{len(engines) + k}")
                connect(m, flipped(words), flipped(getattr(target, f"words_{k}")))
        self.share_deltas(m, [part.deltas for part in [*engines, *far]])
        self.add_partials(m, [engine.partials for engine in engines], far)
        self.pass_loads(m, engines, far)
        self.pass_peeks(m, engines, far)
        m.d.comb += [
            near.events.eq(Cat([e.events for e in engines], [f.events for f in far])),
            near.updated.eq(Cat([e.updated for e in engines], [f.updated for f in far])),
            near.waiting.eq(Cat([e.waiting for e in engines], [f.waiting for f in far])),
            near.finished.eq(Cat(part.finished for part in [*engines, *far]).all()),
        ]
        return m

    def add_engine(self, m: Module, index: int) -> Engine:
        """An engine, called by its number in the worker."""
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

    def share_deltas(self, m: Module, targets: list) -> None:
        """To every engine, and on to the next die."""
        deltas = self.near.deltas
        width = deltas.payload.shape().size
        m.submodules.fork = fork = Fork(ForkParams(width=width, count=len(targets)))
        m.d.comb += [
            fork.i.payload.eq(deltas.payload.as_value()),
            fork.i.valid.eq(deltas.valid),
            deltas.ready.eq(fork.i.ready),
        ]
        for copy, target in zip(fork.o, targets, strict=True):
            m.d.comb += [
                target.payload.as_value().eq(copy.payload),
                target.valid.eq(copy.valid),
                copy.ready.eq(target.ready),
            ]

    def add_partials(self, m: Module, terms: list, far: list) -> None:
        """Levels of adders: the own engines' first, ``far`` in the last one."""
        worker = self.params.worker
        counts = [1] * len(terms)
        level = 0
        while len(terms) + len(far) > 1:
            last = len(terms) + len(far) <= MOST_TERMS
            if last:
                terms += [flipped(target.partials) for target in far]
                counts += [len(self.params.beyond)] * len(far)
                far = []
            sums, sizes = [], []
            for k in range(0, len(terms), MOST_TERMS):
                size = sum(counts[k : k + MOST_TERMS])
                name = f"sum_{level}_{k // MOST_TERMS}"
                sums.append(add_up(m, name, terms[k : k + MOST_TERMS], worker.sums(size)))
                sizes.append(size)
            terms, counts, level = sums, sizes, level + 1
        connect(m, terms[0], flipped(self.near.partials))

    def pass_loads(self, m: Module, engines: list[Engine], far: list) -> None:
        """To the engine that is named; ``loaded`` comes from there."""
        load = self.near.load
        members = self.params.worker.engine.load.members
        taken = []
        for e, engine in zip(self.params.own, engines, strict=True):
            chosen = load.payload.engine == e
            m.d.comb += [engine.load.payload[name].eq(load.payload[name]) for name in members]
            m.d.comb += engine.load.valid.eq(load.valid & chosen)
            taken.append(chosen & engine.load.ready)
        sent = []
        for target in far:
            beyond = load.payload.engine >= self.params.beyond.start
            m.d.comb += target.load.payload.eq(load.payload)
            m.d.comb += target.load.valid.eq(load.valid & beyond)
            sent.append(beyond & target.load.ready)
        m.d.comb += [
            load.ready.eq(Cat(taken, sent).any()),
            self.near.loaded.eq(
                (load.valid & Cat(taken).any()) | Cat(target.loaded for target in far).any()
            ),
        ]

    def pass_peeks(self, m: Module, engines: list[Engine], far: list) -> None:
        """To the engine that is named, and its answer back when it is due."""
        peek, peeked = self.near.peek, self.near.peeked
        m.submodules.order = order = Fifo(
            FifoParams(width=len(peek.payload.engine), depth=PEEKS, style="distributed")
        )
        members = self.params.worker.engine.address.members
        first = self.params.beyond.start
        taken, answered = [], []

        def serve(question, answer, group, is_it: Callable[[Value], Value]) -> None:
            chosen, due = is_it(peek.payload.engine), order.o.valid & is_it(order.o.payload)
            m.d.comb += [question.payload[name].eq(peek.payload[name]) for name in members]
            m.d.comb += question.valid.eq(peek.valid & order.i.ready & chosen)
            m.d.comb += answer.ready.eq(peeked.ready & due)
            with m.If(due):
                m.d.comb += peeked.payload.group.eq(group)
            taken.append(chosen & question.ready)
            answered.append(due & answer.valid)

        for e, engine in zip(self.params.own, engines, strict=True):
            answer = engine.peeked
            serve(engine.peek, answer, answer.payload, lambda index, e=e: index == e)
        for target in far:
            m.d.comb += target.peek.payload.engine.eq(peek.payload.engine)
            answer = target.peeked
            serve(target.peek, answer, answer.payload.group, lambda index: index >= first)
        m.d.comb += [
            order.i.payload.eq(peek.payload.engine),
            order.i.valid.eq(peek.valid & Cat(taken).any()),
            peek.ready.eq(order.i.ready & Cat(taken).any()),
            peeked.payload.engine.eq(order.o.payload),
            peeked.valid.eq(Cat(answered).any()),
            order.o.ready.eq(peeked.valid & peeked.ready),
        ]


def add_up(m: Module, name: str, terms: list, sums) -> stream.Interface:
    """The sum of the terms, a beat of each; a term alone is its own sum."""
    if len(terms) == 1:
        return terms[0]
    widths = [term.payload.shape().elem_shape.width for term in terms]
    m.submodules[name] = stage = SumStage(
        SumStageParams(values=sums.length, terms=tuple(widths), bits=sums.elem_shape.width)
    )
    for k, term in enumerate(terms):
        connect(m, term, getattr(stage, f"i_{k}"))
    return stage.o
