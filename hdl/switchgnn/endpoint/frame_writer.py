"""Assembles frames from the head that a job describes, and its payload."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.switchgnn.endpoint.bundles import BEAT_BITS, LEAVING, PAYLOAD_BEAT
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.payload_reader import is_narrow, is_wide
from hdl.switchgnn.protocol import CONTROL_BYTES, FEATURE_BITS, SUM_BITS, Head

#: Describes the fields that are the same in all frames of a job.
SIGNATURE = data.StructLayout(
    {"address": 48, "switch_address": 48, "worker": 32, "job": 16, "epoch": 16}
)

WHOLE = (1 << BEAT_BYTES) - 1  #: ``tkeep`` of a whole beat
CONTROL = (1 << CONTROL_BYTES) - 1  #: ``tkeep`` of a control frame


class FrameWriter(Component):
    """Sends a frame for every head, with its payload, in order.

    A frame begins when ``may_begin`` is high and the first beat of its payload is there; the next
    beats follow as memory delivers them. Bits after the last lane are sent as zeros. If a beat of
    the payload ``failed``, the frame ends with ``tuser``, so that no receiver takes it. While
    ``stop`` is high no frame begins; ``inside`` is high until a frame that has begun has left.

    ``leaving`` reports a frame when its last beat enters ``axis``, and ``beat`` pulses for every
    beat.

    Throughput: a beat a cycle, without a pause between frames. Latency: :attr:`latency` from a head
    and its payload to ``axis``. Stalls: holds.
    """

    latency = 1

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            signature_of_job=In(SIGNATURE),
            heads=In(stream.Signature(params.head)),
            payload=In(stream.Signature(PAYLOAD_BEAT)),
            axis=Out(AXIS),
            may_begin=In(1),
            stop=In(1),
            inside=Out(1),
            leaving=Out(LEAVING),
            beat=Out(1),
            waits=Out(1),
        )

    def build(self, m: Module) -> None:
        params, axis, job = self.params, self.axis, self.heads.payload
        left = Signal(range(params.sum_beats + 1))  # beats left of the payload that is leaving
        failed = Signal(reset_less=True)  # one of its beats failed
        held = Signal(LEAVING, reset_less=True)
        wide = Signal(reset_less=True)
        size = Signal.like(left)
        free = Signal()
        begins = Signal()
        continues = Signal()
        beat = Signal(BEAT_BITS, reset_less=True)
        m.d.comb += [
            size.eq(
                Mux(
                    is_wide(job.kind),
                    params.sum_beats,
                    Mux(is_narrow(job.kind), params.feature_beats, 0),
                )
            ),
            free.eq(~axis.tvalid | axis.tready),
            begins.eq(
                free
                & ~left.any()
                & self.heads.valid
                & (self.payload.valid | ~size.any())
                & self.may_begin
                & ~self.stop
            ),
            continues.eq(free & left.any() & self.payload.valid),
            self.waits.eq(self.heads.valid & ~left.any() & ~self.payload.valid & size.any()),
            self.heads.ready.eq(begins),
            self.payload.ready.eq(continues),
            self.inside.eq(left.any() | axis.tvalid),
            self.beat.eq(begins | continues),
            self.leaving.valid.eq((begins & ~size.any()) | (continues & (left == 1))),
            self.leaving.kind.eq(Mux(begins, job.kind, held.kind)),
            self.leaving.again.eq(Mux(begins, job.again, held.again)),
            axis.tdata.eq(beat),
        ]
        with m.If(free):
            m.d.sync += [
                axis.tvalid.eq(begins | continues),
                axis.tlast.eq(self.leaving.valid),
                axis.tkeep.eq(Mux(begins & ~size.any(), CONTROL, WHOLE)),
                axis.tuser.eq(continues & (left == 1) & (failed | self.payload.payload.failed)),
            ]
        with m.If(begins):
            m.d.sync += [
                beat.eq(self.head(m, job)),
                left.eq(size),
                failed.eq(0),
                wide.eq(is_wide(job.kind)),
                held.kind.eq(job.kind),
                held.again.eq(job.again),
            ]
        with m.If(continues):
            lanes = self.payload.payload.data
            narrow = lanes[: params.lanes * FEATURE_BITS]
            m.d.sync += [
                beat.eq(Mux(wide, lanes[: params.lanes * SUM_BITS], narrow)),
                left.eq(left - 1),
                failed.eq(failed | self.payload.payload.failed),
            ]

    def head(self, m: Module, job) -> Signal:
        """Return the head of the frame that a job describes."""
        head: Any = Signal(Head)
        provided = self.signature_of_job
        target = head.about.target
        m.d.comb += [
            head.as_value().eq(0),
            *self.params.frames.fill(head, provided.switch_address, provided.address),
            head.kind.eq(job.kind),
            head.bm.eq(provided.worker),
            *(head[name].eq(provided[name]) for name in ("job", "epoch")),
            *(head[name].eq(job[name]) for name in ("turn", "seq")),
            *(target[name].eq(job[name]) for name in ("list", "source", "raw", "rows")),
        ]
        return head.as_value()
