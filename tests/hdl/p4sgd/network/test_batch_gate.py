import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.network.batch_gate import COUNT_BITS, BatchGate
from sim.harness.streams import start
from tests.hdl.p4sgd.bench import generator, micro_batches, pulse, put
from tests.hdl.p4sgd.engine.mini_batch_model import MiniBatchModel
from tests.hdl.stateful import follow
from tests.simulated import simulated

QUIET = {"start": 0, "vanilla": 0, "seen": 0, "delivered": 0}

test_batch_gate = simulated(
    BatchGate,
    [EngineParams()],
    __name__,
    registers=["gathering", "complete", "in_batch", "in_epoch"],
)


def some_run(rng):
    """Draw lengths, often with an incomplete last mini-batch, and which micro-batches are last."""
    lengths = {
        "batch_micro_batches": int(rng.integers(1, 6)),
        "epoch_micro_batches": int(rng.integers(1, 14)),
    }
    run = lengths | {"tail_samples": 1, "epochs": int(rng.integers(1, 4, endpoint=True))}
    return lengths, [mark["last"] for mark in micro_batches(run, 1)]


def allowed_after(lasts, seen):
    """Return how many may be delivered: all of mini-batches that were seen to their ends."""
    return max((j + 1 for j in range(seen) if lasts[j]), default=0)


async def go(dut, lengths, lasts, vanilla, see, take):
    """Run with random arrivals, watched in every cycle."""
    edge = RisingEdge(dut.clk)
    put(dut, lengths=lengths, vanilla=vanilla)
    await pulse(dut, "start")
    seen = delivered = 0
    while delivered < len(lasts):
        may = not vanilla or delivered < allowed_after(lasts, seen)
        sees = seen < len(lasts) and random.random() < see
        takes = may and delivered < seen and random.random() < take
        put(dut, seen=sees, delivered=takes)
        await edge
        assert bool(dut.allowed.value) == may, (seen, delivered)
        seen += sees
        delivered += takes
    put(dut, seen=0, delivered=0)
    await edge
    assert bool(dut.allowed.value) != vanilla


RATES = [(1, 1), (1, 0.2), (0.3, 1), (0.5, 0.5)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(rates=RATES, vanilla=[True, False])
async def holds_until_the_last_is_seen(dut, rates, vanilla):
    """Runs of any size follow each other."""
    rng = generator()
    put(dut, **QUIET)
    await start(dut)
    for _ in range(25):
        await go(dut, *some_run(rng), vanilla, *rates)


class Gate(MiniBatchModel):
    """Counts what has come of a mini-batch, and what may be delivered."""

    name, port = "mini_batches.", "seen"

    def preset(self):
        bit = 1 << random.randrange(COUNT_BITS)
        self.gathering, self.complete = random.choice((0, random.randrange(2 * bit))), 0
        if random.random() < 0.8:
            self.complete = random.choice((bit, random.randrange(2 * bit)))
        self.vanilla = int(random.random() < 0.9)
        return super().preset() | {"gathering": self.gathering, "complete": self.complete}

    def draw(self):
        delivered = self.complete > 0 and random.random() < self.rate
        return super().draw() | {"delivered": int(delivered), "vanilla": self.vanilla}

    def outputs(self, inputs):
        return {"allowed": int(not self.vanilla or self.complete != 0)}

    def step(self, inputs):
        if inputs["start"]:
            self.gathering = self.complete = 0
        else:
            self.gathering += inputs["seen"]
            self.complete -= inputs["delivered"]
            if inputs["seen"] and self.last:
                self.complete += self.gathering
                self.gathering = 0
            self.gathering %= 1 << COUNT_BITS
            self.complete %= 1 << COUNT_BITS
        super().step(inputs)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_over_every_bit(dut):
    """It does so for lengths of any bits; a run that is broken off leaves nothing behind."""
    put(dut, **QUIET)
    await start(dut)
    await follow(dut, Gate(), runs=600)
