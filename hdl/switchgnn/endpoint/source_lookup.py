"""Looks up the address of a source's feature, or its owner, in the table of sources."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.bundles import LOOKUP, SLOT_BITS, TABLE_BEAT
from hdl.switchgnn.endpoint.memory_layouts import SourceRecord
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.record_reader import BASE_BEATS
from hdl.switchgnn.protocol import Kind

BEAT_RECORDS = 8 * BEAT_BYTES // SourceRecord.as_shape().size


class SourceLookup(Component):
    """Turns every lookup into a job: a RAW that answers, or a RAWFETCH to the owner.

    If another worker requests a source that this worker does not send, ``foreign`` pulses and there
    is no job; a lookup whose read fails gives no job either. ``slot`` selects the turn whose
    ``context`` is used. One lookup is under way at a time, which is enough because only lost frames
    are fetched.

    Throughput: a lookup in the memory's latency plus 4 cycles. Stalls: holds.
    """

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            lookups=In(stream.Signature(LOOKUP)),
            slot=Out(SLOT_BITS),
            context=In(params.context),
            request=Out(stream.Signature(params.beat_address_bits)),
            beat=In(TABLE_BEAT),
            jobs=Out(stream.Signature(params.job)),
            foreign=Out(1),
        )

    def build(self, m: Module) -> None:
        params, job = self.params, self.jobs.payload
        requested = Signal(LOOKUP, reset_less=True)
        address = Signal(params.beat_address_bits, reset_less=True)
        record = Signal(SourceRecord, reset_less=True)
        place = Signal(params.beat_address_bits, reset_less=True)
        records = Array(self.beat.data.word_select(k, 64) for k in range(BEAT_RECORDS))
        sources, features = (
            Cat(Const(0, BASE_BEATS), self.context[name]) for name in ("sources", "features")
        )
        low = exact_log2(BEAT_RECORDS)
        m.d.comb += [
            self.slot.eq(requested.turn[:SLOT_BITS]),
            self.request.payload.eq(address),
            job.as_value().eq(0),
            job.kind.eq(Mux(requested.answer, Kind.RAW, Kind.RAWFETCH)),
            job.raw.eq(Mux(requested.answer, requested.raw, Const(1) << record.port)),
            job.turn.eq(requested.turn),
            job.source.eq(requested.source),
            job.beat.eq(place),
        ]
        offset = record.place << exact_log2(params.feature_beats)
        with m.FSM():
            with m.State("REST"):
                m.d.comb += self.lookups.ready.eq(1)
                m.d.sync += requested.eq(self.lookups.payload)
                with m.If(self.lookups.valid):
                    m.next = "ADDRESS"
            with m.State("ADDRESS"):
                m.d.sync += address.eq((sources + (requested.source >> low))[: len(address)])
                m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += self.request.valid.eq(1)
                with m.If(self.request.ready):
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.sync += record.eq(records[requested.source[:low]])
                with m.If(self.beat.valid & self.beat.failed):
                    m.next = "REST"
                with m.Elif(self.beat.valid):
                    m.next = "PLACE"
            with m.State("PLACE"):
                m.d.sync += place.eq((features + offset)[: len(place)])
                with m.If(requested.answer & ~record.own):
                    m.d.comb += self.foreign.eq(1)
                    m.next = "REST"
                with m.Else():
                    m.next = "GIVE"
            with m.State("GIVE"):
                m.d.comb += self.jobs.valid.eq(1)
                with m.If(self.jobs.ready):
                    m.next = "REST"
