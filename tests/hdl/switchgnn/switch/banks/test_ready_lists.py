import random
from collections import deque

import cocotb

from hdl.switchgnn.switch.banks.ready_lists import ReadyLists
from hdl.switchgnn.switch.results.read_schedule import ReadSchedule
from sim.harness.bench import Bench
from tests.hdl.stateful import follow
from tests.hdl.switchgnn.switch.sizes import TINY, bank_sizes
from tests.simulated import simulated

SIZES = [TINY, bank_sizes(ports=2, slots=2), bank_sizes(ports=8, slots=1024)]

test_ready_lists = simulated(ReadyLists, SIZES, __name__)


def test_recovery():
    """A list that is soon ready is chosen as early as the schedule looks at it."""
    assert ReadyLists.recovery == 3
    assert ReadyLists.ahead == ReadSchedule.holes_ahead


class Lists:
    """Keeps a queue for each port; one may hold all slots, or one that is replaced at once."""

    def __init__(self, params):
        self.params, self.ports = params, range(params.ports)
        self.pushes = self.pops = self.hot = self.heat = 0
        self.reset()

    def reset(self):
        self.queues = [deque() for _ in self.ports]
        self.since = [ReadyLists.recovery for _ in self.ports]  # cycles since a pop left something

    @property
    def ready(self):
        pairs = zip(self.queues, self.since, strict=True)
        return [len(queue) > 0 and since >= ReadyLists.recovery for queue, since in pairs]

    def preset(self):
        """Go on as before, or draw a pace, and a port to which most slots go."""
        if random.random() < 0.3:
            self.pushes, self.pops = random.choices((0, 0.2, 0.6, 1), k=2)
            self.hot, self.heat = random.choice(self.ports), random.choice((0.5, 1))
        return {}

    def draw(self):
        free = sorted(set(range(self.params.slots)).difference(*self.queues))
        push = {"valid": int(bool(free) and random.random() < self.pushes)}
        push["slot"] = random.choice(free) if free else 0
        push["port"] = self.hot if random.random() < self.heat else random.choice(self.ports)
        ready = [port for port in self.ports if self.ready[port]]
        port = self.hot if self.hot in ready else random.choice(ready or self.ports)
        pop = int(bool(ready) and random.random() < self.pops)
        reset = int(random.random() < 0.005)
        return {"push": push, "pop": pop, "port": port, "rst": reset}

    def outputs(self, inputs):
        shown = {
            "soon": sum(bool(queue) << k for k, queue in enumerate(self.queues)),
            "ready": sum(bit << k for k, bit in enumerate(self.ready)),
        }
        port = inputs["port"]
        return shown | ({"head": self.queues[port][0]} if self.ready[port] else {})

    def step(self, inputs):
        if inputs["rst"]:
            return self.reset()
        push, port = inputs["push"], inputs["port"]
        self.since = [since + 1 for since in self.since]
        if inputs["pop"]:
            self.queues[port].popleft()
            self.since[port] = 1 if self.queues[port] else ReadyLists.recovery
        if push["valid"]:
            self.queues[push["port"]].append(push["slot"])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def keeps_the_order(dut):
    """It empties all lists in a reset, too, those whose next slot is on its way among them."""
    bench = await Bench(dut).begin()
    await follow(dut, Lists(bench.params), runs=300)
