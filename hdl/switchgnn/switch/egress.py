"""All ports on the way out: sums and features that are delivered, and what workers are told."""

from amaranth.hdl import Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.switchgnn.switch.control_frames import ControlFrames
from hdl.switchgnn.switch.egress_port import EgressPort
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import LEVEL_BITS, OPEN_TURNS

#: What happens at a port, a bit for each.
EGRESS_EVENTS = ("sent_results", "sent_raws", "marks", "requests_dropped")


class GnnEgress(Component):
    """An :class:`EgressPort` and its :class:`ControlFrames` for each port, apart from each other.

    Bits of ``claim``, ``deliver``, ``advance`` and ``raw_request_to`` are for the port
    of that number; ``open``, ``urgent`` and the events have one of each port.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        self.latency = EgressPort(params).latency
        super().__init__(
            params,
            {
                "destination": In(48),
                "source": In(48),
                "mark_level": In(LEVEL_BITS),
                "jobs": In(data.ArrayLayout(params.port_job, params.ports)),
                "open": Out(params.ports),
                "urgent": Out(params.ports),
                "claim": In(params.ports),
                "deliver": In(params.ports),
                "delivery": In(params.delivery),
                "acks": In(data.ArrayLayout(params.ack_state, OPEN_TURNS)).array(params.ports),
                "acked": Out(data.ArrayLayout(OPEN_TURNS, params.ports)),
                "advance": In(params.ports),
                "raw_request": In(params.raw_request),
                "raw_request_to": In(params.ports),
                "congested": In(params.ports),
                "axis": Out(params.frames.axis).array(params.ports),
                **{name: Out(params.ports) for name in EGRESS_EVENTS},
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        for k in range(self.params.ports):
            m.submodules[f"port_{k}"] = port = EgressPort(self.params)
            m.submodules[f"control_{k}"] = control = ControlFrames(self.params)
            connect(m, port.axis, flipped(self.axis[k]))
            connect(m, control.o, port.control)
            m.d.comb += [
                port.destination.eq(self.destination),
                port.source.eq(self.source),
                port.port_bit.eq(1 << k),
                port.mark_level.eq(self.mark_level),
                self.open[k].eq(port.open),
                self.urgent[k].eq(port.urgent),
                port.claim.eq(self.claim[k]),
                port.deliver.eq(self.deliver[k]),
                port.delivery.eq(self.delivery),
                control.job.eq(self.jobs[k]),
                control.congested.eq(self.congested[k]),
                *(control.acks[turn].eq(self.acks[k][turn]) for turn in range(OPEN_TURNS)),
                self.acked[k].eq(control.acked),
                control.advance.eq(self.advance[k]),
                control.raw_valid.eq(self.raw_request_to[k]),
                control.raw_request.eq(self.raw_request),
                self.sent_results[k].eq(port.sent_results),
                self.sent_raws[k].eq(port.sent_raws),
                self.marks[k].eq(port.marks),
                self.requests_dropped[k].eq(control.dropped),
            ]
        return m
