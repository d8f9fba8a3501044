"""Implements an engine whose model lies in memory: it streams the weights as it does the words."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.p4sgd.engine.backward import backward_orders
from hdl.p4sgd.engine.datapath import Datapath
from hdl.p4sgd.engine.engine_events import ENGINE_EVENTS, EngineEvents
from hdl.p4sgd.engine.forward import forward_orders
from hdl.p4sgd.engine.params import PORT_BITS, EngineParams, take_settings
from hdl.p4sgd.engine.tile_backward import TileBackward
from hdl.p4sgd.engine.tile_forward import TileForward


class TileEngine(Component):
    """Trains like :class:`Engine` on a model that is read from memory (P4SGD, section 7).

    The micro-batches of a tile, ``2 ** settings.tile`` of a mini-batch, take turns in each chunk,
    so that the chunk's weights are read once for all of them. ``words`` has the planes of a
    micro-batch in a chunk, then the tile's other micro-batches, then the next chunk; ``again`` has
    the same words once more, for the backward stage. ``architectural`` and ``updated`` bring a
    tile's chunks in order, eight weights a beat; ``results`` gives each updated chunk back.
    ``partials`` and ``deltas`` are those of single micro-batches, in order, as in an engine with
    its own model, and so are all results, bit for bit.

    Throughput: a word a cycle in each direction, a micro-batch in a chunk in at least
    ``params.update_spacing`` cycles, and a chunk's weights in at least ``lanes / 8 + 1``.
    :attr:`latencies` has the cycles of each part of the loop, without memory.
    """

    def __init__(self, params: EngineParams) -> None:
        beats, words = stream.Signature(PORT_BITS), stream.Signature(params.word)
        self.latencies = {
            "last word in to partials": TileForward(params).latency,
            "words and deltas to a chunk's write": TileBackward(params).latency,
        }
        super().__init__(
            params,
            settings=In(params.settings),
            start=In(1),
            words=In(words),
            again=In(words),
            architectural=In(beats),
            updated=In(beats),
            results=Out(stream.Signature(params.model.weights)),
            partials=Out(stream.Signature(params.partials)),
            deltas=In(stream.Signature(params.deltas)),
            waiting=Out(1),
            events=Out(ENGINE_EVENTS),
        )

    def build(self, m: Module) -> None:
        m.submodules.forward = forward = TileForward(self.params)
        m.submodules.backward = backward = TileBackward(self.params)
        m.submodules.datapath = datapath = Datapath(self.params)
        m.submodules.engine_events = events = EngineEvents(self.params)
        for stage in (forward, backward):
            m.d.comb += [*take_settings(stage, self.settings), stage.start.eq(self.start)]
        connect(m, flipped(self.words), forward.words)
        connect(m, flipped(self.again), backward.words)
        connect(m, flipped(self.deltas), backward.deltas)
        connect(m, flipped(self.architectural), datapath.forward_beats)
        connect(m, flipped(self.updated), datapath.update_beats)
        connect(m, datapath.results, flipped(self.results))
        connect(m, forward.partials, flipped(self.partials))
        for name in forward_orders(self.params):
            m.d.comb += getattr(datapath, f"forward_{name}").eq(getattr(forward, name))
        for name in backward_orders(self.params):
            m.d.comb += getattr(datapath, f"backward_{name}").eq(getattr(backward, name))
        m.d.comb += [
            forward.sums.eq(datapath.sums),
            forward.came.eq(datapath.forward_came),
            backward.came.eq(datapath.update_came),
            backward.written.eq(datapath.written),
            datapath.signed_features.eq(self.settings.signed_features),
            datapath.l2_shift.eq(self.settings.l2_shift),
            datapath.deltas.eq(backward.delta),
            events.active.eq(forward.active),
            events.no_queue.eq(forward.no_queue),
            events.no_credit.eq(forward.no_credit),
            events.no_word.eq(~self.words.valid | forward.unread),
            events.starved.eq(backward.starved),
            events.saturated.eq(datapath.saturated),
            self.events.eq(events.events),
            self.waiting.eq(forward.waiting),
        ]
