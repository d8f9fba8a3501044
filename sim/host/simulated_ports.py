"""Stands in for a card whose design sends and takes packets: its registers, and its streams."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from cocotb import start_soon
from cocotb.task import resume
from cocotb.triggers import ClockCycles, RisingEdge

from sim.host.packet_ports import BEAT_BYTES, send, take
from sim.host.simulated import SimulatedRegisters

QUIET_CYCLES = 64  #: after which a few answers that waited for a port have left


class Arrival(NamedTuple):
    """Describes a packet that comes at the port ``name``; a corrupt one has a wrong checksum."""

    name: str
    data: bytes
    corrupt: bool = False
    at: int = 0  #: cycle in which its last beat comes
    late: int = 0  #: cycles without a beat ahead of the last of several beats

    @property
    def cycles(self) -> int:
        """Return the number of cycles from its first beat to its last, both included."""
        beats = -(-len(self.data) // BEAT_BYTES)
        return beats + self.late * (beats > 1)


class SimulatedPorts(SimulatedRegisters):
    """Drives a simulated design with a stream in and one out for each of ``names``.

    They are ``s_axis_NAME`` and ``m_axis_NAME``. ``came`` are the packets that have left each;
    whatever a packet is answered with has left ``answer_cycles`` after it.
    """

    #: whether these are the design's own ports, without a MAC that stores what leaves and does not
    #: mark packets with a wrong checksum
    bare = True

    def __init__(self, dut: Any, names: Iterable[str], answer_cycles: int) -> None:
        super().__init__(dut)
        self.answer_cycles = answer_cycles
        self.came: dict[str, deque[bytes]] = {name: deque() for name in names}

    async def start(self) -> None:
        """Reset the design, with silence at its ports."""
        for name in self.came:
            getattr(self.dut, f"s_axis_{name}_tvalid").value = 0
            getattr(self.dut, f"s_axis_{name}_tuser").value = 0
            getattr(self.dut, f"m_axis_{name}_tready").value = 1
            start_soon(self._watch(name))
        await super().start()

    async def _watch(self, name: str) -> None:
        while True:
            self.came[name].append(await take(self.dut, f"m_axis_{name}"))

    @resume
    async def send(self, name: str, packet: bytes, late: int = 0) -> None:
        """Send a packet into a stream, and wait for what it is answered with.

        The last of its beats comes ``late`` cycles after it might.
        """
        await send(self.dut, f"s_axis_{name}", packet, late=late)
        await ClockCycles(self.dut.clk, self.answer_cycles)

    @resume
    async def play(
        self, arrivals: Sequence[Arrival], rng: Random, stalled: Collection[str] = ()
    ) -> None:
        """Send packets, each in its cycle, and wait for what they are answered with.

        Ports that are ``stalled`` take nothing until all is answered, and all others take whatever
        leaves. If none is, each takes it in all, some or none of the cycles until the last packet
        is sent.
        """
        some = Random(rng.getrandbits(32))  # whatever others draw meanwhile
        choices = {name: (0,) if name in stalled else (1,) for name in self.came if stalled}
        shares = {name: some.choice(choices.get(name, (0, 0.5, 1))) for name in self.came}
        stalling = start_soon(self._stall(shares, some))
        sending = [start_soon(self._send(name, arrivals)) for name in self.came]
        for task in sending:
            await task
        if stalled:
            await ClockCycles(self.dut.clk, QUIET_CYCLES)
        stalling.cancel()
        for name in self.came:
            getattr(self.dut, f"m_axis_{name}_tready").value = 1
        await ClockCycles(self.dut.clk, QUIET_CYCLES + len(arrivals))

    async def _send(self, port: str, arrivals: Iterable[Arrival]) -> None:
        now = 0
        for arrival in arrivals:
            if arrival.name == port:
                if (begin := arrival.at - arrival.cycles + 1) > now:
                    await ClockCycles(self.dut.clk, begin - now)
                stream, data, more = f"s_axis_{port}", arrival.data, arrival.late
                await send(self.dut, stream, data, corrupt=arrival.corrupt, late=more)
                now = arrival.at + 1

    async def _stall(self, shares: Mapping[str, float], rng: Random) -> None:
        ready = {name: getattr(self.dut, f"m_axis_{name}_tready") for name in shares}
        for name, share in shares.items():
            ready[name].value = int(share == 1)
        while some := [name for name, share in shares.items() if 0 < share < 1]:
            for name in some:
                ready[name].value = int(rng.random() < shares[name])
            await RisingEdge(self.dut.clk)
