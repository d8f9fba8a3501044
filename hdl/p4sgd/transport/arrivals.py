"""Checks the headers of packets from the MAC."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import count_ones, data_register
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.p4sgd.network.frame import FRAMES
from hdl.p4sgd.transport.params import NETWORK_SETTINGS, TransportParams, Verdict
from hdl.switch.frame_filter import FrameFilter, Quality


class Arrivals(Component):
    """Checks every packet on ``s_axis`` (P4SGD, section 3.3, algorithm 3, line 18).

    ``valid`` is high for a cycle per packet. For a packet of this job, for this worker and within
    its range of slots, ``arrival.verdict`` is ``NONE``; any other packet has another verdict, and
    must be counted and dropped. While no job is ``open``, no packet is accepted.

    Throughput: a packet a cycle; never stalls. Latency: :attr:`latency`.
    """

    latency = FrameFilter.latency + 1

    def __init__(self, params: TransportParams) -> None:
        super().__init__(
            params,
            s_axis=In(AXIS),
            settings=In(NETWORK_SETTINGS),
            open=In(1),
            valid=Out(1),
            arrival=Out(params.arrival),
        )

    def build(self, m: Module) -> None:
        m.submodules.frame_filter = frame_filter = FrameFilter(FRAMES)
        connect(m, flipped(self.s_axis), frame_filter.axis)
        m.d.comb += frame_filter.address.eq(self.settings.group_address)
        frame, quality, settings = frame_filter.frame, frame_filter.quality, self.settings

        own = Signal(32)
        slot = frame.seq - settings.slot_base
        end = Signal(18, reset_less=True)  # the job's last slot at the switch, plus one
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
        # The first check that applies counts, so they are written from the last to the first.
        arrival = data_register(m, self.arrival)
        clamped = count_ones(list(frame.saturated[: self.params.lanes]))
        m.d.sync += [
            self.valid.eq(frame_filter.valid),
            arrival.verdict.eq(verdict),
            arrival.slot.eq(slot[: self.params.slot_bits]),
            arrival.is_agg.eq(frame.is_agg),
            arrival.acked.eq(frame.acked),
            arrival.use.eq(frame.use),
            arrival.saturations.eq(clamped[: len(arrival.saturations)]),
        ]
        m.d.sync += [arrival.activations[k].eq(frame.payload[k]) for k in range(self.params.lanes)]
