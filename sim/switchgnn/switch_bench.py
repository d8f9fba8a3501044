"""Connects a simulated switch to golden workers, over links as good or bad as asked for."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cocotb

from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.axi_streams import AxiSource, Packet, PacketSink, beats_of
from sim.harness.records import Recorder
from sim.harness.streams import cycle, edges, start
from sim.harness.verilator import params_in_simulator
from sim.switchgnn.golden.frames import Frame, Quality
from sim.switchgnn.switch_program import GnnSwitchProgram
from sim.switchgnn.wire import Addresses, judge, to_octets


class Links:
    """Says what becomes of a frame: after how many cycles it arrives, and how often."""

    def __init__(self, chance: float = 0.0, late: int = 200) -> None:
        self.chance, self.late = chance, late
        self.lost = self.doubled = 0

    def arrivals(self) -> list[int]:
        """Return the cycles until a frame that is sent now arrives, each time that it does."""
        if random.random() < self.chance:
            self.lost += 1
            return []
        at = [1]
        if random.random() < self.chance:
            at = [1 + random.randrange(self.late)]
        if random.random() < self.chance:
            self.doubled += 1
            at.append(1 + random.randrange(self.late))
        return at


class SwitchBench:
    """Drives all ports of a switch: ``workers`` by port, each behind a link in both directions.

    In a design of several switches, ``params`` are those of this one, whose ports begin with
    ``prefix``.
    """

    def __init__(
        self,
        dut: Any,
        links: Links | None = None,
        *,
        params: GnnSwitchParams | None = None,
        prefix: str = "",
    ) -> None:
        self.dut, self.params = dut, params or params_in_simulator(GnnSwitchParams)
        self.prefix = prefix
        self.links = links or Links()
        self.workers: dict[int, Any] = {}
        self.own, self.group = random.randbytes(6), random.randbytes(6)
        #: cycle, port and frame of everything that left the switch
        self.frames: list[tuple[int, int, Frame | Quality]] = []
        self.takes = [True] * self.params.ports  # ports whose worker's link is up
        self.stall: Callable[[int], bool] = lambda port: False
        self.began, self.runs = cycle(), False  # workers go on by themselves
        self.sources: list[AxiSource] = []
        self.lasts: list[list[int]] = []  # numbers of the last beats of frames, by port
        self.sinks: list[PacketSink] = []
        self.shown: list[Recorder] = []
        for k in range(self.params.ports):
            self.add_port(k)

    def add_port(self, k: int) -> None:
        """Add what sends and takes the frames of a port."""
        name = f"{self.prefix}m_axis_{k}"
        self.sources.append(AxiSource(self.dut, f"{self.prefix}s_axis_{k}"))
        self.lasts.append([])
        self.sinks.append(self.sink(name, k))
        ports = dict.fromkeys(f"{name}_{part}" for part in ("tready", "tlast"))
        self.shown.append(Recorder(self.dut, f"{name}_tvalid", ports))

    def sink(self, name: str, port: int) -> PacketSink:
        """Return what takes the frames of a port."""

        def pauses() -> bool:
            return not self.takes[port] or self.stall(port)

        def reported(packet: Packet) -> None:
            assert not packet.corrupt
            self.left(port, packet.octets)

        return PacketSink(self.dut, name, stall=pauses, reported=reported)

    @property
    def now(self) -> int:
        """Return the cycles since the bench began."""
        return cycle() - self.began

    @property
    def inside(self) -> list[tuple[int, int]]:
        """Return port and cycle of the last beat of each frame that the switch has."""
        result = []
        for port, (source, lasts) in enumerate(zip(self.sources, self.lasts, strict=True)):
            moved = list(source.cycles)
            result += [(moved[k] - self.began - 1, port) for k in lasts if k < len(moved)]
        return [(port, at) for at, port in sorted(result)]

    @property
    def heads(self) -> list[int]:
        """Return the cycle in which the head of each frame was there first."""
        result = []
        for shown in self.shown:
            begins = True
            for at, record in zip(shown.cycles, shown.beats, strict=True):
                if begins:
                    result.append(at - self.began - 1)
                begins = all(record.values())
        return sorted(result)

    async def begin(self) -> "SwitchBench":
        """Leave reset and set addresses; return the bench."""
        await start(self.dut)
        self.attach()
        return await self.set_up()

    def attach(self) -> None:
        """Let the host drive the registers, out of reset."""
        self.began = cycle()
        self.host = GnnSwitchProgram(self.dut, self.params, f"{self.prefix}s_axil")

    async def set_up(self) -> "SwitchBench":
        """Write the settings of all jobs."""
        await self.host.set_addresses(self.own, self.group)
        await self.host.write(ack_every=2)
        await self.host.write(ack_delay=60)
        return self

    def send(self, port: int, frame: Frame) -> None:
        """Send a worker's frame to the switch."""
        octets = to_octets(frame, self.params.lanes, Addresses(self.own, self.group))
        self.throw(port, octets)

    def throw(self, port: int, octets: bytes, corrupt: bool = False) -> None:
        """Send bytes to the switch."""
        for delay in self.links.arrivals():
            cocotb.start_soon(self.enter(delay, port, octets, corrupt))

    async def enter(self, delay: int, port: int, octets: bytes, corrupt: bool = False) -> None:
        """Let a packet arrive at the switch, beat by beat."""
        await edges(self.dut.clk, delay)
        source = self.sources[port]
        for beat in beats_of(octets, corrupt=corrupt):
            source.append(beat)
        self.lasts[port].append(len(source.cycles) + source.missing - 1)

    def left(self, port: int, octets: bytes) -> None:
        """Send on a frame that has left the switch."""
        frame = judge(octets, self.params.lanes, self.group)
        self.frames.append((self.now, port, frame))
        for delay in self.links.arrivals():
            cocotb.start_soon(self.arrive(delay, port, frame))

    async def arrive(self, delay: int, port: int, frame: Frame | Quality) -> None:
        """Let a frame arrive at a worker, all at once."""
        await edges(self.dut.clk, delay)
        if port in self.workers:
            for answer in self.workers[port].take(frame):
                self.send(port, answer)
            self.resume(port)

    def resume(self, port: int) -> None:
        """Let a worker send what it may, if they run."""
        if self.runs and port in self.workers:
            for frame in self.workers[port].send():
                self.send(port, frame)

    async def expire(self, port: int, timeout: int, after: int) -> None:
        """Let the timer of a worker expire every ``timeout`` cycles."""
        await edges(self.dut.clk, (after - self.now) % timeout)
        while True:
            for frame in self.workers[port].timeout():
                self.send(port, frame)
            await edges(self.dut.clk, timeout)

    @contextmanager
    def running(self, *, timeout: int = 1 << 30, apart: int = 1) -> Iterator[None]:
        """Let all workers run meanwhile; their timers expire ``apart`` cycles from each other."""
        self.runs = True
        tasks = [
            cocotb.start_soon(self.expire(port, timeout, apart * port)) for port in self.workers
        ]
        for port in self.workers:
            self.resume(port)
        yield
        self.runs = False
        for task in tasks:
            task.cancel()

    async def run(self, *, most: int = 100_000, timeout: int = 600) -> None:
        """Run until all workers' turns are over; their timers expire every ``timeout`` cycles."""
        end = self.now + most
        with self.running(timeout=timeout):
            while not all(worker.ended for worker in self.workers.values()):
                assert self.now < end, f"not over after {most} cycles"
                await edges(self.dut.clk, 20)

    async def step(self) -> None:
        """Run one cycle."""
        await edges(self.dut.clk, 1)

    async def idle(self, cycles: int) -> None:
        """Run a number of cycles."""
        await edges(self.dut.clk, cycles)


async def begin(dut: Any, links: Links | None = None) -> SwitchBench:
    """Begin a bench of the switch under test."""
    return await SwitchBench(dut, links).begin()
