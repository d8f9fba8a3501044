"""Implements an engine: banks, word FIFO, gradient, model update and model memory."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.streams import connect_by
from hdl.p4sgd.engine.backward import BackwardStage, backward_orders
from hdl.p4sgd.engine.datapath import Datapath
from hdl.p4sgd.engine.engine_events import ENGINE_EVENTS, EngineEvents
from hdl.p4sgd.engine.forward import ForwardStage, forward_orders
from hdl.p4sgd.engine.params import EngineParams, take_settings
from hdl.p4sgd.engine.read_back import ReadBack


class Engine(Component):
    """Trains ``chunks`` x ``lanes`` features on ``banks`` samples at a time (P4SGD, section 4.1.2).

    ``words`` brings a bit plane of a chunk of all samples of a micro-batch: planes most
    significant first, then chunks, then micro-batches. After a micro-batch's last word
    ``partials`` offers the exact partial activations, in units of the last plane. ``deltas``
    brings the micro-batch's deltas back; the words, kept in the word FIFO, are multiplied with
    them and update the model, saturating. A run begins with ``start``, goes through the
    micro-batches that ``settings`` describes, and ends with ``finished``.

    ``load``, ``peek`` and ``peeked`` give access to the weights between runs, and in a run with
    ``data_parallel`` while it is ``exchanging``: after ``updated``, the end of a mini-batch, the
    next one waits for ``refill``. ``waiting`` is high while the forward stage lacks a word.
    ``events`` says in each cycle what counters count.

    Throughput: one word a cycle in each direction; a micro-batch takes ``chunks x bits`` cycles, at
    least ``params.update_loop``. :attr:`latencies` has the cycles of each part of the loop. Words
    of a micro-batch must fit the word FIFO: ``chunks x bits <= fifo_words``, or the run stalls for
    ever.
    """

    def __init__(self, params: EngineParams) -> None:
        if params.max_tile:
            raise ValueError(
                f"max_tile must be 0 in an engine that has its model: {params.max_tile}"
            )
        backward = BackwardStage(params)
        self.latencies = {
            "last word in to partials": ForwardStage(params).latency,
            "deltas to a chunk's write, with one bit": backward.latency,
            "deltas to the next mini-batch's first word, with one bit": backward.latency + 1,
        }
        super().__init__(
            params,
            settings=In(params.settings),
            start=In(1),
            words=In(stream.Signature(params.word)),
            partials=Out(stream.Signature(params.partials)),
            deltas=In(stream.Signature(params.deltas)),
            load=In(stream.Signature(params.model.load)),
            peek=In(stream.Signature(params.model.address)),
            peeked=Out(stream.Signature(params.model.group)),
            exchanging=In(1),
            refill=In(1),
            updated=Out(1),
            finished=Out(1),
            waiting=Out(1),
            events=Out(ENGINE_EVENTS),
        )

    def build(self, m: Module) -> None:
        m.submodules.forward = forward = ForwardStage(self.params)
        m.submodules.backward = backward = BackwardStage(self.params)
        m.submodules.datapath = datapath = Datapath(self.params)
        m.submodules.read_back = read_back = ReadBack(self.params)
        m.submodules.engine_events = events = EngineEvents(self.params)
        for stage in (forward, backward):
            m.d.comb += [*take_settings(stage, self.settings), stage.start.eq(self.start)]
        connect(m, flipped(self.words), forward.words)
        connect(m, flipped(self.deltas), backward.deltas)
        connect(m, flipped(self.load), backward.load)
        connect(m, flipped(self.peek), read_back.peek)
        connect(m, read_back.probe, forward.probe)
        connect(m, read_back.peeked, flipped(self.peeked))
        for name in forward_orders(self.params):
            m.d.comb += getattr(datapath, f"forward_{name}").eq(getattr(forward, name))
        for name in backward_orders(self.params):
            m.d.comb += getattr(datapath, f"backward_{name}").eq(getattr(backward, name))
        self.add_word_fifo(m, forward.stored, backward.stored)
        self.share_partials(m, forward.partials, read_back)
        m.d.comb += [
            forward.granted.eq(backward.granted & ~self.settings.data_parallel),
            forward.exchanging.eq(self.exchanging),
            forward.refill.eq(self.refill),
            self.updated.eq(backward.updated),
            forward.sums.eq(datapath.sums),
            datapath.signed_features.eq(self.settings.signed_features),
            datapath.l2_shift.eq(self.settings.l2_shift),
            datapath.deltas.eq(self.deltas.payload.delta),
            datapath.host_group.eq(self.load.payload.group),
            datapath.host_weights.eq(self.load.payload.weights),
            events.active.eq(forward.active),
            events.no_queue.eq(forward.no_queue),
            events.no_credit.eq(forward.no_credit),
            events.no_room.eq(~forward.stored.ready),
            events.no_word.eq(~self.words.valid),
            events.starved.eq(~self.deltas.valid & backward.stored.valid),
            events.saturated.eq(datapath.saturated),
            self.events.eq(events.events),
            self.finished.eq(backward.finished),
            self.waiting.eq(forward.active & ~self.words.valid),
        ]

    def add_word_fifo(self, m: Module, stored, again) -> None:
        """Add the FIFO in which words wait between the forward and the backward stage."""
        params, shape = self.params, stored.payload.shape()
        fifo = Fifo.sized(shape=shape, depth=params.fifo_words, style="ultra", mixed=True)
        connect_by(m, "word_fifo", fifo, stored, again)

    def share_partials(self, m: Module, sums, read_back: ReadBack) -> None:
        """Send the sums to the worker, or those of a probe to the host."""
        m.d.comb += [
            self.partials.payload.eq(sums.payload),
            self.partials.valid.eq(sums.valid & ~read_back.busy),
            read_back.sums.payload.eq(sums.payload),
            read_back.sums.valid.eq(sums.valid & read_back.busy),
            sums.ready.eq((self.partials.ready & ~read_back.busy) | read_back.sums.ready),
        ]
