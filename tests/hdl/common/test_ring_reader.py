import random
from itertools import pairwise

import cocotb

from hdl.common.ring_reader import RingReader, RingReaderParams
from hdl.common.rings import DESCRIPTOR_BYTES, Fault
from sim.harness.bench import Bench
from sim.harness.streams import cycle, start
from sim.harness.verilator import simulate
from tests.hdl.common.ring_host import CLOSED, INDICES, RingHost
from tests.hdl.stateful import follow
from tests.hdl.wrapped import Wrapped

PARAMS = RingReaderParams(address_bits=24, ahead=3)


class WrappedReader(Wrapped):
    kind = RingReader


def test_ring_reader():
    simulate(WrappedReader(PARAMS), __name__, registers=["requested", "consumer"])


class Model:
    """Is a reader with its host, which fills and closes rings, and with the user of descriptors.

    What was asked for is ``coming`` until it arrives, and ``present`` until it leaves.
    """

    def __init__(self, params):
        self.host = RingHost(DESCRIPTOR_BYTES, params.address_bits)
        self.params, self.most, self.faults = params, 0, set()
        self.reset()

    def reset(self):
        self.phase, self.fault, self.host.ring = "closed", Fault.NONE, dict(CLOSED)
        self.requested = self.ahead = self.consumer = self.coming = self.present = 0

    def preset(self):
        """Draw who is slow; let an open ring have come to where its indices carry, or wrap."""
        self.ready, self.holds = random.choice((0, 0.3, 1, 1)), random.choice((0, 0, 0.5, 1))
        self.arrives, self.leaves = (random.choice((0.02, 0.3, 1)) for _ in range(2))
        self.writes = random.choice((0.05, 0.5))
        if not self.host.ring["enable"] or self.phase == "closed" or random.random() < 0.3:
            return {}
        step = self.host.jump(self.requested)
        self.requested = (self.requested + step) % INDICES
        self.consumer = (self.consumer + step) % INDICES
        return {"part.requested": self.requested, "part.consumer": self.consumer}

    def draw(self):
        if self.host.ring["enable"]:
            self.write()
        elif not (self.busy or self.requested or self.consumer):
            self.host.draw()
        return {
            "ring": dict(self.host.ring),
            "hold": int(random.random() < self.holds),
            "demands_ready": int(random.random() < self.ready),
            "arrived": int(self.coming > 0 and random.random() < self.arrives),
            "left": int(self.present > 0 and random.random() < self.leaves),
            "rst": int(random.random() < 0.001),
        }

    def write(self):
        """Close the ring, or fill places that are free, or more than there are."""
        chance = random.random()
        written, places = self.host.ring["index"], self.host.places
        if chance < (0.01 if self.fault is Fault.NONE else 0.1):
            self.host.close()
        elif chance < 0.02:
            over = random.choice((1, 2, random.randrange(1, INDICES)))
            self.host.set_index(self.consumer + places + over)
        elif chance < self.writes:
            free = places - (written - self.consumer) % INDICES
            if free < 0:
                written, free = self.consumer, places
            self.host.set_index(written + random.choice((0, random.randint(0, free), free)))

    @property
    def held(self):
        return self.coming + self.present

    @property
    def busy(self):
        return self.phase != "closed" or self.held > 0

    def outputs(self, inputs):
        shown = {"demands_valid": int(self.phase == "ask"), "busy": int(self.busy)}
        shown |= {"consumer": self.consumer, "fault": self.fault}
        if self.phase == "ask":
            shown["demands_payload"] = self.host.place(self.requested)
        return shown

    def step(self, inputs):
        if inputs["rst"]:
            self.reset()
            return
        idle, ahead, held = not self.busy, self.ahead, self.held
        self.ahead = (inputs["ring"]["index"] - self.requested) % INDICES
        self.consumer = 0 if self.phase == "closed" and not held else self.consumer
        self.consumer = (self.consumer + inputs["arrived"]) % INDICES
        self.coming -= inputs["arrived"]
        self.present += inputs["arrived"] - inputs["left"]
        self.go_on(inputs, idle, ahead, held)
        self.most = max(self.most, self.held)
        self.faults.add(self.fault)

    def go_on(self, inputs, idle, ahead, held):
        """Look whether the ring is open; then judge it and what was written; then ask."""
        if self.phase == "closed":
            self.requested = 0 if idle else self.requested
            self.phase = "look" if idle and inputs["ring"]["enable"] else "closed"
        elif self.phase == "look":
            self.phase = "judge" if inputs["ring"]["enable"] else "closed"
            self.fault = self.fault if inputs["ring"]["enable"] else Fault.NONE
        elif self.phase == "judge":
            self.phase = "look"
            if self.fault is not Fault.NONE:
                return
            if self.host.is_misplaced:
                self.fault = Fault.ADDRESS
            elif ahead > self.host.places:
                self.fault = Fault.OVERRUN
            elif ahead and held < self.params.ahead and not inputs["hold"]:
                self.phase = "ask"
        elif inputs["demands_ready"]:
            self.phase, self.requested = "look", (self.requested + 1) % INDICES
            self.coming += 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reads_rings_as_the_model_does(dut):
    model = Model(Bench(dut).params)
    await start(dut)
    await follow(dut, model, runs=600, cycles=60)
    assert model.most == model.params.ahead
    assert model.faults == {Fault.NONE, Fault.ADDRESS, Fault.OVERRUN}


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_descriptor_every_three_or_four_cycles(dut):
    bench, ring = Bench(dut), {"enable": 1, "size": 6}
    bench.set(ring=ring)
    await bench.begin()
    await bench.wait(10)
    bench.set(ring=ring | {"index": 60})
    begun = cycle()
    await bench.demands.wait_for(3)
    assert 0 <= bench.demands.cycles[0] - begun - RingReader.latency <= 1
    assert {after - before for before, after in pairwise(bench.demands.cycles)} <= {3, 4}
