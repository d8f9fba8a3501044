"""Connects models of hosts to all ports of a simulated switch, over links that lose frames."""

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from random import Random
from typing import Any

from hdl.common.packets import PRIORITY_COUNT
from hdl.network_switch.params import NetworkSwitchParams
from hdl.network_switch.registers import PAGE_BITS, part_maps
from sim.harness.axi_master import CompiledMaster
from sim.harness.axi_streams import AxiSource, Packet, PacketSink, beats_of
from sim.harness.stalls import Stall, never
from sim.harness.streams import cycle, edges, start
from sim.harness.verilator import params_in_simulator
from sim.network_switch.hosts import IPV4, NETSPARSE_PORTS, Part

STEP = 16  #: cycles between two looks at what hosts send
BACKLOG = 8  #: beats that wait at a port, behind which no host sends
OFFERED = 60  #: most cycles that a port that stalls may take to accept a beat


class Page:
    """Reads and writes registers of a page, as a master of the whole bus does."""

    def __init__(self, master: CompiledMaster, page: int) -> None:
        self.master, self.base = master, page << PAGE_BITS

    async def read(self, address: int, length: int) -> Any:
        """Read ``length`` bytes."""
        return await self.master.read(self.base + address, length)

    async def write(self, address: int, data: bytes) -> Any:
        """Write all of ``data``."""
        return await self.master.write(self.base + address, data)


class Network:
    """Has the hosts of all ports. Of frames that may be lost, each link loses a share ``loss``.

    ``stall`` says when a port takes nothing of the switch. ``entered`` counts the
    frames that came to the switch, ``came`` those that came from it to the hosts, both by port and
    system; a frame of no system is an error.
    """

    def __init__(self, dut: Any, *, loss: float = 0.0, stall: Stall = never, seed: int = 1) -> None:
        self.dut, self.loss, self.random = dut, loss, Random(seed)
        self.params = params_in_simulator(NetworkSwitchParams)
        self.maps = part_maps(self.params)
        ports = range(self.params.ports)
        self.parts: Mapping[int, list[Part]] = defaultdict(list)
        self.sources = [AxiSource(dut, f"s_axis_{k}") for k in ports]
        self.sinks = [self.sink(k, stall) for k in ports]
        #: frames that wait at each port, by system
        self.queues = [defaultdict[str, deque[tuple[Part, bytes]]](deque) for _ in ports]
        self.entered: Counter[tuple[int, str]] = Counter()
        self.came: Counter[tuple[int, str]] = Counter()
        self.lost: Counter[str] = Counter()
        #: changes of what the neighbour of each port has paused: the cycle, and a bit a priority
        self.pauses: list[list[tuple[int, int]]] = [[] for _ in ports]

    def sink(self, port: int, stall: Stall) -> PacketSink:
        """Return what takes the frames of a port."""

        def reported(packet: Packet) -> None:
            assert not packet.corrupt
            self.take(port, packet.octets)
            self.obeys(port, packet)

        return PacketSink(self.dut, f"m_axis_{port}", stall=stall, reported=reported)

    async def begin(self) -> None:
        """Leave reset."""
        self.release()
        await start(self.dut)
        self.master = CompiledMaster(self.dut, "s_axil")
        self.began = cycle()

    def page(self, name: str) -> Page:
        """Return the registers of a part."""
        return Page(self.master, 1 + [*self.maps].index(name))

    @property
    def systems(self) -> tuple[str, ...]:
        """Return the names of the systems that the switch has."""
        return tuple(self.maps)

    def add(self, port: int, part: Part) -> None:
        """Let a host at a port take part in a system."""
        self.parts[port].append(part)

    def loses(self, part: Part) -> bool:
        """Draw whether a link loses a frame."""
        lost = not part.lossless and self.random.random() < self.loss
        self.lost[part.system] += lost
        return lost

    def take(self, port: int, octets: bytes) -> None:
        """Give a frame that has left the switch to the host's part that it is for."""
        owners = [part for part in self.parts[port] if part.knows(octets)]
        assert owners, f"port {port} has sent what is nobody's: {octets.hex()}"
        if self.loses(owners[0]):
            owners[0].missed += owners[0].is_for(octets)
            return
        owners[0].take(octets)
        self.came[port, owners[0].system] += 1

    def send(self, now: int) -> None:
        """Send what all hosts have to send, each a frame of every system in turn."""
        for port, parts in self.parts.items():
            queues = self.queues[port]
            for part in parts:
                queues[part.system].extend((part, octets) for octets in part.due(now))
            while self.sources[port].missing < BACKLOG and (
                ready := [q for q in queues.values() if q]
            ):
                for queue in ready:
                    part, octets = queue.popleft()
                    if not self.loses(part):
                        self.entered[port, part.system] += 1
                        self.sources[port].extend([*beats_of(octets)])

    async def pause(self) -> None:
        """Let the neighbours pause some priorities for some time, again and again."""
        while True:
            for k in range(self.params.ports):
                some, other = (self.random.getrandbits(PRIORITY_COUNT) for _ in range(2))
                getattr(self.dut, f"paused_{k}").value = some & other
                self.pauses[k].append((cycle(), some & other))
            await edges(self.dut.clk, self.random.randint(20, 300))

    def release(self) -> None:
        """Let the neighbours take everything."""
        for k in range(self.params.ports):
            getattr(self.dut, f"paused_{k}").value = 0
            self.pauses[k].append((cycle(), 0))

    def obeys(self, port: int, packet: Packet) -> None:
        """Check that a packet of NetSparse did not begin in a pause of its priority.

        It may have waited for the port some cycles, as that stalls.
        """
        if packet.octets[12:14] == IPV4 and packet.octets[34:38] == NETSPARSE_PORTS:
            priority, begun = packet.octets[15] >> 5, packet.cycles[0]
            since, bits = next(each for each in reversed(self.pauses[port]) if each[0] < begun)
            assert begun - since < OFFERED or not bits >> priority & 1, "a pause is ignored"

    async def run(self, most: int) -> dict[str, int]:
        """Run until all parts are done; return the cycles until each system was."""
        ends: dict[str, int] = {}
        self.began = cycle()
        while missing := self.missing():
            now = cycle() - self.began
            assert now < most, f"after {most} cycles {missing} are not done"
            self.send(now)
            await edges(self.dut.clk, STEP)
            for name in missing - self.missing():
                ends[name] = cycle() - self.began
        return ends

    def missing(self) -> set[str]:
        """Return the systems that are not done."""
        return {part.system for parts in self.parts.values() for part in parts if not part.done}

    async def settle(self, cycles: int = 1000) -> None:
        """Wait until nothing has left for so many cycles, and nothing is left to send."""
        since = -1
        while since != sum(self.came.values()) or any(
            any(queues.values()) or source.missing
            for queues, source in zip(self.queues, self.sources, strict=True)
        ):
            since = sum(self.came.values())
            self.send(cycle() - self.began)
            await edges(self.dut.clk, cycles)
