"""Connects engines in lock step, the adder of their partial activations, and the loss."""

from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.streams import Fork, StreamRegister, cut_ready, register_stream
from hdl.p4sgd.core.engine_chain import EngineChain
from hdl.p4sgd.core.engine_set import add_set, engines_of
from hdl.p4sgd.core.network_join import NetworkJoin
from hdl.p4sgd.core.partial_sum import PartialSum
from hdl.p4sgd.engine.engine_events import ENGINE_EVENTS
from hdl.p4sgd.engine.params import PORT_BITS, take_settings
from hdl.p4sgd.engine.tile_engine import TileEngine
from hdl.p4sgd.host.counters import EVENTS
from hdl.p4sgd.loss.loss_unit import LossUnit
from hdl.p4sgd.worker_params import LOSS_SETTINGS, WorkerParams


class TrainingCore(Component):
    """Implements Algorithm 1 of P4SGD between the readers and the network (section 4.1, figure 5).

    Every engine takes its own ``words``, or every set of engines, one for each class
    (:class:`EngineSet`); then activations, labels and deltas have a beat for each class, class
    after class. The adder of partial activations adds the engines' sums; the result leaves on
    ``partial`` and comes back, added over all workers, on ``full`` (with ``join`` it is used
    directly). The loss turns it and the ``labels`` into deltas, which go to every engine at once.
    ``begin`` starts a run with ``settings``, ``loss`` and ``join``; ``finished`` is high when every
    engine has ended it. ``updated``, ``exchanging`` and ``refill`` are those of the engines.

    Engines whose model is in memory (:class:`TileEngine`) have streams of weights, and the words
    ``again``, in place of what reaches the model in an engine. ``words_waiting`` and
    ``labels_waiting`` say which input the core lacks; ``events`` and ``engine_events`` feed the
    counters.

    With several dies the engines are in an :class:`EngineChain`, all other parts are in the first
    die, and the results are bit-exactly the same. ``load`` and ``peek`` then go to one engine at a
    time. Latency: :attr:`deltas_latency` from the loss to the engines of a single die.
    """

    deltas_latency = StreamRegister.latency

    def __init__(self, params: WorkerParams) -> None:
        engine = params.engine
        activations = stream.Signature(engine.activations)
        ports = {
            "settings": In(engine.settings),
            "loss": In(LOSS_SETTINGS),
            "join": In(1),
            "begin": In(1),
            "words": In(stream.Signature(engine.word)).array(params.sets),
            "labels": In(activations),
            "partial": Out(activations),
            "full": In(activations),
            **(self.streamed(params) if params.movers else self.resident(params)),
            "words_waiting": Out(params.sets),
            "labels_waiting": Out(1),
            "events": Out(EVENTS),
            "engine_events": Out(ENGINE_EVENTS).array(params.engines),
        }
        super().__init__(params, ports)

    def resident(self, params: WorkerParams) -> dict[str, Any]:
        """Return the ports of engines that have their model."""
        engine, count = params.engine, params.engines
        return {
            "load": In(stream.Signature(engine.model.load)).array(count),
            "peek": In(stream.Signature(engine.model.address)).array(count),
            "peeked": Out(stream.Signature(engine.model.group)).array(count),
            "exchanging": In(1),
            "refill": In(1),
            "updated": Out(count),
            "finished": Out(1),
        }

    def streamed(self, params: WorkerParams) -> dict[str, Any]:
        """Return the ports of engines whose model is in memory."""
        beats, count = stream.Signature(PORT_BITS), params.engines
        return {
            "again": In(stream.Signature(params.engine.word)).array(count),
            "architectural": In(beats).array(count),
            "updated_weights": In(beats).array(count),
            "results": Out(stream.Signature(params.engine.model.weights)).array(count),
        }

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.partial_sum = partial_sum = PartialSum(params)
        m.submodules.network_join = join = NetworkJoin(params.engine)
        m.submodules.loss_unit = loss = LossUnit(params)
        # This register cuts a path of ready from the network to all engines' queues.
        cut_ready(m, "skid", partial_sum.activations, join.sums)
        connect(m, join.partial, flipped(self.partial))
        connect(m, flipped(self.full), join.full)
        connect(m, join.activations, loss.activations)
        connect(m, flipped(self.labels), loss.labels)
        m.d.comb += [
            partial_sum.settings.eq(self.settings),
            join.join.eq(self.join),
            *take_settings(loss, self.settings),
            loss.loss.eq(self.loss),
            loss.start.eq(self.begin),
            self.labels_waiting.eq(join.activations.valid & ~self.labels.valid),
            self.events.micro_batches.eq(loss.deltas.valid & loss.deltas.ready),
            self.events.activation_saturations.eq(partial_sum.saturations),
            self.events.derivative_saturations.eq(loss.saturations.derivative),
            self.events.delta_saturations.eq(loss.saturations.delta),
        ]
        if params.slrs == 1:
            self.add_engines(m, loss, partial_sum)
        else:
            self.add_chain(m, loss, partial_sum)

    def add_engines(self, m: Module, loss: LossUnit, partial_sum: PartialSum) -> None:
        """Add all engines in parallel, for a single die."""
        params = self.params
        m.submodules.fork = fork = Fork.sized(shape=params.engine.deltas, count=params.sets)
        register_stream(m, "deltas", loss.deltas, fork.i)
        sets = []
        for k in range(params.sets):
            if params.movers:
                m.submodules[f"engine_{k}"] = part = TileEngine(params.engine)
                self.stream_model(m, k, part)
            else:
                part = add_set(m, params, k)
                self.share_models(m, k, part)
            sets.append(part)
            connect(m, flipped(self.words[k]), part.words)
            connect(m, part.partials, partial_sum.partials[k])
            connect(m, fork.o[k], part.deltas)
            m.d.comb += [part.settings.eq(self.settings), part.start.eq(self.begin)]
        m.d.comb += self.words_waiting.eq(Cat(part.waiting for part in sets))
        if not params.movers:
            m.d.comb += self.finished.eq(Cat(part.finished for part in sets).all())

    def share_models(self, m: Module, k: int, part: Any) -> None:
        """Connect what reaches the models in a set of engines, and their events."""
        m.d.comb += [part.exchanging.eq(self.exchanging), part.refill.eq(self.refill)]
        for e, engine in enumerate(engines_of(part), k * self.params.classes):
            connect(m, flipped(self.load[e]), engine.load)
            connect(m, flipped(self.peek[e]), engine.peek)
            connect(m, engine.peeked, flipped(self.peeked[e]))
            m.d.comb += [
                self.updated[e].eq(engine.updated),
                self.engine_events[e].eq(engine.events),
            ]

    def stream_model(self, m: Module, e: int, engine: TileEngine) -> None:
        """Connect the weights of an engine whose model is in memory, and its words once more."""
        m.d.comb += self.engine_events[e].eq(engine.events)
        connect(m, flipped(self.again[e]), engine.again)
        connect(m, flipped(self.architectural[e]), engine.architectural)
        connect(m, flipped(self.updated_weights[e]), engine.updated)
        connect(m, engine.results, flipped(self.results[e]))

    def add_chain(self, m: Module, loss: LossUnit, partial_sum: PartialSum) -> None:
        """Add the engines die by die, as a chain of groups."""
        m.submodules.chain = chain = EngineChain(self.params)
        connect(m, loss.deltas, chain.deltas)
        # This register cuts a path of ready from the adder, all of which it holds, to the engines.
        cut_ready(m, "partials", chain.partials, partial_sum.partials[0])
        for k in range(self.params.sets):
            connect(m, flipped(self.words[k]), chain.words[k])
        for e in range(self.params.engines):
            connect(m, flipped(self.load[e]), chain.load[e])
            connect(m, flipped(self.peek[e]), chain.peek[e])
            connect(m, chain.peeked[e], flipped(self.peeked[e]))
            m.d.comb += self.engine_events[e].eq(chain.events[e])
        m.d.comb += [
            chain.settings.eq(self.settings),
            chain.begin.eq(self.begin),
            chain.exchanging.eq(self.exchanging),
            chain.refill.eq(self.refill),
            self.updated.eq(chain.updated),
            self.finished.eq(chain.finished),
            self.words_waiting.eq(chain.waiting),
        ]
