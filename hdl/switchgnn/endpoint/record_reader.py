"""Turns the order of a frame into the fields of its head and the address of its payload."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import BEAT_BYTES
from hdl.common.reserved_fifo import ReservedFifo
from hdl.switchgnn.endpoint.bundles import ORDER, TABLE_BEAT, UNDER_WAY
from hdl.switchgnn.endpoint.memory_layouts import ALIGNMENT, SendRecord
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.protocol import Kind

BASE_BEATS = exact_log2(ALIGNMENT // BEAT_BYTES)  #: bits of a beat's number, 0 in a base


class RecordReader(Component):
    """Reads the record of every order from the list, and turns it into a job, in order.

    Each order reads the beat with its record, so the record of a frame that is sent again is read
    again, and nothing of a list is stored. ``context`` and ``turn`` are those of the turn that is
    being sent; they must be stable until the jobs of all orders have left. A record of another kind
    than FEATURE and PARTIAL raises ``illegal`` for a cycle, and gives no job; a record whose read
    failed gives none either.

    Throughput: a job a cycle, while :data:`UNDER_WAY` orders cover the memory's latency. Latency:
    :attr:`request_latency` from an order to ``request``, :attr:`latency` from the record's beat to
    the job. Stalls: when jobs wait, orders do.
    """

    request_latency = 0
    latency = 2

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            orders=In(stream.Signature(ORDER)),
            context=In(params.context),
            turn=In(32),
            request=Out(stream.Signature(params.beat_address_bits)),
            beat=In(TABLE_BEAT),
            jobs=Out(stream.Signature(params.job)),
            illegal=Out(1),
        )

    def build(self, m: Module) -> None:
        params, order = self.params, self.orders.payload
        m.submodules.waiting = waiting = Fifo.sized(shape=ORDER, depth=UNDER_WAY)
        m.submodules.built = built = ReservedFifo.sized(
            shape=params.job, depth=UNDER_WAY, cancels=True
        )
        oldest = waiting.o.payload
        record = Signal(SendRecord, reset_less=True)
        taken = Signal(ORDER, reset_less=True)
        came = Signal()
        failed = Signal(reset_less=True)
        legal = (record.kind == Kind.FEATURE) | (record.kind == Kind.PARTIAL)
        good = legal & ~failed
        origin = Cat(Const(0, BASE_BEATS), self.context.list)
        job = Signal(params.job)
        connect(m, built.o, flipped(self.jobs))
        m.d.comb += [
            self.request.payload.eq((origin + (order.seq >> 1))[: params.beat_address_bits]),
            # If there is room in ``built``, there is room in ``waiting``.
            self.request.valid.eq(self.orders.valid & built.room),
            self.orders.ready.eq(self.request.ready & built.room),
            built.reserve.eq(self.orders.valid & self.orders.ready),
            waiting.i.valid.eq(built.reserve),
            waiting.i.payload.eq(order),
            waiting.o.ready.eq(self.beat.valid),
            built.push.eq(came & good),
            built.cancel.eq(came & ~good),
            built.payload.eq(job),
            self.illegal.eq(came & ~legal & ~failed),
            *self.filled(job, record, taken),
        ]
        half = SendRecord.as_shape().size
        m.d.sync += [
            came.eq(self.beat.valid),
            failed.eq(self.beat.failed),
            taken.eq(oldest),
            record.eq(Mux(oldest.seq[0], self.beat.data[half:], self.beat.data[:half])),
        ]

    def filled(self, job, record, order) -> list:
        """Return statements that fill a job from a record."""
        params = self.params
        origin = Cat(Const(0, BASE_BEATS), self.context.features)
        offset = Mux(
            record.kind == Kind.FEATURE,
            record.place << exact_log2(params.feature_beats),
            record.place << exact_log2(params.sum_beats),
        )
        names = ("kind", "list", "source", "raw", "rows")
        return [
            *(job[name].eq(record[name]) for name in names),
            job.turn.eq(self.turn),
            job.seq.eq(order.seq),
            job.again.eq(order.again),
            job.beat.eq((origin + offset)[: params.beat_address_bits]),
        ]
