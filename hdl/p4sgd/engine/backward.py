"""Implements the backward stage of an engine: words times deltas, and the control of updates."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.p4sgd.engine.model_memory import update_latency
from hdl.p4sgd.engine.params import EngineParams, take_settings
from hdl.p4sgd.engine.update_lane import UpdateLane
from hdl.p4sgd.engine.word_counter import WordCounter, word_position


def backward_orders(params: EngineParams) -> dict[str, Any]:
    """Describe the stage's control of the data path, in the order in which a chunk passes it."""
    if params.max_tile:
        updates = {
            "fresh": 1,  # take a chunk's weights from memory, not from the lanes
            "decaying": 1,  # as below
            "advance": 1,  # set the lanes' results
            "write": 1,  # the lanes have a result
            "store": 1,  # it is the tile's: send it to memory
        }
    else:
        updates = {
            "read_chunk": params.model.chunk_bits,  # chunk of the updated model to read
            # the next four are given a cycle before the lanes need them
            "keep": 1,  # leave all lanes as they are
            "from_zero": 1,  # take zero in place of the weights
            "decaying": 1,  # subtract the L2 term
            "replace": 1,  # put the host's weights in
            "write": 1,
            "write_both": 1,  # write to the architectural copy of the model, too
            "write_chunk": params.model.chunk_bits,
            **(dict.fromkeys(("read", "read_half", "write_half"), 1) if params.ping_pong else {}),
        }
    return {
        "position": word_position(params),  # position of the word that enters
        "next_word": 1,  # a word enters
        "planes": params.word,  # the word, a cycle later
        "planes_valid": 1,
        "planes_first": 1,
        **updates,
    }


class BackwardStage(Component):
    """Reads a micro-batch's words again when its deltas are there (P4SGD, section 4.1.2).

    ``deltas`` waits at the input while its micro-batch goes through and is taken with the last
    word. Micro-batches start at least ``params.update_loop`` cycles apart, so that a chunk is
    written before it is read again. The control of the lanes (``update_*``, ``write``, ...) follows
    the data through the gradient and update lanes and never stalls.

    ``load`` writes eight weights of the host into both copies of the model between runs: the chunk
    goes through the update lanes, which keep all other weights. With ``ping_pong`` the first
    micro-batch of a mini-batch reads the architectural half and writes to the other one, later
    ones read and write that; then the halves swap roles. ``load`` writes the architectural half.

    ``written`` shows the chunk of each write; ``updated`` is high with the last one of a
    mini-batch. ``finished`` rises with the last write of a run and falls with ``start``.

    Throughput: one word a cycle. Latency: :attr:`latency` cycles from a chunk's last word to its
    write.
    """

    def __init__(self, params: EngineParams) -> None:
        self.gradient_latency = 1 + params.gradient.latency
        self.read_latency = update_latency(params) + params.update_lead
        self.latency = self.gradient_latency + UpdateLane.latency
        super().__init__(
            params,
            settings=In(params.some_settings("bits", "chunks", "from_zero")),
            start=In(1),
            stored=In(stream.Signature(params.word)),
            deltas=In(stream.Signature(params.deltas)),
            load=In(stream.Signature(params.model.load)),
            **{name: Out(shape) for name, shape in backward_orders(params).items()},
            granted=Out(1),
            updated=Out(1),
            finished=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.counter = counter = WordCounter(params)
        position = counter.position
        ends = position.last_plane & position.last_chunk
        spaced = self.space_micro_batches(m, ends)

        m.d.comb += [
            self.next_word.eq(self.deltas.valid & self.stored.valid & spaced),
            self.stored.ready.eq(self.deltas.valid & spaced),
            self.deltas.ready.eq(self.stored.valid & spaced & ends),
            *take_settings(counter, self.settings),
            counter.step.eq(self.next_word),
            self.position.eq(position),
        ]
        planes = Signal(params.word, name="word", reset_less=True)
        m.d.sync += planes.eq(self.stored.payload)
        m.d.comb += [
            self.planes.eq(planes),
            self.planes_valid.eq(delay(m, self.next_word, 1, "planes_valid", reset_less=False)),
            self.planes_first.eq(delay(m, position.first_plane, 1, "planes_first")),
        ]

        chunk = Signal(
            data.StructLayout(
                {
                    "chunk": params.model.chunk_bits,
                    "from_zero": 1,
                    "last": 1,
                    "ends": 1,
                    "final": 1,
                    "load": 1,
                    "half": 1,  # the architectural half
                    "first": 1,
                }
            )
        )
        m.d.comb += [
            chunk.chunk.eq(position.chunk),
            chunk.from_zero.eq(self.deltas.payload.first & self.settings.from_zero),
            chunk.last.eq(self.deltas.payload.last),
            chunk.ends.eq(self.deltas.payload.last & ends),
            chunk.final.eq(self.deltas.payload.final & ends),
            chunk.first.eq(self.deltas.payload.first),
        ]
        if params.ping_pong:
            half = Signal(name="architectural_half")
            m.d.comb += chunk.half.eq(half)
            with m.If(self.next_word & chunk.ends):
                m.d.sync += half.eq(~half)
        self.follow_chunk(m, self.next_word & position.last_plane, chunk)

    def space_micro_batches(self, m: Module, ends) -> Signal:
        """Return whether a word may start.

        Only a micro-batch's first word may have to wait.
        """
        spaced = Signal()
        inside = Signal()
        last = self.params.update_loop - 1
        cycles = Signal(range(last + 1), init=last)
        m.d.comb += spaced.eq(inside | (cycles == last))
        with m.If(self.next_word):
            m.d.sync += inside.eq(~ends)
        with m.If(self.next_word & ~inside):
            m.d.sync += cycles.eq(0)
        with m.Elif((self.next_word | ~inside) & (cycles != last)):
            m.d.sync += cycles.eq(cycles + 1)
        return spaced

    def follow_chunk(self, m: Module, enters, chunk) -> None:
        """Drive the lanes' control stage by stage behind a chunk: read, gradient, step, write."""
        loading = Signal()
        load_begins = self.load.valid & ~loading
        steps_to_read = self.gradient_latency - self.read_latency

        read = Signal.like(chunk)
        from_words = delay(m, enters, steps_to_read, "read_valid", reset_less=False)
        words_chunk = delay(m, chunk, steps_to_read, "read_chunk")
        read_valid = from_words | load_begins
        m.d.comb += [
            read.eq(words_chunk),
            self.read_chunk.eq(read.chunk),
        ]
        with m.If(load_begins):
            m.d.comb += [
                read.chunk.eq(self.load.payload.chunk),
                read.from_zero.eq(0),
                read.last.eq(1),
                read.ends.eq(0),
                read.final.eq(0),
                read.load.eq(1),
                read.half.eq(chunk.half),
                read.first.eq(1),
            ]

        before = delay(m, read, self.read_latency - 1, "before")
        gradient = delay(m, before, 1, "gradient")
        step = delay(m, gradient, 1, "step")
        write = delay(m, step, 1, "write")
        cycles_to_write = self.read_latency + UpdateLane.latency
        valid = delay(m, read_valid, cycles_to_write, "write_valid", reset_less=False)
        m.d.comb += [
            self.keep.eq(before.load),
            self.from_zero.eq(before.from_zero),
            self.decaying.eq(before.last & ~before.load),
            self.replace.eq(gradient.load),
            self.write.eq(valid),
            self.write_both.eq(write.last),
            self.write_chunk.eq(write.chunk),
            self.granted.eq(valid & write.last & ~write.load),
            self.updated.eq(valid & write.ends),
            self.load.ready.eq(valid & write.load),
        ]
        if self.params.ping_pong:
            m.d.comb += [
                self.read.eq(read_valid),
                self.read_half.eq(read.half ^ ~read.first),
                self.write_half.eq(write.half ^ ~write.load),
            ]
        with m.If(self.load.ready):
            m.d.sync += loading.eq(0)
        with m.Elif(load_begins):
            m.d.sync += loading.eq(1)
        with m.If(self.start):
            m.d.sync += self.finished.eq(0)
        with m.Elif(valid & write.final):
            m.d.sync += self.finished.eq(1)
