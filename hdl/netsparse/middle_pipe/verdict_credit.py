"""Returns surplus room of a packet when its verdict is known."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.netsparse.middle_pipe.cost import READ_COST, cost_of
from hdl.netsparse.middle_pipe.output_queues import OutputQueuesParams


class VerdictCredit(Component):
    """Returns the room claimed for a packet, less the most that its PRs can need.

    ``events`` are those of a deconcatenator. All of the room of a dropped packet is returned.
    ``give`` follows :attr:`latency` cycles later.
    """

    latency = 2

    def __init__(self, params: OutputQueuesParams) -> None:
        self.room = params.switch.output_room(params.payload)
        super().__init__(
            params,
            events=In(params.switch.deconcatenator(params.payload).events),
            give=Out(self.room.give),
        )

    def build(self, m: Module) -> None:
        events, switch = self.events, self.params.switch
        cost = READ_COST
        if self.params.payload:
            cost = Mux(events.error, READ_COST, cost_of(events.length, switch.cost_bits))
        judged = Signal()
        port = Signal(self.room.port_bits, reset_less=True)
        beats = Signal.like(self.give.beats, reset_less=True)  # most beats that the PRs can need
        m.d.sync += [
            judged.eq(events.packet | events.drops.any()),
            port.eq(self.params.queue_of(data.View(switch.tag, events.tag).egress)),
            beats.eq(Mux(events.packet, low_bits(events.prs * cost, len(beats)), 0)),
            self.give.port.eq(port),
            self.give.beats.eq(Mux(judged, low_bits(self.room.packet - beats, len(beats)), 0)),
        ]
