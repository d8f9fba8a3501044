import random
from collections import deque

import cocotb

from hdl.common.crossing.synchroniser import Synchroniser
from hdl.u280.clock_ip import APB_MHZ
from hdl.u280.mac_resets import MacResets, MacResetsParams
from hdl.u280.mac_signals import DEMANDS, SETTINGS
from sim.harness.bench import Bench
from sim.harness.payloads import unpack
from sim.harness.verilator import simulate
from tests.hdl.stateful import follow
from tests.rejects import rejects

QUICK = MacResetsParams(settle=130, patience=100, pulse=50)
OUTPUTS = ("whole", "transmit", "receive", "watchdog")
ON = SETTINGS.const({"rsfec": 1}).as_value().value


def test_mac_resets():
    simulate(MacResets(QUICK), __name__)


def test_times_of_the_cards():
    times = MacResetsParams()
    assert (times.settle, times.patience) == (20e-3 * APB_MHZ * 1e6, APB_MHZ * 1e6)
    assert times.pulse >= 50


test_rejects = rejects(
    MacResetsParams,
    ({"settle": 63}, "settle must be at least pulse, 64 cycles: 63"),
    ({"patience": 10}, "patience must be at least pulse, 64 cycles: 10"),
)


class Model:
    """Counts what is left of a pulse, and how long the receiver has heard nothing."""

    def __init__(self):
        self.inputs = {"aligned": 0, "demands": 0, "settings": ON}
        self.coming = deque(maxlen=Synchroniser.latency)  #: inputs that are not seen yet
        self.forget()

    def forget(self):
        self.high, self.left = {"whole"}, QUICK.settle  #: outputs, and for how many cycles yet
        self.applied, self.served, self.deaf = ON, 0, 0

    def preset(self):
        """Draw how often the receiver hears something, and how often the host wants something."""
        self.hears, self.needs = random.choice((0, 0, 0.02, 1)), random.choice((0, 0.01, 0.1))
        return {}

    def draw(self):
        chance = random.random
        if chance() < self.needs:
            self.inputs["demands"] ^= random.choice((1, 2, 4, 7))
        if chance() < self.needs / 3:
            self.inputs["settings"] = random.getrandbits(SETTINGS.size)
        self.inputs["aligned"] = int(chance() < self.hears)
        resets = len(self.coming) < Synchroniser.latency or chance() < 0.0005
        return self.inputs | {"rst": int(resets)}

    def outputs(self, inputs):
        shown = {name: int(name in self.high) for name in OUTPUTS}
        return shown | {"applied": unpack(SETTINGS, self.applied)}

    def step(self, inputs):
        seen = self.coming[0] if len(self.coming) == Synchroniser.latency else None
        self.coming.append(dict(inputs))
        if inputs["rst"]:
            self.forget()
        elif self.left > 1:
            self.left, self.deaf = self.left - 1, 0
        else:
            self.look(seen)

    def look(self, seen):
        """See, when no reset goes on, what begins one."""
        requested, changed = seen["demands"] ^ self.served, seen["settings"] != self.applied
        barks = self.deaf >= QUICK.patience
        self.high = {name for name in DEMANDS.members if requested >> DEMANDS[name].offset & 1}
        self.high |= {"transmit", "receive"} if changed else set()
        self.high |= {"receive", "watchdog"} if barks else set()
        self.left = QUICK.pulse if self.high else 1
        self.served, self.applied = seen["demands"], seen["settings"]
        self.deaf = 0 if barks or seen["aligned"] else self.deaf + 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def resets_when_it_must(dut):
    """It does while the reference settles, for the host, and for a receiver that hears nothing."""
    await Bench(dut).begin()
    await follow(dut, Model(), runs=60, cycles=400)
