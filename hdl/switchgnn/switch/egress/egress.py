"""Sends frames at all ports: sums and features that are delivered, and control frames."""

from amaranth.hdl import Cat, Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.switchgnn.switch.egress.control_frames import ControlFrames
from hdl.switchgnn.switch.egress.ecn_echo import EcnEcho
from hdl.switchgnn.switch.egress.egress_port import EgressPort
from hdl.switchgnn.switch.links.partial_sender import PartialSender
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import ABOVE_BITS, LEVEL_BITS, OPEN_TURNS

#: Names the events of a port, a bit for each.
EGRESS_EVENTS = ("sent_results", "sent_raws", "marks", "requests_dropped")
#: Names the additional events of a port that leads to another switch.
LINK_EVENTS = ("sent_partials", "partials_again", "acks_unknown")


class GnnEgress(Component):
    """Holds an :class:`EgressPort` and its :class:`ControlFrames` for each port.

    The last ``params.links`` ports lead to other switches: their sums pass through a
    :class:`PartialSender`, to which ``two``, ``clear`` and ``link_ack`` belong, and frames have the
    bit of ``far_port``. The last ``above`` ports lead to switches above; ``mark_to`` says at which
    ports the next ACK has the mark that an ACK of another switch had.

    ``congested`` says at which ports frames wait on the way in; an :class:`EcnEcho` marks ACKs.
    ``claim``, ``deliver``, ``advance``, ``raw_request_to``, ``open``, ``urgent`` and the events
    have a bit for each port.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        self.latency = EgressPort(params).latency
        super().__init__(
            params,
            destination=In(48),
            source=In(48),
            mark_level=In(LEVEL_BITS),
            jobs=In(data.ArrayLayout(params.port_job, params.ports)),
            open=Out(params.ports),
            urgent=Out(params.ports),
            claim=In(params.ports),
            deliver=In(params.ports),
            delivery=In(params.delivery),
            acks=In(data.ArrayLayout(params.ack_state, OPEN_TURNS)).array(params.ports),
            acked=Out(data.ArrayLayout(OPEN_TURNS, params.ports)),
            advance=In(params.ports),
            raw_request=In(params.raw_request),
            raw_request_to=In(params.ports),
            congested=In(params.ports),
            axis=Out(params.frames.axis).array(params.ports),
            **{name: Out(params.ports) for name in EGRESS_EVENTS},
            **(link_signals(params) if params.links else {}),
        )

    def build(self, m: Module) -> None:
        m.submodules.ecn = echo = EcnEcho(self.params)
        m.d.comb += [echo.jobs.eq(self.jobs), echo.entering.eq(self.congested)]
        if self.params.links:
            acked = Cat(taken.any() for taken in self.acked)
            m.d.comb += [echo.mark_to.eq(self.mark_to), echo.acked.eq(acked)]
        for k in range(self.params.ports):
            m.submodules[f"port_{k}"] = port = EgressPort(self.params)
            m.submodules[f"control_{k}"] = control = ControlFrames(self.params)
            connect(m, port.axis, flipped(self.axis[k]))
            connect(m, control.o, port.control)
            if self.params.links:
                self.connect_link(m, k, control, port)
            if k < self.params.first_link:
                m.d.comb += [
                    port.port_bit.eq(1 << k),
                    self.open[k].eq(port.open),
                    self.urgent[k].eq(port.urgent),
                    port.claim.eq(self.claim[k]),
                    port.deliver.eq(self.deliver[k]),
                    port.delivery.eq(self.delivery),
                ]
            m.d.comb += [
                port.destination.eq(self.destination),
                port.source.eq(self.source),
                port.mark_level.eq(self.mark_level),
                control.job.eq(self.jobs[k]),
                echo.leaving[k].eq(port.congested),
                control.congested.eq(echo.echo[k]),
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

    def connect_link(self, m: Module, k: int, control: ControlFrames, port: EgressPort) -> None:
        """Add the :class:`PartialSender` of port ``k``, if the port leads to another switch."""
        m.d.comb += control.above.eq(self.params.above_mask(self.above)[k])
        if k < self.params.first_link:
            return
        m.submodules[f"sender_{k}"] = sender = PartialSender(self.params)
        m.d.comb += [
            port.port_bit.eq(1 << self.far_port),
            sender.active.eq(self.jobs[k].active),
            *(sender.turns[place].eq(self.acks[k][place].turn) for place in range(OPEN_TURNS)),
            sender.two.eq(self.two[k]),
            sender.clear.eq(self.clear[k]),
            sender.timeout.eq(self.link_timeout),
            self.open[k].eq(sender.open),
            self.urgent[k].eq(sender.urgent),
            sender.claim.eq(self.claim[k]),
            sender.deliver.eq(self.deliver[k]),
            sender.delivery.eq(self.delivery),
            sender.port_open.eq(port.open),
            port.claim.eq(sender.port_claim),
            port.deliver.eq(sender.port_deliver),
            port.delivery.eq(sender.port_delivery),
            sender.ack_valid.eq(self.link_ack_to[k]),
            sender.ack.eq(self.link_ack),
            self.sent_partials[k].eq(port.sent_partials),
            self.partials_again[k].eq(sender.again),
            self.acks_unknown[k].eq(sender.nonsense),
        ]


def link_signals(params: GnnSwitchParams) -> dict:
    """List the additional ports for links to other switches."""
    return {
        "above": In(ABOVE_BITS),
        "far_port": In(5),
        "link_timeout": In(32),
        "two": In(params.ports),
        "clear": In(data.ArrayLayout(OPEN_TURNS, params.ports)),
        "link_ack": In(params.link_ack),
        "link_ack_to": In(params.ports),
        "mark_to": In(params.ports),
        **{name: Out(params.ports) for name in LINK_EVENTS},
    }
