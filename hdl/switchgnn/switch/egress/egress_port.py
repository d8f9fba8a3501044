"""Sends the frames of a port: sums and features, and control frames between them."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo
from hdl.common.stream_arbiter import StreamArbiter
from hdl.switchgnn.protocol import CONTROL_BYTES, Head, Kind, Target
from hdl.switchgnn.switch.egress.egress_room import EgressRoom
from hdl.switchgnn.switch.egress.frame_serializer import FrameSerializer
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import DELIVERY_CYCLES

CONTROL, DATA = range(2)  #: inputs of the arbiter, which chooses the last one after a reset


class EgressPort(Component):
    """Sends each ``delivery`` to a port, and the frames of ``control``, as frames of ``axis``.

    Frames go from ``source`` to ``destination`` and have the port's ``port_bit`` as their bm.
    ``claim`` claims room for the longest frame; it is allowed if ``open`` was high in the cycle
    before, without another claim. :attr:`delay` cycles later comes ``deliver`` with a ``delivery``,
    or nothing, and then the room is free again. ``open`` keeps claims apart by the beats of a
    RESULT. So for every delivery the serializer is idle and the queue has room, and no delivery
    ever stalls.

    The port is ``congested``, and a RESULT or RAW that comes is marked (ecn), if more than
    ``mark_level`` beats waited in the queue a cycle before; 0 switches marking off. ``urgent`` says
    that no RESULT or RAW waits in the queue or is on its way to it, so that the port is idle. It is
    a register, so it is still high in the cycle of a claim.

    Fields of a ``control`` frame that its kind does not use are zero. Data and control frames
    alternate while both wait, so a control frame waits for at most two RESULTs. ``sent_results``,
    ``sent_raws`` and ``marks`` pulse in the cycle after the head of such a frame, or of any frame
    with ecn, has left; so does ``sent_partials`` if there are links to other switches. A PARTIAL is
    never marked.

    Throughput: a beat a cycle. Latency: :attr:`latency` from ``deliver`` to the head at ``axis``, a
    cycle more if a control frame was the last to leave. Stalls: beats wait in the queue; when it
    is full, ``open`` is low.
    """

    delay = DELIVERY_CYCLES  #: with all lanes in one die

    def __init__(self, params: GnnSwitchParams) -> None:
        self.delay = params.delivery_cycles
        self.latency = FrameSerializer.latency + params.egress_fifo.latency + StreamArbiter.latency
        super().__init__(
            params,
            destination=In(48),
            source=In(48),
            port_bit=In(32),
            mark_level=In(16),
            open=Out(1),
            claim=In(1),
            deliver=In(1),
            delivery=In(params.delivery),
            control=In(stream.Signature(params.control_frame)),
            axis=Out(params.frames.axis),
            urgent=Out(1),
            congested=Out(1),
            sent_results=Out(1),
            sent_raws=Out(1),
            marks=Out(1),
            **({"sent_partials": Out(1)} if params.links else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.room = room = EgressRoom(params)
        m.submodules.serializer = serializer = FrameSerializer(params)
        m.submodules.fifo = fifo = Fifo(params.egress_fifo)
        m.submodules.arbiter = arbiter = StreamArbiter.sized(
            shape=params.egress_beat, count=2, last_bit=params.egress_beat["last"].offset
        )
        claims = Signal(self.delay)  # claims of the last cycles, the latest in the lowest bit
        sums, control = arbiter.i[DATA], arbiter.i[CONTROL]
        level = delay(m, fifo.level, 1, "level", reset_less=False)
        connect(m, fifo.o, sums)
        m.d.comb += [
            room.claim.eq(self.claim),
            room.voided.eq(claims[-1] & ~self.deliver),
            room.shorter.eq(self.deliver & self.delivery.raw),
            room.left.eq(sums.valid & sums.ready),
            self.open.eq(room.open),
            serializer.destination.eq(self.destination),
            serializer.source.eq(self.source),
            serializer.bm.eq(self.port_bit),
            self.congested.eq((level > self.mark_level) & self.mark_level.any()),
            serializer.congested.eq(self.congested),
            serializer.deliver.eq(self.deliver),
            serializer.delivery.eq(self.delivery),
            fifo.i.valid.eq(serializer.valid),
            fifo.i.payload.eq(serializer.beat),
            control.payload.eq(Cat(self.control_head(m), Value.cast(1))),
            control.valid.eq(self.control.valid),
            self.control.ready.eq(control.ready),
        ]
        self.drive_axis(m, arbiter)
        waits = serializer.busy | serializer.valid | fifo.level.any()
        m.d.sync += [
            claims.eq(Cat(self.claim, claims[:-1])),
            self.urgent.eq(~(self.claim | claims.any() | waits)),
        ]
        expect(m, self, has_been_claimed=lambda: ~self.deliver | claims[-1])

    def control_head(self, m: Module) -> Value:
        """Return the single beat of the control frame that waits."""
        frame, head, target = self.control.payload, Signal(Head), Signal(Target)
        m.d.comb += [
            target.as_value().eq(0),
            head.as_value().eq(0),
            target.source.eq(frame.source),
            target.raw.eq(frame.raw),
            *self.params.frames.fill(head, self.destination, self.source),
            head.kind.eq(frame.kind),
            head.job.eq(frame.job),
            head.epoch.eq(frame.epoch),
            head.turn.eq(frame.turn),
            head.seq.eq(frame.seq),
            head.ecn.eq(frame.ecn),
            head.bm.eq(self.port_bit),
            head.about.bitmap.eq(frame.bitmap | target.as_value()),  # one of them is zero
        ]
        beat = Signal(self.params.egress_beat["data"].shape)
        m.d.comb += beat.eq(head)
        return beat

    def drive_axis(self, m: Module, arbiter: Any) -> None:
        """Send the arbiter's beats, and report which frames begin to leave."""
        axis, beat = self.axis, self.params.egress_beat(arbiter.o.payload.payload)
        head = data.View(Head, beat.data[: Head.as_shape().size])
        control_keep = (1 << CONTROL_BYTES) - 1
        inside = Signal()  # a frame has begun and not ended
        begins = Signal()
        moves = axis.tvalid & axis.tready
        m.d.comb += [
            axis.tdata.eq(beat.data),
            axis.tkeep.eq(Mux(arbiter.o.payload.index == CONTROL, control_keep, ~0)),
            axis.tlast.eq(beat.last),
            axis.tvalid.eq(arbiter.o.valid),
            arbiter.o.ready.eq(axis.tready),
            begins.eq(moves & ~inside),
        ]
        with m.If(moves):
            m.d.sync += inside.eq(~beat.last)
        m.d.sync += [
            self.sent_results.eq(begins & (head.kind == Kind.RESULT)),
            self.sent_raws.eq(begins & (head.kind == Kind.RAW)),
            self.marks.eq(begins & head.ecn),
        ]
        if self.params.links:
            m.d.sync += self.sent_partials.eq(begins & (head.kind == Kind.PARTIAL))
