"""Counts the words of a run whose model lies in memory: planes, micro-batches of a tile, chunks."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.engine.chunk_walk import ChunkWalk
from hdl.p4sgd.engine.params import EngineParams, take_settings
from hdl.p4sgd.engine.word_counter import count, word_position


def tile_position(params: EngineParams) -> data.StructLayout:
    """Describe the position of a word in its tile."""
    member = {"member": params.member_bits, "first_member": 1, "last_member": 1}
    return data.StructLayout({**word_position(params).members, **member})


class TileCounter(Component):
    """Counts the planes of each micro-batch (member) of a tile in each chunk, tile after tile.

    ``position`` describes the next word and ``step`` moves on to the one after. ``first``
    says that its tile is the first of a mini-batch, ``active`` and ``running`` are those of
    :class:`ChunkWalk`.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            settings=In(params.tile_settings),
            start=In(1),
            step=In(1),
            active=Out(1),
            running=Out(1),
            position=Out(tile_position(params)),
            first=Out(1),
        )

    def build(self, m: Module) -> None:
        params, position = self.params, self.position
        m.submodules.walk = walk = ChunkWalk(params)
        bits = self.settings.bits
        _, first_plane, last_plane = count(m, "plane", bits, params.precision_bits, self.step)
        member, first_member, last_member = count(
            m, "member", walk.size, params.member_bits, self.step & last_plane
        )
        second_plane = Signal()
        with m.If(self.step):
            m.d.sync += second_plane.eq(first_plane & ~last_plane)
        m.d.comb += [
            *take_settings(walk, self.settings),
            walk.start.eq(self.start),
            walk.step.eq(self.step & last_plane & last_member),
            self.active.eq(walk.active),
            self.running.eq(walk.running),
            self.first.eq(walk.tile.first),
            position.first_plane.eq(first_plane),
            position.second_plane.eq(second_plane),
            position.last_plane.eq(last_plane),
            position.first_chunk.eq(walk.first_chunk),
            position.last_chunk.eq(walk.last_chunk),
            position.chunk.eq(walk.chunk),
            position.member.eq(member),
            position.first_member.eq(first_member),
            position.last_member.eq(last_member),
        ]
