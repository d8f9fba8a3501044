"""An engine: banks, word FIFO, gradient accumulation, model update and model memory."""

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.p4sgd.backward import BackwardStage
from hdl.p4sgd.bank import Bank
from hdl.p4sgd.engine_events import EngineEvents
from hdl.p4sgd.forward import ForwardStage
from hdl.p4sgd.gradient_lane import GradientLane
from hdl.p4sgd.model_memory import ModelMemory
from hdl.p4sgd.params import GROUP_LANES, EngineParams
from hdl.p4sgd.read_back import ReadBack
from hdl.p4sgd.update_lane import UpdateLane


class Engine(Component):
    """Trains ``chunks`` x ``lanes`` features on ``banks`` samples at a time: P4SGD, 4.1.2.

    ``words`` brings a bit plane of a chunk of all samples of a micro-batch: planes most
    significant first, then chunks, then micro-batches. After a micro-batch's last word
    ``partials`` offers the exact partial activations, in units of the last plane. ``deltas``
    brings the micro-batch's deltas back; the words, kept in the word FIFO, are multiplied with
    them and update the model, saturating. A run begins with ``start``, goes through the
    micro-batches that ``config`` describes, and ends with ``finished``.

    ``load``, ``peek`` and ``peeked`` give the host access to the weights between runs.
    ``waiting`` is high while the forward stage lacks a word.

    Throughput: one word a cycle in each direction; a micro-batch takes ``chunks x bits`` cycles,
    at least six. Words of a micro-batch must fit
    the word FIFO: ``chunks x bits <= fifo_words``, or the run stalls for ever.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            {
                "config": In(params.config),
                "start": In(1),
                "words": In(stream.Signature(params.word)),
                "partials": Out(stream.Signature(params.partials)),
                "deltas": In(stream.Signature(params.deltas)),
                "load": In(stream.Signature(params.load)),
                "peek": In(stream.Signature(params.address)),
                "peeked": Out(stream.Signature(params.group)),
                "finished": Out(1),
                "waiting": Out(1),
                "events": Out(params.events),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.forward = forward = ForwardStage(self.params)
        m.submodules.backward = backward = BackwardStage(self.params)
        m.submodules.memory = memory = ModelMemory(self.params)
        m.submodules.read_back = read_back = ReadBack(self.params)
        for stage in (forward, backward):
            m.d.comb += [stage.config.eq(self.config), stage.start.eq(self.start)]
        connect(m, flipped(self.words), forward.words)
        connect(m, flipped(self.deltas), backward.deltas)
        connect(m, flipped(self.load), backward.load)
        connect(m, flipped(self.peek), read_back.peek)
        connect(m, read_back.probe, forward.probe)
        connect(m, read_back.peeked, flipped(self.peeked))
        m.d.comb += [
            forward.granted.eq(backward.granted),
            memory.forward_chunk.eq(forward.chunk),
            memory.update_chunk.eq(backward.read_chunk),
            memory.write.eq(backward.write),
            memory.both.eq(backward.write_both),
            memory.write_chunk.eq(backward.write_chunk),
            self.finished.eq(backward.finished),
            self.waiting.eq(forward.active & ~self.words.valid),
        ]
        self.add_word_fifo(m, forward.stored, backward.stored)
        self.share_partials(m, forward.partials, read_back)
        scaled = self.add_banks(m, forward, backward, memory)
        saturated = self.add_lanes(m, backward, memory, scaled)
        m.submodules.engine_events = events = EngineEvents(self.params)
        m.d.comb += [
            events.active.eq(forward.active),
            events.no_queue.eq(forward.no_queue),
            events.no_credit.eq(forward.no_credit),
            events.no_room.eq(~forward.stored.ready),
            events.no_word.eq(~self.words.valid),
            events.starved.eq(~self.deltas.valid & backward.stored.valid),
            events.saturated.eq(backward.write & saturated.any()),
            self.events.eq(events.events),
        ]
        return m

    def add_word_fifo(self, m: Module, stored, again) -> None:
        """Words wait between the forward and the backward stage."""
        params = self.params
        m.submodules.word_fifo = fifo = Fifo(
            FifoParams(width=params.word_bits, depth=params.fifo_words, style="ultra")
        )
        m.d.comb += [
            fifo.i.payload.eq(stored.payload.as_value()),
            fifo.i.valid.eq(stored.valid),
            stored.ready.eq(fifo.i.ready),
            again.payload.as_value().eq(fifo.o.payload),
            again.valid.eq(fifo.o.valid),
            fifo.o.ready.eq(again.ready),
        ]

    def share_partials(self, m: Module, sums, read_back: ReadBack) -> None:
        """Sums go to the worker, those of a probe to the host."""
        m.d.comb += [
            self.partials.payload.eq(sums.payload),
            self.partials.valid.eq(sums.valid & ~read_back.busy),
            read_back.sums.payload.eq(sums.payload),
            read_back.sums.valid.eq(sums.valid & read_back.busy),
            sums.ready.eq((self.partials.ready & ~read_back.busy) | read_back.sums.ready),
        ]

    def add_banks(self, m: Module, forward, backward, memory) -> list:
        """A bank per sample; returns their scaled deltas."""
        scaled = []
        for k in range(self.params.banks):
            m.submodules[f"bank_{k}"] = bank = Bank(self.params)
            m.d.comb += [
                bank.signed_features.eq(self.config.signed_features),
                bank.valid.eq(forward.valid),
                bank.tag.eq(forward.tag),
                bank.plane.eq(forward.planes[k]),
                bank.weights.eq(memory.architectural),
                forward.sums[k].eq(bank.partial),
                bank.delta.eq(self.deltas.payload.delta[k]),
                bank.next_plane.eq(backward.next_word),
                bank.first_plane.eq(backward.position.first_plane),
                bank.second_plane.eq(backward.position.second_plane),
            ]
            scaled.append(bank.scaled)
        return scaled

    def add_lanes(self, m: Module, backward, memory, scaled: list) -> Value:
        """Gradient and update of each lane; returns which of them saturated."""
        load = self.load.payload
        saturated = []
        for lane in range(self.params.lanes):
            m.submodules[f"gradient_{lane}"] = gradient = GradientLane(self.params)
            m.submodules[f"update_{lane}"] = update = UpdateLane(self.params)
            group, place = divmod(lane, GROUP_LANES)
            m.d.comb += [
                gradient.valid.eq(backward.planes_valid),
                gradient.first.eq(backward.planes_first),
                gradient.planes.eq(Cat(plane[lane] for plane in backward.planes)),
                gradient.scaled.as_value().eq(Cat(*scaled)),
                update.l2_shift.eq(self.config.l2_shift),
                update.decaying.eq(backward.decaying),
                update.keep.eq(backward.keep),
                update.weight.eq(memory.updated[lane]),
                update.gradient.eq(gradient.gradient),
                update.replace.eq(backward.replace & (load.group == group)),
                update.host_weight.eq(load.weights[place]),
                memory.result[lane].eq(update.result),
            ]
            saturated.append(update.saturated)
        return Cat(*saturated)
