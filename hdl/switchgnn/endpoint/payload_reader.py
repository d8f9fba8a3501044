"""Prefetches the payloads of frames to be sent."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for, exact_log2

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.bundles import PAYLOAD_BEAT, UNDER_WAY
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.protocol import Kind


def is_wide(kind: Value) -> Value:
    """Return whether a frame that leaves has lanes of a sum's width."""
    return kind == Kind.PARTIAL


def is_narrow(kind: Value) -> Value:
    """Return whether a frame that leaves has lanes of a feature's width."""
    return (kind == Kind.FEATURE) | (kind == Kind.RAW)


class PayloadReader(Component):
    """Passes ``jobs`` on as ``heads``, and reads the payloads of those that have one.

    A payload is one burst, because it is aligned to its own size. It is requested when there is
    room for all of it, so the port's beats, ``provided``, are never stalled.

    Throughput: a job a cycle, and a beat a cycle while ``params.prefetch_beats`` and
    :data:`UNDER_WAY` jobs cover the memory's latency. Latency: none from a job to its burst, one
    cycle to its head, :attr:`latency` from ``provided`` to ``payload``. Full: jobs wait.
    """

    def __init__(self, params: EndpointParams) -> None:
        self.buffer = FifoParams(shape=PAYLOAD_BEAT, depth=params.prefetch_beats, style="block")
        self.latency = self.buffer.latency
        super().__init__(
            params,
            jobs=In(stream.Signature(params.job)),
            bursts=Out(stream.Signature(params.payload_port.burst)),
            provided=In(params.payload_port_beat),
            heads=Out(stream.Signature(params.head)),
            payload=Out(stream.Signature(PAYLOAD_BEAT)),
        )

    def build(self, m: Module) -> None:
        params, job, burst = self.params, self.jobs.payload, self.bursts.payload
        m.submodules.heads = heads = Fifo.sized(shape=params.head, depth=UNDER_WAY)
        m.submodules.beats = beats = Fifo(self.buffer)
        connect(m, heads.o, flipped(self.heads))
        connect(m, beats.o, flipped(self.payload))
        room = Signal(bits_for(params.prefetch_beats), init=params.prefetch_beats)
        wide, narrow = is_wide(job.kind), is_narrow(job.kind)
        size = Signal(range(params.sum_beats + 1))
        enough = Signal()
        free = Signal()
        came = beats.i.payload
        returned = Signal()
        m.d.comb += [
            size.eq(Mux(wide, params.sum_beats, Mux(narrow, params.feature_beats, 0))),
            enough.eq(room >= params.sum_beats),
            free.eq(heads.i.ready & enough),
            *(heads.i.payload[name].eq(job[name]) for name in params.head.members),
            heads.i.valid.eq(self.jobs.valid & enough & (self.bursts.ready | ~size.any())),
            self.bursts.valid.eq(self.jobs.valid & free & size.any()),
            self.jobs.ready.eq(free & (self.bursts.ready | ~size.any())),
            burst.address.eq(job.beat << exact_log2(BEAT_BYTES)),
            burst.length.eq(Mux(wide, params.sum_beats - 1, params.feature_beats - 1)),
            came.failed.eq(self.provided.failed),
            came.data.eq(self.provided.data),
            beats.i.valid.eq(self.provided.valid),
        ]
        requested = Mux(self.bursts.valid & self.bursts.ready, size, 0)
        m.d.sync += [
            returned.eq(self.payload.valid & self.payload.ready),
            room.eq((room + returned - requested)[: len(room)]),
        ]
