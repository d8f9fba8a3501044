"""Implements the forward stage of an engine whose model lies in memory."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, signed_array
from hdl.common.component import Component
from hdl.p4sgd.engine.forward import PARTIALS_LATENCY, collect, forward_orders
from hdl.p4sgd.engine.model_memory import ModelMemory
from hdl.p4sgd.engine.params import EngineParams, take_settings
from hdl.p4sgd.engine.tile_counter import TileCounter
from hdl.p4sgd.engine.weight_store import CHUNKS


class TileForward(Component):
    """Passes words to the banks, the micro-batches of a tile in turn in each chunk (section 7).

    ``came`` says that the weights of the next chunk have come, which its first word waits for. The
    sums of a tile's micro-batches leave ``partials`` one after the other in its last chunk. As in
    :class:`hdl.p4sgd.engine.forward.ForwardStage`, nothing stalls behind the start of a word.

    ``waiting`` is high while a word is due and none has come; ``unread`` while the weights have not
    come, and ``no_credit`` if they are those of a mini-batch's first tile, which wait for updates,
    and between tiles. Throughput and latency are those of that stage.
    """

    def __init__(self, params: EngineParams) -> None:
        self.latency = ModelMemory.latency + params.bank.latency + PARTIALS_LATENCY
        super().__init__(
            params,
            settings=In(params.some_settings("signed_features", *params.tile_settings.members)),
            start=In(1),
            words=In(stream.Signature(params.word)),
            came=In(1),
            **{name: Out(shape) for name, shape in forward_orders(params).items()},
            sums=In(signed_array(params.bank.partial_bits, params.banks)),
            partials=Out(stream.Signature(params.partials)),
            active=Out(1),
            unread=Out(1),
            no_credit=Out(1),
            no_queue=Out(1),
            waiting=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.counter = counter = TileCounter(self.params)
        position, tag = counter.position, Signal.like(self.tag)
        starts = Signal()
        read = Signal(range(CHUNKS + 2))  # chunks whose weights have come, not yet begun
        begins = position.first_plane & position.first_member
        ends = starts & position.last_plane
        m.d.comb += [
            self.unread.eq(begins & (read == 0)),
            self.words.ready.eq(counter.active & ~self.unread & ~self.no_queue),
            starts.eq(self.words.valid & self.words.ready),
            *take_settings(counter, self.settings),
            counter.start.eq(self.start),
            counter.step.eq(starts),
            self.active.eq(counter.running),
            self.no_credit.eq(~counter.active | (self.unread & counter.first)),
            self.waiting.eq(counter.active & ~self.words.valid),
            tag.first_plane.eq(position.first_plane),
            tag.negative.eq(position.first_plane & self.settings.signed_features),
            tag.last_plane.eq(position.last_plane),
            tag.first_chunk.eq(position.first_chunk),
            tag.member.eq(position.member),
        ]
        m.d.sync += read.eq(read + self.came - (starts & begins))
        cycles = ModelMemory.latency
        pops = ends & position.last_member
        m.d.comb += [
            # Behind a reset no sum is queued, and no chunk is there: these need none.
            self.valid.eq(delay(m, starts, cycles, "valid")),
            self.pop.eq(delay(m, pops, cycles, "pop")),
            self.tag.eq(delay(m, tag, cycles, "tag")),
            self.planes.eq(delay(m, self.words.payload, cycles, "planes")),
        ]
        collect(m, self, ends & position.last_chunk)
