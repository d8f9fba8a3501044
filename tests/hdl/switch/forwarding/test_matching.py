"""An input sends to one output at a time, an output takes from one input, and all have turns."""

import random
from collections import Counter

from hdl.switch.forwarding.matching import Matching
from hdl.switch.forwarding.params import ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from sim.harness.payloads import unpack
from sim.harness.streams import crossed, edges, start
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

SIZES = [
    ForwardingParams(**PRESETS["tiny"] | {"ports": 3}),
    ForwardingParams(**PRESETS["tiny"] | {"ports": 9, "classes": 4, "beats": 512}),
]
test_matching = simulated(Matching, SIZES, __name__, each=True)


class Inputs:
    """Stands for all inputs: each is busy for some cycles after its turn begins."""

    def __init__(self, dut):
        self.dut, self.params = dut, params_in_simulator(ForwardingParams)
        self.ports = range(self.params.ports)
        self.sends = {}  # output of each busy input
        self.served = Counter()  # turns, by input, output and class

    async def run(self, cycles, chance):
        """Request queues with a chance in every cycle, and check each turn."""
        dut, count = self.dut, self.params.ports
        last, contended = {}, None  # the output of each input's last turn
        for _ in range(cycles):
            self.sends = {i: o for i, o in self.sends.items() if random.random() < 0.8}
            requests = [
                [k for k in range(self.params.classes) if random.random() < chance]
                for _ in range(count * count)
            ]
            for pair, classes in enumerate(requests):
                getattr(dut, f"requesting_{pair}").value = sum(1 << k for k in classes)
            dut.idle.value = sum(1 << i for i in self.ports if i not in self.sends)
            await edges(dut.clk, 1)
            if contended is not None:
                assert [int(dut.contended.value) >> i & 1 for i in self.ports] == contended
            contended = [
                any(
                    requests[j * count + o] and (j == i) != (o == last.get(i))
                    for j in self.ports
                    for o in self.ports
                    if j == i or o == last.get(i)
                )
                for i in self.ports
            ]
            for i in self.ports:
                turn = unpack(self.params.turn, int(getattr(dut, f"turn_{i}").value))
                if turn["valid"]:
                    output = turn["output"].bit_length() - 1
                    assert turn["output"] == 1 << output
                    assert i not in self.sends
                    assert output not in self.sends.values()
                    assert turn["class_"] in requests[i * count + output]
                    self.sends[i] = last[i] = output
                    self.served[i, output, turn["class_"]] += 1


@crossed(chance=[0.05, 0.5, 1], ms=2)
async def turns_are_apart_and_fair(dut, chance):
    inputs = Inputs(dut)
    for pair in range(inputs.params.ports**2):
        getattr(dut, f"requesting_{pair}").value = 0
    dut.idle.value = 0
    await start(dut)
    await inputs.run(3000, chance)
    pairs = Counter()
    for (i, o, _), turns in inputs.served.items():
        pairs[i, o] += turns
    share = sum(pairs.values()) / inputs.params.ports**2
    assert len(pairs) == inputs.params.ports**2
    assert all(0.5 * share < turns < 2 * share for turns in pairs.values())
    classes = Counter(k for _, _, k in inputs.served.elements())
    assert min(classes.values()) > 0.7 * max(classes.values())
    assert len(classes) == inputs.params.classes
