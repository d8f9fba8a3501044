"""Sends the worker's frames: those of lists, answers and requests, within window and rate."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.common.stream_arbiter import StreamArbiter
from hdl.common.streams import forward
from hdl.switchgnn.endpoint.bundles import ACKNOWLEDGEMENT, LEAVING, TABLE_BEAT
from hdl.switchgnn.endpoint.frame_writer import SIGNATURE, FrameWriter
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.payload_reader import PayloadReader, is_wide
from hdl.switchgnn.endpoint.record_reader import RecordReader
from hdl.switchgnn.endpoint.send_window import SendWindow
from hdl.switchgnn.endpoint.token_bucket import TokenBucket
from hdl.switchgnn.protocol import Kind

OTHERS = 3  #: other sources of jobs: FETCH, DONE, and the lookup of sources

#: Describes the events of a cycle, and what stalled frames in it.
SENDER_EVENTS = data.StructLayout(
    {
        "leaving": LEAVING,
        "halved": 1,
        "nonsense": 1,  # an ACK came that no switch sends
        "full": 1,  # the window stalls the next frame
        "late_payload": 1,  # a payload that has not come stalls it
        "late_list": 1,  # frames are ordered, and none is there
        "slow": 1,  # the rate limit stalls it
        "link": 1,  # the link stalls it
    }
)


class Sender(Component):
    """Sends the frames of ``turn``, from ``begin`` until all have left or ``end``, and ``others``.

    ``context`` is that of ``turn``; both are stored at ``begin``. ``sending`` is the turn that was
    begun last, and ``free`` says that all of it has left and is acknowledged, or abandoned.
    ``others`` are arbitrated with the frames of the list in front of the payloads' queue, so they
    wait behind prefetched frames. ``stop`` does not cut a frame: ``inside`` says that one is
    leaving. ``illegal``: a record of the list is not legal.

    Throughput: a frame in as many cycles as it has beats, once the first payload has come, as long
    as the window covers the reads of a record and of a payload, and the round trip to the switch,
    and :data:`hdl.switchgnn.endpoint.bundles.UNDER_WAY` frames cover each of the reads. Stalls:
    holds; see :data:`SENDER_EVENTS` for the causes.
    """

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            settings=In(params.settings),
            begin=In(1),
            turn=In(32),
            context=In(params.context),
            end=In(1),
            sending=Out(32),
            free=Out(1),
            ack=In(ACKNOWLEDGEMENT),
            congested=In(1),
            request=Out(stream.Signature(params.beat_address_bits)),
            beat=In(TABLE_BEAT),
            others=In(stream.Signature(params.job)).array(OTHERS),
            bursts=Out(stream.Signature(params.payload_port.burst)),
            provided=In(params.payload_port_beat),
            axis=Out(AXIS),
            stop=In(1),
            inside=Out(1),
            illegal=Out(1),
            rate=Out(17),
            events=Out(SENDER_EVENTS),
        )

    def build(self, m: Module) -> None:
        params, settings = self.params, self.settings
        m.submodules.window = window = SendWindow(params)
        m.submodules.records = records = RecordReader(params)
        m.submodules.jobs = jobs = StreamArbiter.sized(shape=params.job, count=1 + OTHERS)
        m.submodules.payloads = payloads = PayloadReader(params)
        m.submodules.writer = writer = FrameWriter(params)
        m.submodules.bucket = bucket = TokenBucket(params)
        connect(m, window.orders, records.orders)
        connect(m, records.request, flipped(self.request))
        connect(m, payloads.bursts, flipped(self.bursts))
        connect(m, payloads.heads, writer.heads)
        connect(m, payloads.payload, writer.payload)
        connect(m, writer.axis, flipped(self.axis))
        context = Signal(params.context, reset_less=True)
        begins = Signal()  # a turn begins, and its context is there
        ends = Signal()
        m.d.sync += [begins.eq(self.begin), ends.eq(self.end)]
        with m.If(self.begin):
            m.d.sync += [context.eq(self.context), self.sending.eq(self.turn)]
        for give, take in zip((records.jobs, *map(flipped, self.others)), jobs.i, strict=True):
            connect(m, give, take)
        leaving = writer.leaving
        listed = leaving.valid & ((leaving.kind == Kind.FEATURE) | is_wide(leaving.kind))
        m.d.sync += [
            window.left.eq(listed),
            window.left_again.eq(leaving.again),
            # It stays high until another turn begins, so it may be registered.
            self.free.eq(window.idle & (window.acknowledged | ~window.active)),
        ]
        m.d.comb += [
            window.begin.eq(begins),
            window.sends.eq(context.sends),
            window.end.eq(ends),
            window.ack.eq(self.ack),
            window.timeout.eq(settings.send_timeout),
            records.context.eq(context),
            records.turn.eq(self.sending),
            records.beat.eq(self.beat),
            self.illegal.eq(records.illegal),
            *forward(jobs.o, payloads.jobs),
            payloads.jobs.payload.eq(jobs.o.payload.payload),
            payloads.provided.eq(self.provided),
            *(writer.signature_of_job[name].eq(settings[name]) for name in SIGNATURE.members),
            writer.may_begin.eq(bucket.may_begin),
            writer.stop.eq(self.stop),
            self.inside.eq(writer.inside),
            bucket.settings.eq(settings.rate),
            bucket.congested.eq(self.congested),
            bucket.beat.eq(writer.beat),
            self.rate.eq(bucket.rate),
        ]
        ready = writer.heads.valid & ~writer.waits
        m.d.comb += [
            self.events.leaving.eq(leaving),
            self.events.halved.eq(bucket.halved),
            self.events.nonsense.eq(window.nonsense),
            self.events.full.eq(window.full),
            self.events.late_payload.eq(writer.waits),
            self.events.late_list.eq(~window.idle & ~Cat(writer.heads.valid, jobs.o.valid).any()),
            self.events.slow.eq(ready & ~bucket.may_begin),
            self.events.link.eq(self.axis.tvalid & ~self.axis.tready),
        ]
