import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer

from hdl.netsparse.concat.concatenator_params import MOST_DELAY, ConcatenatorParams
from hdl.netsparse.concat.expiration_queue import ExpirationQueue
from sim.harness.bench import Bench
from sim.harness.verilator import params_in_simulator, simulate
from tests.long import short_and_long


@pytest.mark.parametrize(
    "most_delay", short_and_long([20, 100, MOST_DELAY], [20, 100])
)  # a list in LUTs, and in blocks
def test_expiration_queue(most_delay):
    params = ConcatenatorParams(
        payload=False, nodes=9, mtu=300, most_property_bytes=64, most_delay=most_delay
    )
    simulate(ExpirationQueue(params), __name__, registers=["now"])


class Queues(Bench):
    """Opens and closes packets, and judges which expire and when."""

    def __init__(self, dut, delay):
        super().__init__(dut, delay=delay)
        self.delay, self.lateness = delay, self.component.lateness
        self.open = {}  # queue: when it was opened, in the order of opening
        self.entries = [0] * self.params.queues  # that their packets remember, gone or not
        self.now = 0
        self.ages = []  # of the packets that expired

    async def turn(self, busy=0.0, early=0.1, force=False):
        """Play a cycle: perhaps a packet opens, closes before its time, or both."""
        dut = self.dut
        self.now += 1
        assert dut.ready.value, "there is always room"
        dut.force.value = random.randint(1, 3) if force else 0
        oldest = int(dut.oldest.value)
        dut.open.value = oldest in self.open
        dut.entered.value = self.entries[oldest] if oldest < self.params.queues else 0
        await Timer(1, "step")
        expired = int(dut.expired.value) if dut.expires.value else None
        if expired is not None:
            age = self.now - self.open.pop(expired)
            assert all(age >= self.now - at for at in self.open.values()), "not the oldest"
            assert force or age > self.delay, "its time has not passed"
            self.ages.append(age)
        closed = [queue for queue in range(self.params.queues) if queue not in self.open]
        opens = closes = None
        if random.random() < busy and closed:
            opens = random.choice(closed)
            closes = opens if random.random() < early else None
        elif self.open and random.random() < early:
            closes = random.choice(list(self.open))
        dut.opens.value, dut.closes.value = opens is not None, closes is not None
        dut.entering.value = random.randrange(self.params.queues) if opens is None else opens
        dut.closed.value = random.randrange(self.params.queues) if closes is None else closes
        entry = int(dut.entry.value)
        await FallingEdge(dut.clk)
        if opens is not None:
            self.open[opens], self.entries[opens] = self.now, entry
        self.open.pop(closes, None)
        if not force:
            late = [q for q, at in self.open.items() if self.now - at > self.delay + self.lateness]
            assert not late


async def begin(dut, delay):
    queues = await Queues(dut, delay).begin()
    await FallingEdge(dut.clk)
    # The end of times comes soon, and again when the longest delay is over.
    dut.now.value = (1 << queues.params.time_bits) - random.randrange(1, 300)
    return queues


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(delay=[0, 1, 7, "most"], busy=[0.3, 1.0])
async def packets_expire_in_time(dut, delay, busy):
    delay = params_in_simulator(ConcatenatorParams).most_delay if delay == "most" else delay
    queues = await begin(dut, delay)
    for _ in range(600):
        await queues.turn(busy)
    for _ in range(delay + queues.lateness + 1):
        await queues.turn(early=0)
    assert not queues.open
    assert len(queues.ages) > 20 * (delay < 600)
    assert max(queues.ages) <= delay + queues.lateness


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_bit_of_the_delay_counts(dut):
    """An entry that waits for its time expires in the cycle after it."""
    queues = await begin(dut, 0)
    for bit in range(3, queues.params.delay_bits):
        queues.ages.clear()
        queues.delay = min(random.randrange(1 << bit, 2 << bit), queues.params.most_delay)
        dut.delay.value = queues.delay
        for _ in range(100):
            await queues.turn(0.3, early=0)
        for _ in range(queues.delay + queues.lateness + 1):
            await queues.turn(early=0)
        assert not queues.open
        assert min(queues.ages) == queues.delay + 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def force_takes_the_oldest(dut):
    queues = await begin(dut, queues_delay := params_in_simulator(ConcatenatorParams).most_delay)
    for _ in range(600):
        await queues.turn(0.5, force=random.random() < 0.3)
    assert len(queues.ages) > 50
    assert min(queues.ages) < queues_delay // 2
    for _ in range(queues.params.queues + queues.params.expirations):
        await queues.turn(early=0, force=True)
    assert not queues.open
