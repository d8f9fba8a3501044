"""Judges what comes in from the MAC by its header."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import data_register
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.p4sgd.network.frame import FRAMES
from hdl.p4sgd.transport.params import NETWORK_SETTINGS, TransportParams, Verdict
from hdl.switch.frame_filter import FrameFilter, Quality


class Arrivals(Component):
    """Takes every beat of ``s_axis`` and says what its packet is (P4SGD, algorithm 3, line 18).

    ``valid`` is high for a cycle per packet. Of a packet of this job, for this worker and in its
    range of slots, ``arrival.verdict`` is ``NONE``; any other has its verdict, and is to be
    counted and dropped. Nothing is taken for ours unless a job is ``open``.

    Throughput: a packet a cycle; never stalls. Latency: :attr:`latency`.
    """

    latency = FrameFilter.latency + 1

    def __init__(self, params: TransportParams) -> None:
        super().__init__(
            params,
            {
                "s_axis": In(AXIS),
                "settings": In(NETWORK_SETTINGS),
                "open": In(1),
                "valid": Out(1),
                "arrival": Out(params.arrival),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.frame_filter = frame_filter = FrameFilter(FRAMES)
        connect(m, flipped(self.s_axis), frame_filter.axis)
        m.d.comb += frame_filter.address.eq(self.settings.group_address)
        frame, quality, settings = frame_filter.frame, frame_filter.quality, self.settings

        own = Signal(32)
        slot = frame.seq - settings.slot_base
        end = Signal(18, reset_less=True)  # the slot at the switch behind the job's last one
        m.d.sync += end.eq(settings.slot_base + settings.slot_count)
        m.d.comb += own.bit_select(settings.worker, 1).eq(1)
        malformed = (
            (quality == Quality.MALFORMED)
            | (~frame.is_agg & ~frame.acked)
            | ((~frame.is_agg | frame.acked) & (frame.saturated != 0))
        )
        checks = (
            (Verdict.CORRUPT, quality == Quality.CORRUPT),
            (Verdict.FOREIGN, quality == Quality.FOREIGN),
            (Verdict.MALFORMED, malformed),
            (Verdict.WRONG_JOB, ~self.open | (frame.job != settings.job)),
            (Verdict.WRONG_WORKER, (frame.bm != own) & (frame.bm != settings.workers)),
            (Verdict.WRONG_RUN, frame.epoch != settings.epoch),
            (Verdict.WRONG_SLOT, (frame.seq < settings.slot_base) | (frame.seq >= end)),
        )
        verdict = Signal(Verdict)
        for kind, applies in reversed(checks):
            with m.If(applies):
                m.d.comb += verdict.eq(kind)
        # The checks in order, the first that applies: written from the last to the first.
        arrival = data_register(m, self.arrival)
        m.d.sync += [
            self.valid.eq(frame_filter.valid),
            arrival.verdict.eq(verdict),
            arrival.slot.eq(slot[: self.params.slot_bits]),
            arrival.is_agg.eq(frame.is_agg),
            arrival.acked.eq(frame.acked),
            arrival.use.eq(frame.use),
            arrival.saturated.eq(frame.saturated[: self.params.lanes]),
        ]
        m.d.sync += [arrival.activations[k].eq(frame.payload[k]) for k in range(self.params.lanes)]
        return m
