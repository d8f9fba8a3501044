"""Serves the host's reads of the model: from an AXI4 read port to the engines' peek streams."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import low_bits
from hdl.common.axi import Response
from hdl.common.burst_beats import BurstBeats
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.streams import StreamRegister, cut_ready
from hdl.p4sgd.host.model_address import group_address, model_bus, verdict
from hdl.p4sgd.worker_params import WorkerParams

PENDING_BEATS = 16  #: most beats that are requested and not yet answered


class ModelReader(Component):
    """Reads beats of eight weights: requests are ``peek[engine]``, answers ``peeked[engine]``.

    A beat is answered with zeros, without a request to an engine, if ``allow`` is low or the burst
    is not of full width and INCR (SLVERR), or if the engine or the chunk does not exist (DECERR).
    An engine answers in order, in the cycle in which it takes the request or later; an answer in
    that cycle waits for one cycle.

    Throughput: one beat a cycle while the engines answer within 14 cycles. Latency: ``latency``
    cycles from a burst to its first ``beats``, plus those by which the engine answers later than a
    cycle after the request. Stalls: requests wait for the engine, answers for ``beats``, at most
    PENDING_BEATS of them.
    """

    latency = 4

    def __init__(self, params: WorkerParams) -> None:
        self.bus = model_bus(params)
        self.beat = data.StructLayout(
            {"id": self.bus.id_bits, "data": self.bus.data_bits, "response": Response, "last": 1}
        )
        self.pending = data.StructLayout(
            {
                "id": self.bus.id_bits,
                "engine": range(max(2, params.engines)),
                "response": Response,
                "last": 1,
            }
        )
        super().__init__(
            params,
            allow=In(1),
            bursts=In(stream.Signature(self.bus.burst)),
            beats=Out(stream.Signature(self.beat)),
            peek=Out(stream.Signature(params.engine.model.address)).array(params.engines),
            peeked=In(stream.Signature(params.engine.model.group)).array(params.engines),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.walker = walker = BurstBeats(self.bus)
        m.submodules.pending = pending = Fifo.sized(
            shape=self.pending, depth=PENDING_BEATS - StreamRegister.capacity, style="distributed"
        )
        connect(m, flipped(self.bursts), walker.bursts)
        # This register drives the choice among the engines, which has many loads.
        m.submodules.oldest = oldest = StreamRegister.sized(shape=self.pending)
        connect(m, pending.o, oldest.i)
        requesting = self.issue(m, walker.beats, pending)
        self.answer(m, oldest.o)
        m.d.comb += self.busy.eq(requesting.any() | pending.o.valid | oldest.o.valid)

    def issue(self, m: Module, beat: stream.Interface, pending: Fifo) -> Signal:
        """Enter a beat in ``pending`` and request it from the engine, in this order or at once.

        Returns the engines for which a request waits.
        """
        where = data.View(group_address(self.params), beat.payload.index)
        requesting = Signal(self.params.engines)
        question = Signal(self.params.engine.model.address, reset_less=True)
        note = Signal(self.pending)
        free = Signal()
        response = verdict(m, self.params, beat.payload.index, self.allow & beat.payload.plain)
        m.d.comb += [
            note.id.eq(beat.payload.id),
            note.engine.eq(low_bits(where.engine, len(note.engine))),
            note.response.eq(response),
            note.last.eq(beat.payload.last),
            free.eq(~(requesting & ~Cat(peek.ready for peek in self.peek)).any()),
            pending.i.payload.eq(note),
            pending.i.valid.eq(beat.valid & free),
            beat.ready.eq(pending.i.ready & free),
        ]
        for engine, peek in enumerate(self.peek):
            m.d.comb += [peek.payload.eq(question), peek.valid.eq(requesting[engine])]
            with m.If(free):
                m.d.sync += requesting[engine].eq(
                    beat.valid
                    & pending.i.ready
                    & (response == Response.OKAY)
                    & (where.engine == engine)
                )
        with m.If(free):
            m.d.sync += [question.chunk.eq(where.chunk), question.group.eq(where.group)]
        return requesting

    def answer(self, m: Module, pending: stream.Interface) -> None:
        """Put the oldest beat into ``beats``, with its engine's answer if it was requested.

        A skid buffer cuts the ready of ``beats``, which would pass the choice among the engines.
        """
        beats = stream.Signature(self.beat).create(path=("answered",))
        cut_ready(m, "skid", beats, flipped(self.beats))
        head = pending.payload
        beat = Signal(self.beat, reset_less=True)
        requested = Signal()
        free = Signal()
        go = Signal()
        valid = Array(peeked.valid for peeked in self.peeked)[head.engine]
        weights = Array(peeked.payload.as_value() for peeked in self.peeked)[head.engine]
        m.d.comb += [
            requested.eq(head.response == Response.OKAY),
            free.eq(~beats.valid | beats.ready),
            go.eq(pending.valid & (valid | ~requested)),
            pending.ready.eq(free & (valid | ~requested)),
            beats.payload.eq(beat),
        ]
        for engine, peeked in enumerate(self.peeked):
            m.d.comb += peeked.ready.eq(pending.valid & requested & free & (head.engine == engine))
        with m.If(free):
            m.d.sync += [
                beats.valid.eq(go),
                beat.id.eq(head.id),
                beat.data.eq(Mux(requested, weights, 0)),
                beat.response.eq(head.response),
                beat.last.eq(head.last),
            ]
