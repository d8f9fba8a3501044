"""Adds priority flow control to the MAC: both classes' way out, and the pauses each way."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.netsparse.kind_split import KINDS
from hdl.netsparse.protocol import PRIORITIES
from hdl.u280.class_turns import ClassTurns
from hdl.u280.flow_control import BUS, FlowControlParams
from hdl.u280.mac_signals import CLASSES, PAUSE_EVENTS
from hdl.u280.pause_request import PauseRequest


class Pauses(Component):
    """Sends packets of each class ``i[k]`` to ``mac`` in turn, none of a class that is paused.

    The far end pauses by ``stat_rx_pause_req``, answered by ``ctl_rx_pause_ack``
    (:class:`ClassTurns`); we pause it by ``ctl_tx_pause_req`` where ``used[k]``, the words in the
    class's buffer, say so (:class:`PauseRequest`). In these buses, the MAC's, class k is bit
    ``PRIORITIES[k]``; bit 8, global pause, is not used. ``events`` are PAUSE_EVENTS.

    **No class can stop the other for ever.** They share a wire, by whole packets, which are inside
    when they begin, and nothing else. Responses and errors are taken from the network whatever
    becomes of reads: a client has asked for each only with room for it. So their pauses end, the
    server that waits with a response goes on, and takes the next read. Reads may wait for that.
    A pause that the far end does not refresh ends by the MAC's timer, at most 65,535 quanta
    (336 us) after it came; what waits for one that is refreshed for ever is bounded above, by
    the ``watchdog`` of the request, and ``paused`` counts on.

    Throughput, latency: those of :class:`ClassTurns`.
    """

    latency = ClassTurns.latency

    def __init__(self, params: FlowControlParams) -> None:
        requests = [PauseRequest(params) for _ in range(KINDS)]
        super().__init__(
            params,
            {
                "i": In(AXIS).array(KINDS),
                "mac": Out(AXIS),
                "used": In(requests[0].used.shape()).array(KINDS),
                "ctl_tx_pause_req": Out(BUS),
                "stat_rx_pause_req": In(BUS),
                "ctl_rx_pause_ack": Out(BUS),
                "events": Out(len(PAUSE_EVENTS)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.turns = turns = ClassTurns()
        connect(m, turns.mac, flipped(self.mac))
        events = []
        for k, (name, priority) in enumerate(zip(CLASSES, PRIORITIES, strict=True)):
            connect(m, flipped(self.i[k]), turns.i[k])
            m.submodules[f"request_{name}"] = request = PauseRequest(self.params)
            paused = Signal(name=f"{name}_paused")
            m.d.sync += paused.eq(turns.pause[k])
            m.d.comb += [
                request.used.eq(self.used[k]),
                self.ctl_tx_pause_req[priority].eq(request.request),
                turns.pause[k].eq(self.stat_rx_pause_req[priority]),
                self.ctl_rx_pause_ack[priority].eq(turns.ack[k]),
            ]
            events += [paused, request.begins]
        m.d.comb += self.events.eq(Cat(events))
        return m
