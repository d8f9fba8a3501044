"""Serves the host's writes to the model: from an AXI4 write port to the engines' load streams."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import Response
from hdl.common.burst_beats import BurstBeats
from hdl.common.component import Component
from hdl.p4sgd.host.model_address import group_address, model_bus, verdict
from hdl.p4sgd.worker_params import WorkerParams


class ModelWriter(Component):
    """Writes beats of eight weights to ``load[engine]``; a burst's answer is its worst beat's.

    A beat has no effect, and the burst's answer is SLVERR, if ``allow`` is low, a strobe is missing
    or the burst is not of full width and INCR; the answer is DECERR if the engine or the chunk does
    not exist. ``answers`` comes when the engine has taken the burst's last weights.

    Throughput: one beat a cycle if the engines take them, and two cycles more for each burst.
    Latency: ``latency`` from a beat to ``load``. Stalls: a beat waits for the engine.
    """

    latency = 1

    def __init__(self, params: WorkerParams) -> None:
        self.bus = model_bus(params)
        bits = self.bus.data_bits
        self.answer = data.StructLayout({"id": self.bus.id_bits, "response": Response})
        super().__init__(
            params,
            allow=In(1),
            bursts=In(stream.Signature(self.bus.burst)),
            beats=In(stream.Signature(data.StructLayout({"data": bits, "strobes": bits // 8}))),
            answers=Out(stream.Signature(self.answer)),
            load=Out(stream.Signature(params.engine.model.load)).array(params.engines),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.walker = walker = BurstBeats(self.bus)
        beat, where = (
            walker.beats,
            data.View(group_address(self.params), walker.beats.payload.index),
        )
        loading = Signal(self.params.engines)  # weights wait for this engine
        weights = Signal(self.params.engine.model.load, reset_less=True)
        worst = Signal(2)  # the OR of responses 0, 2 and 3 is the worst one
        finished = Signal()
        free = Signal()
        take = Signal()
        answer = Signal(self.answer, reset_less=True)
        identifier = Signal(self.bus.id_bits)
        granted = self.allow & beat.payload.plain & self.beats.payload.strobes.all()
        response = verdict(m, self.params, beat.payload.index, granted)

        connect(m, flipped(self.bursts), walker.bursts)
        m.d.comb += [
            free.eq(~(loading & ~Cat(load.ready for load in self.load)).any()),
            take.eq(beat.valid & self.beats.valid & free & ~finished),
            beat.ready.eq(take),
            self.beats.ready.eq(beat.valid & free & ~finished),
            self.answers.payload.eq(answer),
            self.busy.eq(loading.any()),
        ]
        for engine, load in enumerate(self.load):
            m.d.comb += [load.payload.eq(weights), load.valid.eq(loading[engine])]
        with m.If(free):
            m.d.sync += loading.eq(0)
        with m.If(take):
            m.d.sync += [
                weights.chunk.eq(where.chunk),
                weights.group.eq(where.group),
                weights.weights.eq(self.beats.payload.data),
                worst.eq(worst | response.as_value()),
                identifier.eq(beat.payload.id),
                finished.eq(beat.payload.last),
            ]
            for engine in range(self.params.engines):
                m.d.sync += loading[engine].eq(
                    (response == Response.OKAY) & (where.engine == engine)
                )
        with m.If(self.answers.ready):
            m.d.sync += self.answers.valid.eq(0)
        with m.If(finished & free & (~self.answers.valid | self.answers.ready)):
            m.d.sync += [
                self.answers.valid.eq(1),
                answer.id.eq(identifier),
                answer.response.eq(worst),
                worst.eq(0),
                finished.eq(0),
            ]
