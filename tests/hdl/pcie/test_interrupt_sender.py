"""Sends interrupts to a block that answers late, fails some, and is switched off for a while."""

import random
from collections import Counter

import cocotb

from hdl.pcie.interrupt_sender import InterruptSender, InterruptSenderParams
from sim.harness.bench import Bench
from sim.harness.streams import cycle
from sim.harness.verilator import simulate
from tests.hdl.pcie.interrupt_block import PATIENCE, VECTORS
from tests.hdl.stateful import follow


def test_interrupt_sender():
    params = InterruptSenderParams(vectors=VECTORS, patience=PATIENCE)
    simulate(InterruptSender(params), __name__)


def test_patience():
    assert InterruptSenderParams().patience == round(0.050 * 250e6)


class Model:
    """Is the sender, the block that it asks, and a host that switches interrupts off and on."""

    def __init__(self):
        self.seen = Counter()
        self.reset()

    def reset(self):
        self.waiting, self.last = set(), VECTORS - 1
        self.requested = self.sending = (
            None  # the vector of which the block is asked, and in this cycle
        )
        self.due = 0  # cycles in which an interrupt was due and none was sent
        self.late = self.silent = False

    def preset(self):
        """Draw how often vectors are asked for, how the block answers, and the host's habits."""
        self.demands, self.answers = (
            random.choice((0.005, 0.1, 1)),
            random.choice((0, 0.025, 0.3, 1)),
        )
        self.fails, self.enables = random.choice((0, 0.5, 1)), random.choice((1, 1, 0.9, 0.1))
        self.clears = random.choice((0, 0, 0.02))
        return {}

    def draw(self):
        """Draw a cycle; the function is not reset as it asks the block, which answers later."""
        answers = self.requested is not None and self.sending is None
        answers = answers and random.random() < self.answers
        fails = random.random() < self.fails
        clear = random.random() < self.clears
        enable = random.random() < self.enables and not (clear and self.requested is None)
        return {
            "demands": sum((random.random() < self.demands) << k for k in range(VECTORS)),
            "enable": int(enable),
            "clear": int(clear),
            "sent": int(answers and not fails),
            "failed": int(answers and fails),
            "rst": int(random.random() < 0.001),
        }

    def outputs(self, _):
        vector = 0 if self.sending is None else 1 << self.sending
        shown = {"vector": vector, "send": int(vector > 0)}
        return shown | {"late": int(self.late), "silent": int(self.silent)}

    def step(self, inputs):
        if inputs["rst"]:
            self.reset()
            return
        self.watch(inputs)
        goes, again = inputs["enable"] and self.requested is None, inputs["failed"]
        in_turn = sorted(self.waiting, key=lambda vector: (vector - self.last - 1) % VECTORS)
        chosen = in_turn[0] if goes and in_turn else None
        self.waiting -= {chosen}
        self.waiting |= {k for k in range(VECTORS) if inputs["demands"] >> k & 1}
        self.waiting |= {self.requested} if again else set()
        self.sending, self.last = chosen, self.last if chosen is None else chosen
        self.requested = chosen if goes else self.requested
        if inputs["sent"] or again:
            self.requested = None
        if inputs["clear"]:
            self.waiting, self.requested = set(), None

    def watch(self, inputs):
        """Count while an interrupt is due; it is late if none was sent for too long."""
        is_due = self.requested is not None or (self.waiting and inputs["enable"])
        ends = not is_due or inputs["sent"] or inputs["clear"]
        silent = not ends and self.due == PATIENCE
        self.late, self.silent = silent and not self.silent, silent
        if self.due == PATIENCE:
            self.seen["late" if self.late else "sent" if inputs["sent"] else "other"] += 1
        self.due = 0 if ends else min(self.due + 1, PATIENCE)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def sends_as_the_model_does(dut):
    model = Model()
    await Bench(dut).begin()
    await follow(dut, model, runs=600, cycles=100)
    assert min(model.seen[name] for name in ("late", "sent", "other")) > 5, model.seen


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def keeps_its_latency(dut):
    bench = await Bench(dut, enable=1).begin()
    begun = cycle()
    await bench.strobe(demands=1)
    await bench.until("send", 1)
    assert cycle() - begun == InterruptSender.latency + 1
