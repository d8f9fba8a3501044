"""An input sends to one output at a time, an output takes from one input, and all have turns."""

import random
from collections import Counter

from hdl.switch.forwarding.matching import Matching
from hdl.switch.forwarding.params import ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from sim.harness.bench import Bench
from sim.harness.streams import crossed
from tests.simulated import simulated

SIZES = [
    ForwardingParams(**PRESETS["tiny"] | {"ports": 3}),
    ForwardingParams(**PRESETS["tiny"] | {"ports": 9, "classes": 4, "beats": 512}),
]
test_matching = simulated(Matching, SIZES, __name__, each=True)


class Golden:
    """Matches by the rule: outputs grant in turn, inputs accept in turn, none has two."""

    def __init__(self, params):
        self.params, self.ports, self.cycle = params, range(params.ports), 0
        self.granted = [-1 for _ in self.ports]  #: by output, the input that accepted its grant
        self.sends = [-1 for _ in self.ports]  #: by input, the output of its latest turn
        self.held = [False for _ in self.ports]  #: outputs with a turn, or an input that sends
        self.contended = 0  #: shown a cycle late

    def step(self, requests, idle):
        """Return the turns, by input, and what is shown, if pair (i, o) has classes to send."""
        turns, sends = {}, self.sends[:]
        grants = {}
        for o in self.ports:
            requesting = [i for i in self.ports if requests[i, o] and idle[i] and not self.held[o]]
            grants[o] = in_turn(requesting, self.granted[o])
        shown = {"contended": self.contended}
        for i in self.ports:
            offers = [o for o in self.ports if grants[o] == i]
            shown[f"turn_{i}"] = {"valid": 0, "output": 0, "class_": 0}
            if offers:
                turns[i] = o = in_turn(offers, sends[i])
                class_ = in_turn(requests[i, o], self.cycle % self.params.classes - 1)
                shown[f"turn_{i}"] = {"valid": 1, "output": 1 << o, "class_": class_}
                self.granted[o], self.sends[i] = i, o
        self.held = [
            o in turns.values() or any(sends[i] == o and not idle[i] for i in self.ports)
            for o in self.ports
        ]
        # Another input wants the output of this one, or this one another output.
        self.contended = sum(
            any(k and (j == i) != (o == sends[i]) for (j, o), k in requests.items()) << i
            for i in self.ports
        )
        self.cycle += 1
        return turns, shown


def in_turn(candidates, last):
    """Return the next candidate above the last, cyclically; None if there is none."""
    return min(candidates, key=lambda k: (k <= last, k), default=None)


def drawn(params, cycles, chance):
    """Return what inputs show in each cycle, busy for some after a turn begins, and the result."""
    golden, sending, rate = Golden(params), {}, chance
    for n in range(cycles):
        rate = random.choice((chance, chance, 0.02)) if n % 100 == 0 else rate
        sending = {i: o for i, o in sending.items() if random.random() < 0.8}
        requests = {
            (i, o): [k for k in range(params.classes) if random.random() < rate]
            for i in golden.ports
            for o in golden.ports
        }
        turns, shown = golden.step(requests, [i not in sending for i in golden.ports])
        assert not {*turns} & {*sending}
        assert len({*turns.values(), *sending.values()}) == len(turns | sending)
        idle = sum(1 << i for i in golden.ports if i not in sending)
        sending |= turns
        pairs = enumerate(requests.values())
        inputs = {f"requesting_{k}": sum(1 << class_ for class_ in some) for k, some in pairs}
        yield {"rst": 0, "idle": idle, **inputs}, shown


@crossed(chance=[0.05, 0.5, 1], ms=2)
async def turns_are_apart_and_fair(dut, chance):
    """Each turn is the golden model's, from a reset on that comes at any time."""
    bench = await Bench(dut).begin()
    ports, classes, pairs = range(bench.params.ports), Counter(), Counter()
    for cycles in (100, 2900):
        play, expected = zip(*drawn(bench.params, cycles, chance), strict=True)
        shown = await bench.played([play[-1] | {"rst": 1}, *play], *expected[0])
        assert list(shown) == list(expected)
        for i in ports:
            turns = [beat[f"turn_{i}"] for beat in expected if beat[f"turn_{i}"]["valid"]]
            pairs.update((i, turn["output"]) for turn in turns)
            classes.update(turn["class_"] for turn in turns)
    share = sum(pairs.values()) / len(ports) ** 2
    assert len(pairs) == len(ports) ** 2
    assert all(0.5 * share < turns < 2 * share for turns in pairs.values())
    assert min(classes.values()) > 0.7 * max(classes.values())
    assert len(classes) == bench.params.classes
