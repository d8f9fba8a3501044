import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switchgnn.switch.banks.ready_lists import ReadyLists, push_layout
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.results.read_schedule import ReadSchedule
from sim.harness.payloads import pack
from sim.harness.streams import start, strobe
from sim.harness.verilator import params_in_simulator
from tests.hdl.switchgnn.switch.sizes import TINY, bank_sizes
from tests.simulated import simulated

SIZES = [TINY, bank_sizes(ports=2, slots=2), bank_sizes(ports=8, slots=1024)]

test_ready_lists = simulated(ReadyLists, SIZES, __name__)


def test_recovery():
    """A list that is soon ready is chosen as early as the schedule looks at it."""
    assert ReadyLists.recovery == 3
    assert ReadyLists.ahead == ReadSchedule.holes_ahead


class Lists:
    """Keeps a queue for each port, and does to the lists under test what is done to it."""

    def __init__(self, dut, params):
        self.dut, self.params = dut, params
        self.queues = [deque() for _ in range(params.ports)]
        self.since = [ReadyLists.recovery] * params.ports  # cycles since a pop left something

    @property
    def ready(self):
        pairs = zip(self.queues, self.since, strict=True)
        return [len(queue) > 0 and since >= ReadyLists.recovery for queue, since in pairs]

    @property
    def free(self):
        """Return what is in no queue."""
        return sorted(set(range(self.params.slots)).difference(*self.queues))

    async def step(self, push=None, pop=None):
        """Play a cycle that pushes a pair of slot and port, or pops a port."""
        dut, params = self.dut, self.params
        slot, port = push or (random.randrange(params.slots), random.randrange(params.ports))
        pushed = {"valid": int(push is not None), "slot": slot, "port": port}
        dut.push.value = pack(push_layout(params), pushed)
        dut.pop.value = int(pop is not None)
        asked = random.randrange(params.ports) if pop is None else pop
        dut.port.value = asked
        ready, soon = self.ready, sum(bool(queue) << k for k, queue in enumerate(self.queues))
        await RisingEdge(dut.clk)
        assert int(dut.soon.value) == soon
        assert int(dut.ready.value) == sum(bit << k for k, bit in enumerate(ready))
        if ready[asked]:
            assert int(dut.head.value) == self.queues[asked][0]
        self.since = [since + 1 for since in self.since]
        if pop is not None:
            assert ready[pop]
            self.queues[pop].popleft()
            self.since[pop] = 1 if self.queues[pop] else ReadyLists.recovery
        if push is not None:
            self.queues[port].append(slot)

    async def empty(self):
        """Pop whatever can be until nothing is left."""
        while any(self.queues):
            ready = [port for port, bit in enumerate(self.ready) if bit]
            await self.step(pop=random.choice(ready) if ready else None)
        assert self.ready == [False] * self.params.ports
        await self.step()


async def begin(dut):
    params = params_in_simulator(GnnSwitchParams)
    dut.push.value = dut.pop.value = 0
    await start(dut)
    return Lists(dut, params)


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(pushes=[0.2, 0.6, 1.0], pops=[0.2, 0.6, 1.0])
async def keeps_the_order(dut, pushes, pops):
    """One list may hold all, and one of a single slot may be replaced in every cycle."""
    lists = await begin(dut)
    ports = range(lists.params.ports)
    free = list(range(lists.params.slots))
    for k in range(600):
        if k % 100 == 0:
            hot, heat = random.choice(ports), random.choice((0.5, 1))
        push = pop = None
        if free and random.random() < pushes:
            slot = free.pop(random.randrange(len(free)))
            push = slot, hot if random.random() < heat else random.choice(ports)
        ready = [port for port in ports if lists.ready[port]]
        if ready and random.random() < pops:
            pop = hot if hot in ready else random.choice(ready)
            free.append(lists.queues[pop][0])
        await lists.step(push, pop)
    await lists.empty()


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(behind=[0, 1, 2, 3])
async def a_reset_empties_all_lists(dut, behind):
    """It also empties one whose next slot is on its way."""
    lists = await begin(dut)
    for slot in lists.free:
        await lists.step((slot, slot % lists.params.ports))
    for _ in range(4):
        await lists.step()
    await lists.step(pop=0)
    for _ in range(behind):
        await lists.step()
    dut.push.value = dut.pop.value = 0
    await strobe(dut.rst, dut.clk)
    lists = Lists(dut, lists.params)
    for _ in range(4):
        await lists.step()
    for slot in lists.free:
        await lists.step((slot, 0))
    await lists.empty()
