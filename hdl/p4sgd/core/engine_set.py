"""Trains the models of several classes in one pass over the data, with an engine for each."""

from typing import Any

from amaranth.hdl import Array, Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, Signature, connect, flipped

from hdl.common.component import Component
from hdl.common.streams import Fork, StreamRegister, register_stream
from hdl.p4sgd.core.class_turn import class_turn
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.engine.engine_events import ENGINE_EVENTS
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams


def own_ports(params: EngineParams) -> Signature:
    """Describe the ports that each engine of a set has by itself; they are an engine's."""
    return Signature(
        {
            "load": In(stream.Signature(params.model.load)),
            "peek": In(stream.Signature(params.model.address)),
            "peeked": Out(stream.Signature(params.model.group)),
            "updated": Out(1),
            "events": Out(ENGINE_EVENTS),
        }
    )


class EngineSet(Component):
    """Gives each word to an engine of every class, so that several models are trained in one pass.

    It extends P4SGD's engine (section 4.1.2): the ports are those of an :class:`Engine`, and
    ``engines[c]`` has those of class c alone. A micro-batch has a beat of ``partials`` and one of
    ``deltas`` for each class, class after class. The engines are in lock step: each takes a word
    before any of them is offered the next one. ``waiting`` is high while an engine lacks a word and
    none is at ``words``.

    Throughput: one word a cycle; a micro-batch takes ``max(chunks x bits, classes)`` cycles, at
    least ``params.engine.update_loop``. Latency: an engine's, :attr:`latency` more from ``deltas``
    to ``partials``, and one more for each class after the first. Stalls: a beat waits for its turn.
    """

    latency = 2 * StreamRegister.latency  #: of a register of deltas and one of partial activations

    def __init__(self, params: WorkerParams) -> None:
        engine = params.engine
        super().__init__(
            params,
            settings=In(engine.settings),
            start=In(1),
            exchanging=In(1),
            refill=In(1),
            words=In(stream.Signature(engine.word)),
            partials=Out(stream.Signature(engine.partials)),
            deltas=In(stream.Signature(engine.deltas)),
            finished=Out(1),
            waiting=Out(1),
            engines=Out(own_ports(engine)).array(params.classes),
        )

    def build(self, m: Module) -> None:
        engines = [Engine(self.params.engine) for _ in range(self.params.classes)]
        for k, (engine, own) in enumerate(zip(engines, self.engines, strict=True)):
            m.submodules[f"engine_{k}"] = engine
            for name in ("settings", "start", "exchanging", "refill"):
                m.d.comb += getattr(engine, name).eq(getattr(self, name))
            connect(m, flipped(own.load), engine.load)
            # Without a register, a peek's path from the die before goes far into each engine.
            register_stream(m, f"peek_{k}", flipped(own.peek), engine.peek)
            connect(m, engine.peeked, flipped(own.peeked))
            m.d.comb += [own.updated.eq(engine.updated), own.events.eq(engine.events)]
        self.share_words(m, engines)
        self.share_deltas(m, engines)
        self.collect_partials(m, engines)
        # Deltas come to the last engine last, so that it ends last.
        m.d.comb += self.finished.eq(engines[-1].finished)

    def share_words(self, m: Module, engines: list[Engine]) -> None:
        """Copy each word to all engines; none waits here, so that a surplus word stays outside.

        The last engine is ready last, since its deltas come last and its sums leave last: so its
        ready is that of the set, by a path that is shorter than through all engines.
        """
        m.submodules.fork = fork = Fork.sized(shape=self.params.engine.word, count=len(engines))
        m.d.comb += [
            fork.i.payload.eq(self.words.payload),
            fork.i.valid.eq(self.words.valid),
            self.words.ready.eq(engines[-1].words.ready),
        ]
        for copy, engine in zip(fork.o, engines, strict=True):
            connect(m, copy, engine.words)
        # An engine without a word here has taken all that came, as all others have.
        m.d.comb += self.waiting.eq(engines[0].waiting & ~self.words.valid)

    def share_deltas(self, m: Module, engines: list[Engine]) -> None:
        """Send the deltas of each class to its engine; registers keep those of the next ones."""
        deltas = self.deltas
        turn = class_turn(m, len(engines), deltas.valid & deltas.ready, "class_of_deltas")
        registers = [StreamRegister.sized(shape=deltas.payload.shape()) for _ in engines]
        for k, (register, engine) in enumerate(zip(registers, engines, strict=True)):
            m.submodules[f"deltas_{k}"] = register
            connect(m, register.o, engine.deltas)
            m.d.comb += [
                register.i.payload.eq(deltas.payload),
                register.i.valid.eq(deltas.valid & (turn == k)),
            ]
        m.d.comb += deltas.ready.eq(Array(register.i.ready for register in registers)[turn])

    def collect_partials(self, m: Module, engines: list[Engine]) -> None:
        """Let the partial activations of the classes follow each other."""
        shape = self.params.engine.partials
        m.submodules.partials = register = StreamRegister.sized(shape=shape)
        chosen = register.i
        turn = class_turn(m, len(engines), chosen.valid & chosen.ready, "class_of_partials")
        sums = [engine.partials for engine in engines]
        m.d.comb += [
            chosen.payload.as_value().eq(Array(own.payload.as_value() for own in sums)[turn]),
            chosen.valid.eq(Array(own.valid for own in sums)[turn]),
            *(own.ready.eq(chosen.ready & (turn == k)) for k, own in enumerate(sums)),
        ]
        connect(m, register.o, flipped(self.partials))


def add_set(m: Module, params: WorkerParams, index: int) -> Any:
    """Add a set of engines as a submodule, or, with a single class, the engine that it is."""
    if params.classes == 1:
        m.submodules[f"engine_{index}"] = part = Engine(params.engine)
    else:
        m.submodules[f"set_{index}"] = part = EngineSet(params)
    return part


def engines_of(part: Any) -> list[Any]:
    """Return the ports of each engine of what :func:`add_set` has added, in order of classes."""
    return [part] if isinstance(part, Engine) else list(part.engines)
