"""Walks over the chunks of a model that lies in memory, tile after tile."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register
from hdl.common.component import Component
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.schedule import MICRO_BATCH, Schedule
from hdl.p4sgd.engine.word_counter import count

PAUSE = 6  #: cycles from a tile's last chunk to the next one's first: the next tile is prepared


class ChunkWalk(Component):
    """Goes through all chunks in each tile of a run; ``step`` moves on to the next chunk.

    A tile is ``2 ** settings.tile`` micro-batches of a mini-batch, which take turns in each chunk;
    an epoch's last tile has the rest, at least one, which is ``size``. The micro-batches of a
    mini-batch must be whole tiles, except in an epoch's last one. ``tile`` has the marks of the
    next chunk's tile, ``chunk`` is the chunk's number. ``odd`` changes after each mini-batch and is
    low at the start of a run.

    ``active`` is high while there is a next chunk: from :data:`PAUSE` cycles after ``start`` on,
    until the run's last chunk was stepped over, but for as many cycles from one tile to the next.
    ``running`` is high in these, too.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            settings=In(params.walk_settings),
            start=In(1),
            step=In(1),
            active=Out(1),
            running=Out(1),
            chunk=Out(params.model.chunk_bits),
            first_chunk=Out(1),
            last_chunk=Out(1),
            tile=Out(MICRO_BATCH),
            odd=Out(1),
            size=Out(range(params.max_tile + 1)),
        )

    def build(self, m: Module) -> None:
        m.submodules.schedule = schedule = Schedule(self.params)
        chunk, first, last = count(
            m, "chunk", self.settings.chunks, self.params.model.chunk_bits, self.step
        )
        rest = self.count_tiles(m, schedule)
        whole = Signal.like(self.size, reset_less=True)
        tile, size = data_register(m, self.tile), data_register(m, self.size)
        ended = Signal()
        paused = Signal(range(PAUSE))  # cycles that the pause still lasts
        m.d.comb += [
            self.running.eq(schedule.active),
            schedule.start.eq(self.start),
            schedule.step.eq(ended),
            self.chunk.eq(chunk),
            self.first_chunk.eq(first),
            self.last_chunk.eq(last),
        ]
        m.d.sync += [
            ended.eq(self.step & last),
            whole.eq((1 << self.settings.tile)[: len(whole)]),
            tile.eq(schedule.current),
            size.eq(Mux(schedule.ends_epoch & rest.any(), rest, whole)),
            self.active.eq(schedule.active & (paused == 0) & ~(self.step & last) & ~ended),
        ]
        with m.If(self.start | ended):
            m.d.sync += paused.eq(PAUSE - 2)
        with m.Elif(paused != 0):
            m.d.sync += paused.eq(paused - 1)
        with m.If(self.start):
            m.d.sync += self.odd.eq(0)
        with m.Elif(ended & tile.last):
            m.d.sync += self.odd.eq(~self.odd)

    def count_tiles(self, m: Module, schedule: Schedule) -> Signal:
        """Let the schedule count tiles; return the micro-batches of a tile that is not whole."""
        settings = self.settings
        rest = Signal.like(self.size, reset_less=True)
        in_batch = Signal.like(settings.batch_micro_batches, reset_less=True)
        before, in_epoch = (
            Signal.like(settings.epoch_micro_batches, name=name, reset_less=True)
            for name in ("whole_tiles", "in_epoch")
        )
        m.d.sync += [
            rest.eq(settings.epoch_micro_batches & ((1 << settings.tile) - 1)[: len(rest)]),
            in_batch.eq(settings.batch_micro_batches >> settings.tile),
            before.eq(settings.epoch_micro_batches >> settings.tile),
            in_epoch.eq((before + rest.any())[: len(in_epoch)]),
        ]
        m.d.comb += [
            schedule.settings.epochs.eq(settings.epochs),
            schedule.settings.batch_micro_batches.eq(in_batch),
            schedule.settings.epoch_micro_batches.eq(in_epoch),
        ]
        return rest
