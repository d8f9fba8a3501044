"""Tests copies for several ports, which take them at once, apart, or not in time."""

import random
from collections import Counter, deque

import cocotb

from hdl.switchgnn.protocol import FEATURE_BITS
from hdl.switchgnn.switch.results.copy_queue import CLAIM_LAG, DEPTH, PATIENCE, CopyQueue
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.streams import crossed, started
from tests.hdl.switchgnn.switch.sizes import TINY, bank_sizes
from tests.simulated import simulated

SIZES = [TINY, bank_sizes(ports=8, lanes=32)]
INPUTS = ("reserve", "push", "active", "open")

test_copy_queue = simulated(CopyQueue, SIZES, __name__, ids=lambda params: f"{params.ports}")


class CopyQueueBench(Bench):
    """Promises copies, pushes them, and follows the first one's ports."""

    def __init__(self, dut):
        super().__init__(dut)
        self.promised = deque()  # cycles in which copies come
        self.copies = deque()  # that are inside, with the ports that need them
        self.due = {}  # by cycle: ports and copy that are delivered
        self.now, self.room, self.claimed, self.age = 0, True, 0, 0
        self.promise = False
        self.seen = Counter()

    def some_copy(self):
        copy = unpack(self.params.copy, random.getrandbits(self.params.copy.size))
        extremes = -(1 << FEATURE_BITS - 1), (1 << FEATURE_BITS - 1) - 1
        copy["features"][0] = random.choice((*extremes, copy["features"][0]))
        return copy

    async def step(self, *, promise, opened, active):
        dut, params = self.dut, self.params
        promise = promise and self.room and not self.promise  # room as it is behind a promise
        self.promise = promise
        if promise:
            self.promised.append(max(self.now + random.randint(1, 8), *self.promised, 0) + 1)
        push = bool(self.promised) and self.promised[0] <= self.now
        copy = self.some_copy()
        dut.reserve.value, dut.push.value = int(promise), int(push)
        dut.copy.value = pack(params.copy, copy)
        dut.open.value, dut.active.value = opened, active
        await self.edge
        dropped = int(dut.dropped.value)
        left = 0
        if self.copies:
            first = self.copies[0]
            left = first["left"] & active
        takes = left & opened
        assert bool(dut.taking.value) == bool(takes)
        assert int(dut.claim.value) == self.claimed  # in the cycle before
        assert dropped == (left & ~takes if self.age == PATIENCE else 0)
        self.seen["dropped"] += bool(dropped)
        if takes:
            self.due[self.now + 1 + CLAIM_LAG] = takes, first["copy"]
            self.seen["claimed"] += 1
            self.seen["apart"] += takes != left
        if self.copies:
            first["left"] &= ~(takes | dropped)
            self.age += 1
            if not left & ~(takes | dropped):
                self.copies.popleft()
                self.age = 0
        ports, golden = self.due.pop(self.now, (0, None))
        assert int(dut.deliver.value) == ports
        if ports:
            assert unpack(params.copy, int(dut.delivered.value)) == golden
        if push:
            self.promised.popleft()
            self.copies.append({"copy": copy, "left": copy["ports"]})
        self.room = bool(dut.room.value)
        self.seen["full"] += not self.room
        self.claimed, self.now = takes, self.now + 1
        return promise

    async def drain(self):
        everybody = (1 << self.params.ports) - 1
        while self.promised or self.copies or self.due:
            await self.step(promise=False, opened=everybody, active=everybody)
        for _ in range(CLAIM_LAG + 2):
            await self.step(promise=False, opened=everybody, active=everybody)


@crossed(eager=[0.1, 1], opens=[0.02, 0.5, 1])
async def any_ports(dut, eager, opens):
    bench = await started(CopyQueueBench(dut))
    everybody = (1 << bench.params.ports) - 1
    active, closed = everybody, 0
    for k in range(1500):
        if k % 100 == 0:
            active = random.choice((everybody, everybody, random.getrandbits(bench.params.ports)))
            closed = random.choice((0, 0, random.getrandbits(bench.params.ports)))
        ports = range(bench.params.ports)
        opened = sum((random.random() < opens) << port for port in ports) & ~closed
        await bench.step(
            promise=random.random() < eager,
            opened=opened,
            active=active,
        )
    await bench.drain()
    assert bench.seen["claimed"] > 10
    assert bench.seen["full"] or eager < 1 or opens == 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_port_that_takes_none(dut):
    """It loses its copy when its time is up, not sooner; the others have had theirs."""
    bench = await started(CopyQueueBench(dut))
    everybody = (1 << bench.params.ports) - 1
    for k in range(DEPTH * (PATIENCE + 1)):
        await bench.step(promise=k < 200, opened=everybody - 1, active=everybody)
    assert bench.seen["dropped"] > 2
    await bench.drain()
