import random

import cocotb

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.network.batch_gate import COUNT_BITS, BatchGate
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.bench import Bench
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.engine.mini_batch_model import MiniBatchModel
from tests.hdl.stateful import follow
from tests.simulated import simulated

test_batch_gate = simulated(
    BatchGate,
    [WorkerParams(), WorkerParams(engines=3, classes=3, engine=EngineParams(banks=16))],
    __name__,
    registers=["gathering", "complete", "in_batch", "in_epoch"],
)


class Gate(MiniBatchModel):
    """Counts what has come of a mini-batch, and what may be delivered."""

    name, port = "mini_batches.", "whole"

    def __init__(self, packets):
        self.packets = packets  #: of a micro-batch
        self.counts = {"seen": 0, "delivered": 0}

    def preset(self):
        bit = 1 << random.randrange(COUNT_BITS)
        self.gathering, self.complete = random.choice((0, random.randrange(2 * bit))), 0
        if random.random() < 0.8:
            self.complete = random.choice((bit, random.randrange(2 * bit)))
        self.vanilla = int(random.random() < 0.9)
        registers = super().preset()
        if random.random() < 0.5:  # so few that each one decides
            self.batch, self.in_batch = random.randint(1, 3), 0
            self.gathering, self.complete = random.choice((0, bit)), 0
        registers[f"{self.name}in_batch"] = self.in_batch
        return registers | {"gathering": self.gathering, "complete": self.complete}

    def draw(self):
        delivered = self.complete > 0 and random.random() < self.rate
        drawn = super().draw()
        seen = drawn.pop(self.port)
        return drawn | {"seen": seen, "delivered": int(delivered), "vanilla": self.vanilla}

    def outputs(self, inputs):
        return {"allowed": int(not self.vanilla or self.complete != 0)}

    def step(self, inputs):
        whole = {}
        for name in self.counts:
            count = self.counts[name] + inputs[name]
            whole[name] = count == self.packets
            self.counts[name] = 0 if inputs["start"] else count % self.packets
        inputs = inputs | {self.port: whole["seen"]}
        if inputs["start"]:
            self.gathering = self.complete = 0
        else:
            self.gathering += whole["seen"]
            self.complete -= whole["delivered"]
            if whole["seen"] and self.last:
                self.complete += self.gathering
                self.gathering = 0
            self.gathering %= 1 << COUNT_BITS
            self.complete %= 1 << COUNT_BITS
        super().step(inputs)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_over_every_bit(dut):
    """It does so for lengths of any bits; a run that is broken off leaves nothing behind."""
    await Bench(dut).begin()
    await follow(dut, Gate(params_in_simulator(WorkerParams).packets), runs=1200)
