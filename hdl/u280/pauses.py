"""Adds priority flow control to the MAC: who may send, and the pauses each way."""

from collections.abc import Mapping
from dataclasses import field

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packets import AXIS, PRIORITY_COUNT
from hdl.common.params import Params, choice
from hdl.netsparse.protocol import PRIORITIES
from hdl.u280.class_turns import ClassTurns
from hdl.u280.flow_control import BUS, FlowControlParams
from hdl.u280.mac_signals import FLOWS
from hdl.u280.pause_request import PauseRequest


class PausesParams(Params, suffix="{flow}"):
    """Says which classes there are, and the sizes of the link."""

    flow: str = choice("kinds", "priorities")  #: the classes that are paused apart, as in FLOWS
    link: FlowControlParams = field(default_factory=FlowControlParams)  #: sizes of the link

    @property
    def split(self) -> bool:
        """Return whether each class has a stream and a buffer of its own."""
        return self.flow == "kinds"

    @property
    def streams(self) -> int:
        """Return the number of streams of packets."""
        return len(self.classes) if self.split else 1

    @property
    def classes(self) -> Mapping[str, int]:
        """Return the priority of each class."""
        priorities = PRIORITIES if self.split else range(PRIORITY_COUNT)
        return dict(zip(FLOWS[self.flow], priorities, strict=True))


class Pauses(Component):
    """Passes packets of the streams ``i`` to ``mac``, none of a class that is paused.

    The far end pauses by ``stat_rx_pause_req``, answered by ``ctl_rx_pause_ack``; we pause it by
    ``ctl_tx_pause_req`` where ``used``, the words in a stream's buffer, say so
    (:class:`PauseRequest`). In these buses, the MAC's, the bit of a class is its priority; bit 8,
    global pause, is not used. ``events`` are the pauses of :func:`events_of`.

    **Flow "priorities": all classes share a stream.** The core holds them: it begins no packet of a
    class soon after its bit of ``paused`` has risen, and what it has begun before is not held here.
    So the acknowledgement is at once, and a pause counts from its coming, as in IEEE 802.3, annex
    31D. A bit of ``pause`` requests a pause of its class; too many words in the common buffer, of
    whatever class, request one of all: they leave as soon as the core takes them, which never
    waits.

    **Flow "kinds": each of NetSparse's classes has a stream**, and they go in turn, held here
    (:class:`ClassTurns`). No class can stop the other for ever. They share a wire, by whole
    packets, which are inside when they begin, and nothing else. Responses and errors are taken from
    the network whatever becomes of reads: a client has asked for each only with room for it. So
    their pauses end, the server that waits with a response goes on, and takes the next read. Reads
    may wait for that. A pause that the far end does not refresh ends by the MAC's timer, at most
    65,535 quanta (336 us) after it came; what waits for one that is refreshed for ever is bounded
    above, by the ``watchdog`` of the request, and ``paused`` counts on.

    Throughput, latency: those of :class:`ClassTurns`, or with one stream none.
    """

    def __init__(self, params: PausesParams) -> None:
        self.latency = ClassTurns.latency if params.split else 0
        used = PauseRequest(params.link).used.shape()
        levels = {"pause": In(PRIORITY_COUNT), "paused": Out(PRIORITY_COUNT)}
        super().__init__(
            params,
            i=In(AXIS).array(params.streams),
            mac=Out(AXIS),
            used=In(used).array(params.streams),
            ctl_tx_pause_req=Out(BUS),
            stat_rx_pause_req=In(BUS),
            ctl_rx_pause_ack=Out(BUS),
            events=Out(2 * len(params.classes)),
            **({} if params.split else levels),
        )

    def build(self, m: Module) -> None:
        params = self.params
        if params.split:
            self.add_turns(m)
        else:
            connect(m, flipped(self.i[0]), flipped(self.mac))
        events = []
        for k, (name, priority) in enumerate(params.classes.items()):
            m.submodules[f"request_{name}"] = request = PauseRequest(params.link)
            paused = Signal(name=f"{name}_paused")
            m.d.sync += paused.eq(self.stat_rx_pause_req[priority])
            m.d.comb += [
                request.used.eq(self.used[k if params.split else 0]),
                self.ctl_tx_pause_req[priority].eq(request.request),
            ]
            if not params.split:
                m.d.comb += [
                    request.pause.eq(self.pause[priority]),
                    self.paused[priority].eq(paused),
                    self.ctl_rx_pause_ack[priority].eq(paused),
                ]
            events += [paused, request.begins]
        m.d.comb += self.events.eq(Cat(events))

    def add_turns(self, m: Module) -> None:
        """Let the streams go in turn, but those that are paused."""
        m.submodules.turns = turns = ClassTurns()
        connect(m, turns.mac, flipped(self.mac))
        for k, priority in enumerate(self.params.classes.values()):
            connect(m, flipped(self.i[k]), turns.i[k])
            m.d.comb += [
                turns.pause[k].eq(self.stat_rx_pause_req[priority]),
                self.ctl_rx_pause_ack[priority].eq(turns.ack[k]),
            ]
