"""Implements the backward stage of an engine whose model lies in memory."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.p4sgd.engine.backward import backward_orders
from hdl.p4sgd.engine.params import EngineParams, take_settings
from hdl.p4sgd.engine.tile_counter import TileCounter, tile_position
from hdl.p4sgd.engine.update_lane import UpdateLane
from hdl.p4sgd.engine.weight_store import CHUNKS


class TileBackward(Component):
    """Updates the chunks of a tile, each by all its micro-batches in turn (P4SGD, section 7).

    ``words`` brings the tile's words again, ``deltas`` those of its micro-batches in order; they
    are kept until the tile ends. The first word of a chunk waits until its weights have come
    (``came``) and ``results`` have a place for it (``written`` returns one). Micro-batches update a
    chunk at least ``params.update_spacing`` cycles apart.

    Throughput: one word a cycle. Latency: :attr:`latency` cycles from a chunk's last word to its
    write.
    """

    def __init__(self, params: EngineParams) -> None:
        self.gradient_latency = 1 + params.gradient.latency
        self.latency = 1 + self.gradient_latency + UpdateLane.latency
        super().__init__(
            params,
            settings=In(params.tile_settings),
            start=In(1),
            words=In(stream.Signature(params.word)),
            deltas=In(stream.Signature(params.deltas)),
            came=In(1),
            written=In(1),
            **{name: Out(shape) for name, shape in backward_orders(params).items()},
            delta=Out(params.activations),
            starved=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.counter = counter = TileCounter(params)
        position = counter.position
        enters = Signal()
        current, has_delta = self.keep_deltas(m, position, enters)
        begins = position.first_plane & position.first_member
        may = counter.active & has_delta & self.has_room(m, enters & begins, begins)
        for k in range(1, params.update_spacing):
            recent = delay(m, enters & position.last_plane, k, f"recent_{k}")
            may = may & ~(position.last_plane & recent)
        m.d.comb += [
            self.words.ready.eq(may),
            enters.eq(self.words.valid & may),
            self.starved.eq(counter.active & self.words.valid & ~has_delta),
            *take_settings(counter, self.settings),
            counter.start.eq(self.start),
            counter.step.eq(enters),
        ]
        chosen = Signal(params.deltas, reset_less=True)
        entered = Signal(tile_position(params), reset_less=True)
        m.d.sync += [chosen.eq(current), entered.eq(position)]
        m.d.comb += [
            self.delta.eq(chosen.delta),
            self.next_word.eq(delay(m, enters, 1, "next_word", reset_less=False)),
            *(self.position[name].eq(entered[name]) for name in self.position.shape().members),
            self.planes.eq(delay(m, self.words.payload, 2, "planes")),
            self.planes_valid.eq(delay(m, self.next_word, 1, "planes_valid")),
            self.planes_first.eq(delay(m, entered.first_plane, 1, "planes_first")),
        ]
        self.follow_update(m, entered, chosen.last)

    def has_room(self, m: Module, begins, first_word) -> Signal:
        """Return whether a word may start as to the chunk's weights and the place of its result."""
        read = Signal(range(CHUNKS + 3))  # chunks whose weights have come, not yet begun
        room = Signal(range(CHUNKS + 1), init=CHUNKS)
        fits = Signal()
        m.d.sync += [
            read.eq(read + self.came - begins),
            room.eq(room + self.written - begins),
        ]
        m.d.comb += fits.eq(~first_word | (read.any() & room.any()))
        return fits

    def keep_deltas(self, m: Module, position, enters) -> tuple[data.View, Value]:
        """Keep the deltas of two tiles; return those of the next word, and whether they came.

        A tile's deltas leave a cycle after its last word, in the pause before the next tile.
        """
        tile, shape = self.params.max_tile, self.params.deltas
        m.submodules.kept = kept = memory.Memory(shape=shape, depth=2 * tile, init=[])
        write, read = kept.write_port(), kept.read_port(domain="comb")
        bits = ceil_log2(2 * tile)
        base = Signal(bits)  # place of the tile's first deltas
        end = Signal(bits)  # place of the next ones that come
        held = Signal(range(2 * tile + 1))
        came = Signal(tile)  # a bit for each member whose deltas have come
        ended = Signal()
        size = Signal(range(tile + 1), reset_less=True)
        taken = self.deltas.valid & self.deltas.ready
        leaves = Mux(ended, size, 0)
        m.d.comb += [
            self.deltas.ready.eq(held != 2 * tile),
            write.addr.eq(end),
            write.data.eq(self.deltas.payload),
            write.en.eq(taken),
            read.addr.eq((base + position.member)[:bits]),
        ]
        last = position.last_plane & position.last_chunk & position.last_member
        m.d.sync += [
            ended.eq(enters & last),
            size.eq((position.member + 1)[: len(size)]),
            end.eq((end + taken)[:bits]),
            base.eq((base + leaves)[:bits]),
            held.eq((held + taken - leaves)[: len(held)]),
            came.eq(Cat(held > k for k in range(tile))),
        ]
        return read.data, came.bit_select(position.member, 1)

    def follow_update(self, m: Module, entered, last) -> None:
        """Drive the lanes' control behind a micro-batch's last word in a chunk."""
        valid = self.next_word & entered.last_plane
        cycles = self.gradient_latency - self.params.update_lead
        fresh = valid & entered.first_member
        write = valid & entered.last_member
        end = self.gradient_latency + UpdateLane.latency
        m.d.comb += [
            # Behind a reset no chunk is there, and no result is written: these need none.
            self.fresh.eq(delay(m, fresh, cycles, "fresh")),
            self.decaying.eq(delay(m, last, self.gradient_latency - 1, "decaying")),
            self.advance.eq(delay(m, valid, end - 1, "advance")),
            self.write.eq(delay(m, valid, end, "write", reset_less=False)),
            self.store.eq(delay(m, write, end, "store", reset_less=False)),
        ]
