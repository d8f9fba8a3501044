"""Sends frames through a forwarding switch at its links' rate, and measures those that leave."""

from itertools import count, islice
from typing import Any

import cocotb

from hdl.common.packets import BEAT_BYTES
from hdl.switch.forwarding.params import ForwardingParams
from sim.forwarding.session import ForwardingWorkload
from sim.harness.axi_streams import AxiSource, PacketSink, beats_of
from sim.harness.in_simulator import params_in_simulator, report, workload_in_simulator
from sim.harness.streams import edges, start

FCS_BYTES, AROUND_BYTES = 4, 20  #: checksum; preamble and least gap of a frame on a link
LINE_BITS = 400  #: bits of a link in a cycle: 100 Gb/s at 250 MHz
NUMBER_AT = 16  #: where a frame has its number


def address(port: int) -> bytes:
    """Return the MAC address of the host at a port."""
    return bytes((2, 0, 0, 0, 0, port))


class Pace:
    """Lets frames begin as often as a link brings them."""

    def __init__(self, length: int) -> None:
        self.beats, self.left = -(-(length - FCS_BYTES) // BEAT_BYTES), 0
        self.cost = 8 * (length + AROUND_BYTES)
        self.bits = self.cost

    def __call__(self) -> bool:
        """Return whether no beat comes in this cycle."""
        self.bits += LINE_BITS
        if self.left == 0:
            if self.bits < self.cost:
                return True
            self.bits = min(self.bits - self.cost, self.cost)  # lost time does not come back
            self.left = self.beats
        self.left -= 1
        return False


@cocotb.test()
async def measure(dut: Any) -> None:
    """Introduce all hosts to the switch, then let all of them send at once."""
    params, requested = (
        params_in_simulator(ForwardingParams),
        workload_in_simulator(ForwardingWorkload),
    )
    ports, length = range(params.ports), requested.length
    for k in ports:
        getattr(dut, f"paused_{k}").value = 0
    sources = [AxiSource(dut, f"s_axis_{k}") for k in ports]
    sinks = [PacketSink(dut, f"m_axis_{k}") for k in ports]
    await start(dut)
    await edges(dut.clk, max(params.beats, params.rows) + 10)
    for k, source in enumerate(sources):
        await source.send_all(beats_of(b"\xff" * 6 + address(k) + bytes(48)))
        await edges(dut.clk, 20 * params.ports)
    sent = {}  # the cycle of each frame's last beat, by its bytes
    frames = []
    for k in ports:
        others = islice(count(k + 1), len(ports) - 1) if requested.mesh else [k + 1]
        turn = [other % len(ports) for other in others]
        own = [
            address(turn[n % len(turn)])
            + address(k)
            + b"\x88\xb5"
            + bytes(NUMBER_AT - 14)
            + n.to_bytes(4, "big")
            + bytes(length - FCS_BYTES - NUMBER_AT - 4)
            for n in range(requested.frames)
        ]
        frames.append(own)
        sources[k].stall = Pace(length)
        sources[k].extend([beat for octets in own for beat in beats_of(octets)])
    before = [len(sink.packets) for sink in sinks]
    moved = -1
    while moved != (moved := sum(len(part.cycles) for part in (*sources, *sinks))):
        await edges(dut.clk, 3 * length)
    beats = -(-(length - FCS_BYTES) // BEAT_BYTES)
    for own, source in zip(frames, sources, strict=True):
        ends = list(source.cycles)[1:][beats - 1 :: beats]  # behind the broadcast
        sent |= dict(zip(own, ends, strict=True))
    left = [sink.packets[at:] for at, sink in zip(before, sinks, strict=True)]
    waits = [packet.cycles[0] - sent[packet.octets] for own in left for packet in own]
    line = LINE_BITS / (8 * (length + AROUND_BYTES))  # frames that a link brings in a cycle
    report(
        {
            "line_share": sum(rate(own) for own in left) / len(ports) / line,
            "loss": 1 - len(waits) / len(sent),
            "least_latency": min(waits),
            "most_latency": max(waits),
        }
    )


def rate(left: list[Any]) -> float:
    """Return the frames that leave a port in a cycle, while any do."""
    ends = [packet.cycles[-1] for packet in left]
    return (len(ends) - 1) / (ends[-1] - ends[0])
