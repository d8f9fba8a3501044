"""Connects a simulated switch to golden workers, over links as good or bad as asked for."""

import heapq
import random
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from cocotb.triggers import RisingEdge

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from sim.switchgnn.golden.frames import Frame, Quality
from sim.switchgnn.switch_driver import GnnSwitchDriver
from sim.switchgnn.wire import Addresses, judge, to_octets


class Links:
    """Says what becomes of a frame: when it arrives, and how often."""

    def __init__(self, chance: float = 0.0, late: int = 200) -> None:
        self.chance, self.late = chance, late
        self.lost = self.doubled = 0

    def arrivals(self, now: int) -> list[int]:
        """Return the cycles in which a frame that is sent now arrives."""
        if random.random() < self.chance:
            self.lost += 1
            return []
        at = [now + 1]
        if random.random() < self.chance:
            at = [now + 1 + random.randrange(self.late)]
        if random.random() < self.chance:
            self.doubled += 1
            at.append(now + 1 + random.randrange(self.late))
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
        ports = range(self.params.ports)
        names = ("tvalid", "tdata", "tkeep", "tlast", "tuser")
        self.inputs = [
            [getattr(dut, f"{prefix}s_axis_{k}_{name}") for name in names] for k in ports
        ]
        self.outputs = [
            [getattr(dut, f"{prefix}m_axis_{k}_{name}") for name in names] for k in ports
        ]
        self.ready = [getattr(dut, f"{prefix}m_axis_{k}_tready") for k in ports]
        self.edge = RisingEdge(dut.clk)
        self.now, self.order = 0, count()
        #: heap of (cycle, order, to the switch?, port, (octets, whether they are corrupt))
        self.flying: list[tuple[int, int, bool, int, tuple[bytes, bool]]] = []
        #: for each port: beats towards the switch
        self.sending: dict[int, deque[Sequence[int]]] = defaultdict(deque)
        #: a frame whose beats leave the switch
        self.coming: dict[int, bytes] = defaultdict(bytes)
        #: cycle, port and frame of everything that left the switch
        self.frames: list[tuple[int, int, Frame | Quality]] = []
        #: port and cycle of the last beat of each frame that the switch has
        self.inside: list[tuple[int, int]] = []
        self.heads: list[int] = []  # the cycle in which the head of each frame was there first
        self.shown = [False] * self.params.ports  # a head that waits at a port has been seen
        self.takes = [True] * self.params.ports  # ports whose worker's link is up
        self.stall: Callable[[int], bool] = lambda port: False

    async def begin(self) -> "SwitchBench":
        """Leave reset and set addresses; return the bench."""
        self.silence()
        await start(self.dut)
        self.attach()
        return await self.set_up()

    def silence(self) -> None:
        """Let nothing come, and take all that leaves."""
        for valid, *rest in self.inputs:
            valid.value = 0
            for handle in rest:
                handle.value = 0
        for ready in self.ready:
            ready.value = 1

    def attach(self) -> None:
        """Let the host drive the registers, out of reset."""
        self.host = GnnSwitchDriver(self.dut, self.params, f"{self.prefix}s_axil")

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
        for at in self.links.arrivals(self.now):
            heapq.heappush(self.flying, (at, next(self.order), True, port, (octets, corrupt)))

    def step_links(self) -> None:
        """Deliver what is due: to the switch beat by beat, to a worker at once."""
        while self.flying and self.flying[0][0] <= self.now:
            _, _, inwards, port, (octets, corrupt) = heapq.heappop(self.flying)
            if inwards:
                chunks = [octets[k : k + BEAT_BYTES] for k in range(0, len(octets), BEAT_BYTES)]
                for chunk in chunks:
                    last = chunk is chunks[-1]
                    noise = random.randbytes(BEAT_BYTES - len(chunk))  # what follows a packet
                    beat = int.from_bytes(chunk + noise, "little"), (1 << len(chunk)) - 1, last
                    self.sending[port].append((*beat, last and corrupt))
            elif port in self.workers:
                frame = judge(octets, self.params.lanes, self.group)
                for answer in self.workers[port].take(frame):
                    self.send(port, answer)

    async def step(self) -> None:
        """Run one cycle."""
        self.drive()
        await self.edge
        self.observe()

    def drive(self) -> None:
        """Drive the ports with what comes in a cycle."""
        self.step_links()
        for port, (valid, *handles) in enumerate(self.inputs):
            beats = self.sending[port]
            valid.value = int(bool(beats))
            if beats:
                beat = beats.popleft()
                for handle, value in zip(handles, beat, strict=True):
                    handle.value = int(value)
                if beat[2]:
                    self.inside.append((port, self.now))
            self.ready[port].value = int(self.takes[port] and not self.stall(port))

    def observe(self) -> None:
        """Take what left in the cycle before."""
        self.now += 1
        for port, (valid, tdata, tkeep, tlast, tuser) in enumerate(self.outputs):
            if not valid.value:
                continue
            if port not in self.coming and not self.shown[port]:
                self.shown[port] = True
                self.heads.append(self.now - 1)
            if not self.ready[port].value:
                continue
            self.shown[port] = False
            kept = int(tkeep.value).bit_count()
            assert int(tkeep.value) == (1 << kept) - 1
            assert not tuser.value
            octets = int(tdata.value).to_bytes(BEAT_BYTES, "little")
            self.coming[port] += octets[:kept]
            if tlast.value:
                self.left(port, self.coming.pop(port))

    def left(self, port: int, octets: bytes) -> None:
        """Send on a frame that has left the switch."""
        frame = judge(octets, self.params.lanes, self.group)
        self.frames.append((self.now, port, frame))
        for at in self.links.arrivals(self.now):
            heapq.heappush(self.flying, (at, next(self.order), False, port, (octets, False)))

    async def run(self, *, most: int = 100_000, timeout: int = 600) -> None:
        """Run until all workers' turns are over; their timers expire every ``timeout`` cycles."""
        end = self.now + most
        while not all(worker.ended for worker in self.workers.values()):
            assert self.now < end, f"not over after {most} cycles"
            for port, worker in self.workers.items():
                due = worker.timeout() if self.now % timeout == port else worker.send()
                for frame in due:
                    self.send(port, frame)
            await self.step()

    async def idle(self, cycles: int) -> None:
        """Run a number of cycles."""
        for _ in range(cycles):
            await self.step()


async def begin(dut: Any, links: Links | None = None) -> SwitchBench:
    """Begin a bench of the switch under test."""
    return await SwitchBench(dut, links).begin()
