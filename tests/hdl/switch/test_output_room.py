"""Checks the room of output queues: it is counted in beats, and never overdrawn by those who keep
to it.
"""

import random
from collections import deque
from functools import partial

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switch.output_room import LATENCY, SETTLING, OutputRoom, OutputRoomParams
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.formal.sby import hold
from tests.hdl.switch.output_room_proof import OutputRoomProof
from tests.mutants import mutants_are_detected, mutants_of
from tests.rejects import rejects

PARAMS = OutputRoomParams(ports=3, beats=96, packet=13, item=3, gives=2)
SMALL = OutputRoomParams(ports=1, beats=30, packet=5, item=1)


def test_output_room():
    simulate(OutputRoom(PARAMS), __name__)


test_rejects = rejects(
    partial(OutputRoomParams, ports=2, beats=96, packet=13, item=3),
    ({"item": 14}, "item must be a whole number from 0 to 13: 14"),
    ({"beats": 79}, "beats must be a whole number from 80 to 65536: 79"),
    ({"beats": 64, "item": 0}, "beats must be a whole number from 65 to 65536: 64"),
)


MUTANTS = mutants_of(
    [OutputRoomProof],
    """
    @hdl.switch.output_room; OutputRoomProof; OutputRoom; 32
    open again too early; ~self.packets[k] & ~recent.any() => 1; never_more_than_there_is
    an item too many; free >= params.items_from => free >= params.packets_from;
        packets_never_wait_for_items
    a packet or an item; Mux(item_port == k, item_beats, 0) =>
        Mux((item_port == k) & ~recent[0], item_beats, 0); counts_every_beat
    closed to packets; alone | (free >= params.any_packets_from) =>
        alone & (free >= params.items_from); packets_never_wait_for_items
    """,
)
SAMPLES = ["an item too many"]


def test_holds_for_all_time():
    for mode, depth in (("prove", 7), ("cover", 16)):
        hold(OutputRoomProof(SMALL), mode=mode, depth=depth)


test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [OutputRoomProof(SMALL)], SAMPLES
)


class Bench:
    """Keeps, beside the room, a count of the beats of each port that nobody has claimed."""

    def __init__(self, dut):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(OutputRoomParams)
        self.ports = range(self.params.ports)
        self.free = [self.params.beats for _ in self.ports]
        self.before = deque([list(self.free) for _ in range(LATENCY)], LATENCY)
        self.came = deque([None] * SETTLING, SETTLING)  # port of the packet of the last cycles
        self.was_open = []  # ports, for packets
        self.least = list(self.free)

    async def start(self):
        self.drive()
        await start(self.dut)
        for _ in range(2):  # until open has told of the reset's end
            await self.edge
        self.was_open = self.shown()
        return self

    def opens(self):
        """Return the ports that packets, and those that items, may come for in this cycle."""
        seen, params = self.before[0], self.params
        packets = [p for p in self.was_open if p != self.came[-1]]
        return packets, [p for p in self.ports if seen[p] >= params.items_from]

    def shown(self):
        """Return the ports for which a packet may come in the next cycle."""
        seen, params = self.before[0], self.params
        return [
            p
            for p in self.ports
            if seen[p] >= params.any_packets_from
            or (seen[p] >= params.packets_from and p not in self.came)
        ]

    def drive(self, packet=None, item=None, gives=(), left=()):
        dut, params = self.dut, self.params
        dut.packets.value = 0 if packet is None else 1 << packet
        port, beats = item or (random.choice(self.ports), random.randint(0, params.item))
        fields = {"valid": item is not None, "port": port, "beats": beats}
        dut.item.value = pack(params.item_claim, fields)
        for k in range(params.gives):
            port, beats = gives[k] if k < len(gives) else (random.choice(self.ports), 0)
            give = {"port": port, "beats": beats}
            getattr(dut, f"gives_{k}").value = pack(params.give, give)
        dut.left.value = sum(1 << port for port in left)

    async def cycle(self, packet=None, item=None, gives=(), left=()):
        """Play one cycle, and check that both ``open`` are as they should be."""
        self.drive(packet, item, gives, left)
        is_open, (_, items) = self.shown(), self.opens()
        await self.edge
        assert int(self.dut.open.value) == sum(1 << port for port in is_open)
        assert int(self.dut.open_items.value) == sum(1 << port for port in items)
        if packet is not None:
            self.free[packet] -= self.params.packet
        if item is not None:
            self.free[item[0]] -= item[1]
        for port, beats in (*gives, *((port, 1) for port in left)):
            self.free[port] += beats
        assert min(self.free) >= 0
        assert max(self.free) <= self.params.beats
        self.least = [min(pair) for pair in zip(self.least, self.free, strict=True)]
        self.before.append(list(self.free))
        self.came.append(packet)
        self.was_open = is_open


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_what_comes_and_goes(dut):
    """Packets come at any pace: as soon as they may, some time later, or not at all for a while."""
    bench = await Bench(dut).start()
    params = bench.params
    for k in range(4000):
        if k % 100 == 0:
            comes, goes = random.choice((0.05, 0.5, 1)), random.choice((0, 0.3, 1))
        packets, items = bench.opens()
        packet = random.choice(packets) if packets and random.random() < comes else None
        item = None
        if items and random.random() < comes:
            item = random.choice(items), random.randint(0, params.item)
        owed = [params.beats - free for free in bench.free]
        left = [p for p in bench.ports if owed[p] and random.random() < goes]
        for port in left:
            owed[port] -= 1
        gives = []
        for _ in range(random.randint(0, params.gives) if goes else 0):
            port = random.choice(bench.ports)
            gives.append((port, random.randint(0, min(owed[port], params.packet))))
            owed[port] -= gives[-1][1]
        await bench.cycle(packet, item, gives, left)
    assert max(bench.least) < 2 * params.packet


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_greediest_users_find_room(dut):
    """A packet and the largest item come in each cycle in which they may, at any offset."""
    bench = await Bench(dut).start()
    params = bench.params
    for wait in range(8):
        for port in bench.ports:
            for k in range(20):
                packets, items = bench.opens()
                packet = port if port in packets and k >= wait else None
                item = (port, params.item) if port in items else None
                await bench.cycle(packet, item)
            packets, items = bench.opens()
            assert port not in packets
            assert port not in items
            assert bench.free[port] < params.packets_from
            while owed := params.beats - bench.free[port]:
                await bench.cycle(gives=[(port, min(owed, params.packet))])
            for _ in range(LATENCY):
                await bench.cycle()
            assert bench.opens() == ([*bench.ports], [*bench.ports])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def items_leave_room_for_packets(dut):
    bench = await Bench(dut).start()
    params = bench.params
    for _ in range(30):
        packets, items = bench.opens()
        assert packets == [*bench.ports]
        await bench.cycle(item=(1, params.item) if 1 in items else None)
    assert 1 not in items
    assert bench.free[1] < params.items_from
    await bench.cycle(packet=1)
