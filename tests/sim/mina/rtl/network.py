"""Connects switches in hardware by links: all that is said to them comes as frames."""

import heapq
import itertools
from collections import Counter, deque

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.network.frame import FRAME_KEEP
from sim.golden.reduction.frames import BYTES
from sim.harness.clock import cycle
from sim.harness.host_program import HostProgram
from sim.harness.streams import start
from sim.mina.agreement.frames import CONTROLLER, Place, Role
from sim.mina.wire import from_octets, to_octets
from sim.p4sgd.switch_side import switch_side
from sim.switchgnn.links import Faults

LATENCY = 40  #: cycles of a link
PACE = 4  #: cycles from a frame of a host to its next one
LATE = 400  #: most cycles that a frame may be late
SWITCH, GROUP, SENDER = (bytes.fromhex(f"0{k}000000ff00") for k in (2, 3, 4))
ADDRESSES = 12  #: bytes of a frame that :mod:`sim.mina.wire` leaves zero
GOOD = Faults()


class TimedLinks:
    """Carries frames for this many cycles; some are lost, come twice, late, or once more."""

    def __init__(self, rng, faults):
        self.rng, self.faults = rng, faults
        self.ends = {}
        self.counts = Counter()
        self.flying, self.order = [], itertools.count()
        self.ever = deque(maxlen=64)

    def happens(self, name):
        chance = getattr(self.faults, name)
        happens = bool(chance) and self.rng.random() < chance
        self.counts[name] += happens
        return happens

    def send(self, place, frames):
        for to, frame in frames:
            self.counts["frames"] += 1
            self.launch(to, place, frame)
            self.ever.append((to, place, frame))

    def launch(self, to, place, frame):
        if self.happens("drop"):
            return
        late = int(self.rng.integers(LATE)) if self.happens("reorder") else 0
        flights = [(late, (to, place, frame))]
        if self.happens("duplicate"):
            flights.append((int(self.rng.integers(LATE)), (to, place, frame)))
        if self.ever and self.happens("again"):
            flights.append((0, self.ever[int(self.rng.integers(len(self.ever)))]))
        for late, flight in flights:
            due = cycle() + LATENCY + late
            heapq.heappush(self.flying, (due, next(self.order), *flight))

    def due(self):
        """Return the frames that arrive now, with where they go to and come from."""
        while self.flying and self.flying[0][0] <= cycle():
            yield heapq.heappop(self.flying)[2:]


class RtlSwitch:
    """Drives a switch of the simulation: a host at each port, the controller at the last."""

    def __init__(self, dut, number, params, links):
        self.dut, self.number, self.links = dut, number, links
        self.ports = range(params.switch.ports)
        self.place, self.control = Place(Role.SWITCH, number), len(self.ports) - 1
        self.shift = number * len(self.ports)
        self.driver = HostProgram(dut, f"s_axil_{number}", switch_side(params.switch))
        self.queues = [deque() for _ in self.ports]
        self.free = [0 for _ in self.ports]  #: by port: the cycle from which on it takes a frame
        self.driven = [False for _ in self.ports]
        names = ("tvalid", "tdata", "tkeep", "tlast", "tuser")
        self.inputs = [
            {name: getattr(dut, f"s_axis_{number}_{k}_{name}") for name in names}
            for k in self.ports
        ]
        self.outputs = [getattr(dut, f"m_axis_{number}_{k}_tdata") for k in self.ports]
        for k, handles in enumerate(self.inputs):
            for name, value in zip(names, (0, 0, FRAME_KEEP, 1, 0), strict=True):
                handles[name].value = value
            getattr(dut, f"m_axis_{number}_{k}_tready").value = 1

    async def begin(self):
        """Give a switch, after a reset, its addresses; it knows no job."""
        await self.driver.set_addresses(SWITCH, GROUP)
        await self.driver.share(most=1, ports_apart=False)
        await self.driver.open_ports([self.control])
        await self.driver.clear_counters()

    async def reset(self):
        """Reset the switch, whatever it is about to do."""
        bit = 1 << self.number
        self.dut.restart.value = int(self.dut.restart.value) | bit
        await ClockCycles(self.dut.clk, 2)
        self.dut.restart.value = int(self.dut.restart.value) & ~bit
        await self.begin()

    def take(self, came_from, frame):
        """Take a frame from a host or from the controller."""
        port = came_from.number if came_from.role is Role.HOST else self.control
        self.queues[port].append(frame)

    def drive(self):
        """Drive a frame into each port that has one, and whose sender may send again."""
        for k, queue in enumerate(self.queues):
            handles = self.inputs[k]
            if queue and cycle() >= self.free[k]:
                self.free[k] = cycle() + PACE
                octets = SWITCH + SENDER + to_octets(queue.popleft())[ADDRESSES:]
                handles["tdata"].value = int.from_bytes(octets, "little")
                handles["tvalid"].value = 1
                self.driven[k] = True
            elif self.driven[k]:
                handles["tvalid"].value = 0
                self.driven[k] = False

    def look(self, leaving):
        """Take frames that leave on their way."""
        for k in self.ports:
            if leaving >> self.shift + k & 1:
                octets = int(self.outputs[k].value).to_bytes(64, "little")[:BYTES]
                frame = from_octets(bytes(ADDRESSES) + octets[ADDRESSES:])
                to = CONTROLLER if k == self.control else Place(Role.HOST, k)
                self.links.send(self.place, [(to, frame)])


class RtlNetwork:
    """Has all switches of a simulation, and links to whoever has an end of them."""

    def __init__(self, dut, params, rng, faults=GOOD):
        self.dut = dut
        self.links = TimedLinks(rng, faults)
        self.switches = {k: RtlSwitch(dut, k, params, self.links) for k in range(params.count)}

    async def begin(self):
        """Come out of reset, and start all tasks."""
        self.dut.restart.value = 0
        await start(self.dut)
        for switch in self.switches.values():
            await switch.begin()
        cocotb.start_soon(self.move())

    async def move(self):
        """Let frames arrive, enter switches and leave them in every cycle."""
        edge, leaving = RisingEdge(self.dut.clk), self.dut.leaving
        while True:
            await edge
            now = int(leaving.value)
            for switch in self.switches.values():
                if now:
                    switch.look(now)
                switch.drive()
            for to, place, frame in self.links.due():
                if to.role is Role.SWITCH:
                    self.switches[to.number].take(place, frame)
                else:
                    self.links.send(to, self.links.ends[to](place, frame))
