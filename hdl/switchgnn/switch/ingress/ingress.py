"""Merges all ports of the switch into a frame a cycle; payloads have a queue of their own."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay, index_of
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.round_robin import pick_in_turn
from hdl.switchgnn.switch.ingress.ingress_port import GnnIngressPort
from hdl.switchgnn.switch.ingress.word_mux import chosen_word
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import LEVEL_BITS

UNSEEN = 2  #: payloads that may be under way, and are not in the queue's level yet


class GnnIngress(Component):
    """Takes the frames of all ports in round-robin order, one a cycle.

    ``packet`` is valid in cycles with ``valid``, and cannot be stalled; ``sender`` is the one-hot
    number of its port. If it ``brings`` a payload, that follows in ``payloads``, in the same order.
    With ``hold`` no frame follows a cycle later; the same holds while the queue of payloads is
    full, which may be since payloads leave some cycles after their tasks. A bit of ``overflows``
    pulses when the port loses a frame; a bit of ``congested`` is high while more than
    ``mark_level`` beats wait at the port, and never if ``mark_level`` is 0.

    Throughput: no cycle is idle while any port has a frame. Latency: :attr:`latency` to ``packet``,
    if no other port's frame is ahead.
    """

    latency = GnnIngressPort.latency + 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            axis=In(params.frames.axis).array(params.ports),
            address=In(48),
            hold=In(1),
            valid=Out(1),
            sender=Out(params.ports),
            packet=Out(params.packet),
            brings=Out(1),
            payloads=Out(stream.Signature(params.payload_words)),
            overflows=Out(params.ports),
            mark_level=In(LEVEL_BITS),
            congested=Out(params.ports),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.payloads = payloads = Fifo(params.payload_fifo)
        # Together with payloads of the cycles since ``level`` was known, at most ``tasks`` wait.
        room = Signal()
        m.d.sync += room.eq(payloads.level < params.tasks - UNSEEN)
        requesting = Signal(params.ports)
        picked = Signal(params.ports)
        m.d.comb += picked.eq(pick_in_turn(m, requesting, room & ~self.hold))
        ports = []
        for k in range(params.ports):
            m.submodules[f"port_{k}"] = port = GnnIngressPort(params)
            connect(m, flipped(self.axis[k]), port.axis)
            m.d.comb += [
                port.address.eq(self.address),
                port.port_bit.eq(1 << k),
                self.overflows[k].eq(port.overflow),
                self.congested[k].eq((port.used > self.mark_level) & (self.mark_level != 0)),
                requesting[k].eq(port.arrivals.valid),
                port.arrivals.ready.eq(picked[k]),
            ]
            ports.append(port)
        heads = [Cat(port.arrivals.payload.packet, port.arrivals.payload.brings) for port in ports]
        chosen: Any = params.judged(chosen_word(m, "head", heads, picked))
        packet = Signal(params.packet, reset_less=True)
        sender = Signal(params.ports, reset_less=True)
        brings = Signal(reset_less=True)
        # The grant is known late, and a payload has thousands of bits, so the select is registered.
        turn = delay(m, index_of(picked, params.port_bits), 1, "turn")
        waiting = Array(self.payload_behind(m, k, port) for k, port in enumerate(ports))
        m.d.comb += [
            self.packet.eq(packet),
            self.brings.eq(self.valid & brings),
            self.sender.eq(sender),
            payloads.i.payload.eq(waiting[turn]),
            payloads.i.valid.eq(self.brings),
            self.payloads.payload.eq(params.payload_words(payloads.o.payload)),
            self.payloads.valid.eq(payloads.o.valid),
            payloads.o.ready.eq(self.payloads.ready),
        ]
        m.d.sync += [
            self.valid.eq(picked.any()),
            brings.eq(chosen.brings),
            sender.eq(picked),
            packet.eq(chosen.packet),
        ]

    def payload_behind(self, m: Module, k: int, port: GnnIngressPort) -> Value:
        """Return port ``k``'s payload a cycle after its arrival; only its last word is gone."""
        words = port.arrivals.payload.payload
        last = delay(m, words[self.params.payload_beats - 1], 1, f"last_word_{k}")
        return Cat(*(words[at] for at in range(self.params.payload_beats - 1)), last)
