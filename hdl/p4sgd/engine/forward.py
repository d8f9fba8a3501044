"""Implements the forward stage of an engine: the start of words, and the banks' results."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay, signed_array
from hdl.common.component import Component
from hdl.common.reserved_fifo import ReservedFifo
from hdl.p4sgd.engine.bank import tag_layout
from hdl.p4sgd.engine.model_memory import ModelMemory
from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.engine.params import SCHEDULE, EngineParams, take_settings
from hdl.p4sgd.engine.read_back import probe_layout
from hdl.p4sgd.engine.schedule import Schedule
from hdl.p4sgd.engine.word_counter import WordCounter

PARTIALS_DEPTH = 16  #: most micro-batches between their last word and the adder of the worker
PARTIALS_LATENCY = 1  #: least cycles that partial activations spend in their queue


def forward_orders(params: EngineParams) -> dict[str, Any]:
    """Describe the stage's control of the data path: the chunk to read, then its planes and tag.

    Chunks of a model in memory come in order, so that there ``pop`` goes on to the next one.
    """
    first = {"pop": 1} if params.max_tile else {"chunk": params.model.chunk_bits}
    half = {"half": 1} if params.ping_pong else {}
    return {**first, **half, "valid": 1, "tag": tag_layout(params), "planes": params.word}


class ForwardStage(Component):
    """Takes words, reads their weights, and passes both to the banks (P4SGD, section 4.1.3).

    A word starts when its chunk is up to date, the word FIFO has room for it and so has the queue
    of partial activations; from there to the queue nothing can stall, so no stall signal crosses
    the data path. The first micro-batch of a mini-batch needs a credit per chunk: ``granted``
    returns one when the last backward pass has updated a chunk; a run starts with all credits, and
    so does a mini-batch after ``refill``. With ``ping_pong``, ``half`` is the half of the model
    memory that is the architectural copy of the mini-batch.

    Each word also leaves through ``stored`` to the word FIFO in the cycle it starts. ``probe``
    reads weights back while no run is active, or while one is ``exchanging`` models: a word with
    one bit set in each bank makes the banks' sums those weights.

    Throughput: one word a cycle. Latency: ``planes`` and ``tag`` come with the weights of the model
    memory, :attr:`ModelMemory.latency` cycles after a word; :attr:`latency` cycles after a
    micro-batch's last word, ``partials`` offers its exact sums.
    """

    def __init__(self, params: EngineParams) -> None:
        self.latency = ModelMemory.latency + params.bank.latency + PARTIALS_LATENCY
        super().__init__(
            params,
            settings=In(
                params.some_settings("signed_features", "bits", "chunks", *SCHEDULE.members)
            ),
            start=In(1),
            words=In(stream.Signature(params.word)),
            stored=Out(stream.Signature(params.word)),
            granted=In(1),
            refill=In(1),
            exchanging=In(1),
            **{name: Out(shape) for name, shape in forward_orders(params).items()},
            sums=In(signed_array(params.bank.partial_bits, params.banks)),
            partials=Out(stream.Signature(params.partials)),
            probe=In(stream.Signature(probe_layout(params))),
            active=Out(1),
            no_credit=Out(1),
            no_queue=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.schedule = schedule = Schedule(params)
        m.submodules.counter = counter = WordCounter(params)
        position = counter.position

        allowed = Signal()
        start_word = Signal()
        idle = ~schedule.active | self.exchanging
        probing = self.probe.valid & self.probe.ready
        m.d.comb += [
            allowed.eq(schedule.active & ~self.no_credit & ~self.no_queue),
            self.words.ready.eq(allowed & self.stored.ready),
            self.stored.valid.eq(allowed & self.words.valid),
            self.stored.payload.eq(self.words.payload),
            start_word.eq(self.words.valid & self.words.ready),
            *take_settings(counter, self.settings),
            counter.step.eq(start_word),
            *take_settings(schedule, self.settings),
            schedule.start.eq(self.start),
            schedule.step.eq(start_word & position.last_plane & position.last_chunk),
            self.active.eq(schedule.active),
            self.probe.ready.eq(idle & ~self.no_queue),
            self.chunk.eq(Mux(idle, self.probe.payload.chunk, position.chunk)),
        ]
        self.count_credits(m, start_word, schedule, position)
        if params.ping_pong:
            with m.If(schedule.step & schedule.current.last):
                m.d.sync += self.half.eq(~self.half)

        tag = Signal(tag_layout(self.params))
        m.d.comb += [
            tag.first_plane.eq(position.first_plane | probing),
            tag.negative.eq(position.first_plane & self.settings.signed_features & ~probing),
            tag.last_plane.eq(position.last_plane | probing),
            tag.first_chunk.eq(position.first_chunk | probing),
        ]
        ends = schedule.step | probing
        valid = delay(m, start_word | probing, ModelMemory.latency, "valid", reset_less=False)
        m.d.comb += [
            self.valid.eq(valid),
            self.tag.eq(delay(m, tag, ModelMemory.latency, "tag")),
            self.planes.eq(self.select_word(m, probing)),
        ]
        collect(m, self, ends)

    def count_credits(self, m: Module, start_word, schedule, position) -> None:
        """Count the chunks that the next mini-batch may read; set ``no_credit`` if it must wait."""
        credits = Signal(range(self.params.chunks + 1))
        exhausted = Signal(init=1)  # no credit is left; a register, as words wait for it
        spent = start_word & schedule.current.first & position.last_plane
        m.d.comb += self.no_credit.eq(schedule.current.first & exhausted)
        with m.If(self.start | self.refill):
            m.d.sync += [credits.eq(self.settings.chunks), exhausted.eq(0)]
        with m.Elif(self.granted ^ spent):
            m.d.sync += credits.eq((credits + Mux(self.granted, 1, -1))[: len(credits)])
            m.d.sync += exhausted.eq(~self.granted & (credits == 1))

    def select_word(self, m: Module, probing: Signal) -> Signal:
        """Return the register of the word a cycle late; a probe sets a bit of each bank instead."""
        word, planes = (
            Signal(self.params.word, name=name, reset_less=True) for name in ("word", "planes_1")
        )
        probed = delay(m, probing, 1, "probed")
        probe = self.probe.payload
        chosen_group, chosen_step = (delay(m, probe[name], 1, name) for name in ("group", "step"))
        m.d.sync += [word.eq(self.words.payload), planes.eq(word)]
        with m.If(probed):
            m.d.sync += planes.eq(0)
            for lane in range(self.params.lanes):
                group, rest = divmod(lane, GROUP_LANES)
                step, bank = divmod(rest, self.params.banks)
                is_set = (chosen_group == group) & (chosen_step == step)
                m.d.sync += planes[bank][lane].eq(is_set)
        return planes


def collect(m: Module, stage: Any, ends: Value) -> None:
    """Queue the banks' sums of a forward ``stage`` after a micro-batch's last word.

    Room was reserved for them.
    """
    params = stage.params
    shape = stage.partials.payload.shape()
    m.submodules.queue = queue = ReservedFifo.sized(shape=shape, depth=PARTIALS_DEPTH)
    connect(m, queue.o, flipped(stage.partials))
    done = delay(m, ends, ModelMemory.latency + params.bank.latency, "done", reset_less=False)
    m.d.comb += [
        stage.no_queue.eq(~queue.room),
        queue.reserve.eq(ends),
        queue.push.eq(done),
        queue.payload.eq(stage.sums),
    ]
