"""Tests the banks' upper lanes, in another die, with additions and reads at random."""

import random
from collections import defaultdict

import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from hdl.switchgnn.switch.banks.far_lanes import FarLanes
from hdl.switchgnn.switch.banks.sum_memory import SumMemory
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import DELIVERY_CYCLES, READ_CYCLES
from sim.harness.payloads import pack, unpack
from sim.harness.streams import crossed, start
from sim.harness.verilator import params_in_simulator
from tests.hdl.switchgnn.switch.sizes import TINY
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=3, lanes=2, window=4, banks=2, slots=8, slr_stages=1),
    GnnSwitchParams(ports=2, lanes=8, window=8, banks=8, slots=16, slr_stages=4),
]
#: Cycles from a READ to the address at the memory of what is read, and from there to the rest.
ADDRESS = READ_CYCLES - SumMemory.lead - SumMemory.lag
DECISION = ADDRESS + SumMemory.lead
RECENT = 2  #: cycles in which sums that were written cannot be read

test_far_lanes = simulated(
    FarLanes, SIZES, __name__, ids=lambda params: f"{params.banks}x{params.slr_stages}"
)


@pytest.mark.parametrize("stages", range(1, 5))
def test_latency(stages):
    params = GnnSwitchParams(slr_stages=stages)
    assert FarLanes(params).latency == params.delivery_cycles - DELIVERY_CYCLES == 2 * stages - 1


def test_lanes_in_one_die_are_as_quick_as_they_were():
    assert TINY.delivery_cycles == DELIVERY_CYCLES == 6
    assert TINY.bank_sums == TINY.sums


def some_bits(shape):
    return unpack(shape, random.getrandbits(shape.size))


class Bench:
    """Plans what comes in each cycle, and knows the upper lanes of every aggregator."""

    def __init__(self, dut):
        self.dut, self.params = dut, params_in_simulator(GnnSwitchParams)
        self.banks = range(self.params.banks)
        self.shown = defaultdict(dict)  # by cycle: values of inputs
        self.reported = defaultdict(dict)  # by cycle: the fields of each bank's command
        self.expected = {}  # by cycle: ports and delivery; the upper lanes, if they are known
        self.sums = {}  # by bank and aggregator
        self.written = []  # by cycle: banks and aggregators
        self.now = self.read = 0

    def plan(self, slots):
        """Give every bank an aggregator, and perhaps an addition, and one of them a READ."""
        payload = some_bits(self.params.bank_sums)
        at = {bank: random.choice(slots) for bank in self.banks}
        adds = {bank for bank in self.banks if random.random() < 0.5}
        bank = random.choice(self.banks)
        place = bank, at[bank]
        upper = None
        if bank not in adds and not any(place in recent for recent in self.written[-RECENT:]):
            self.shown[self.now]["read"] = 1 << bank
            upper = self.sums.get(place)
        self.expect(upper)
        for bank, slot in at.items():
            keep = bank in adds and (bank, slot) in self.sums and random.random() < 0.8
            self.reported[self.now + ADDRESS][bank] = {"address": slot}
            command = {"keep": int(keep), "write": int(bank in adds)}
            self.reported[self.now + DECISION][bank, "rule"] = command
            if bank in adds:
                before = self.sums[bank, slot] if keep else 0
                self.sums[bank, slot] = before + np.array(payload, np.int64)
        self.written.append({(bank, at[bank]) for bank in adds})
        self.shown[self.now + READ_CYCLES]["payload"] = pack(self.params.bank_sums, payload)

    def expect(self, upper):
        """Expect a delivery in the cycle in which the lower lanes of this READ come."""
        params = self.params
        ports, half = random.getrandbits(params.ports), some_bits(params.delivery)
        self.shown[self.now + DELIVERY_CYCLES] |= {
            "lower": ports,
            "half": pack(params.delivery, half),
        }
        self.expected[self.now + params.delivery_cycles] = ports, half, upper

    async def step(self):
        dut, params, now = self.dut, self.params, self.now
        inputs = {"read": 0} | self.shown.pop(now, {})
        reported = self.reported.pop(now, {})
        for bank in self.banks:
            fields = {"address": random.randrange(params.slots), "keep": 0, "write": 0}
            command = fields | reported.get(bank, {}) | reported.get((bank, "rule"), {})
            inputs[f"commands_{bank}"] = pack(params.sum_command, command)
        for name, value in inputs.items():
            getattr(dut, name).value = value
        await RisingEdge(dut.clk)
        if now in self.expected:
            self.compare(*self.expected.pop(now))
        self.now += 1

    def compare(self, ports, half, upper):
        params, lanes = self.params, self.params.lanes // 2
        assert int(self.dut.deliver.value) == ports
        result = unpack(params.delivery, int(self.dut.delivery.value))
        sums, right = result.pop("sums"), half.pop("sums")
        assert result == half
        assert sums[:lanes] == right[:lanes]
        if upper is not None:
            self.read += 1
            assert sums[lanes:] == upper.astype(np.int32).tolist()


@crossed(count=[2, 8])
async def what_is_read_is_what_was_added(dut, count):
    """Additions go to few aggregators, over and over, or to many."""
    for name in ("read", "payload", "lower", "half"):
        getattr(dut, name).value = 0
    bench = Bench(dut)
    for bank in bench.banks:
        getattr(dut, f"commands_{bank}").value = 0
    await start(dut)
    for _ in range(1500):
        bench.plan(range(count))
        await bench.step()
    for _ in range(bench.params.delivery_cycles + 1):
        await bench.step()
    assert not bench.expected
    assert bench.read > 200
