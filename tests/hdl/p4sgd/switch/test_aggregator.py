"""Compares each request with the specification: one every cycle, mostly for the same slot."""

import random

import cocotb

from hdl.p4sgd.switch.aggregator import Aggregator
from hdl.p4sgd.switch.params import SwitchParams
from sim.golden.reduction.allreduce import Packet, SwitchSlot, switch_rule
from sim.golden.reduction.shadow import ShadowSlot, shadow_rule
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.verilator import params_in_simulator
from sim.host.switch.traffic import choose_packet, choose_payload
from tests.hdl.p4sgd.switch.aggregator_bench import Requests
from tests.hdl.p4sgd.switch.deep_slots import DeepSwitchParams
from tests.simulated import simulated

SIZES = [
    SwitchParams(ports=2, slots=2, jobs=1, lanes=1, value_bits=4),
    DeepSwitchParams(ports=5, slots=16, jobs=2, lanes=3, value_bits=9),
    SwitchParams(ports=8, slots=64),
    SwitchParams(ports=32, slots=8, jobs=3, lanes=2),
    SwitchParams(ports=3, slots=8, jobs=2, lanes=2, value_bits=9, shadow=True),
]

test_aggregator = simulated(Aggregator, SIZES, __name__)


def test_latency():
    assert (Aggregator.lead, Aggregator.latency) == (2, 1)
    assert Aggregator(SwitchParams(slots=1 << 15)).latency == 1
    assert Aggregator(SwitchParams(slots=1 << 16)).latency == 3
    assert Aggregator(SwitchParams(slots=1 << 14, shadow=True)).latency == 1
    assert Aggregator(SwitchParams(slots=1 << 15, shadow=True)).latency == 3


class Golden(Requests):
    """Keeps the slots by the specification."""

    def __init__(self, params):
        super().__init__(params)
        self.everyone = {slot: 0 for slot in range(params.slots)}
        self.slots = {}
        self.kind = ShadowSlot if params.shadow else SwitchSlot
        for slot in range(params.slots):
            self.clear(slot)

    def clear(self, slot, everyone=None):
        """Clear for the workers in ``everyone``, or for any."""
        everyone = everyone or random.randrange(1, 1 << self.params.ports)
        self.everyone[slot] = everyone
        self.slots[slot] = self.kind.at_start(everyone, self.params.lanes)
        for copy in range(self.params.copies):
            entry = slot * self.params.copies + copy
            self.without_packet(entry, 1, self.anything(everyone=everyone))

    def request(self, slot, is_agg, worker, use, payload):
        params, everyone = self.params, self.everyone[slot]
        packet = Packet(is_agg, 1 << worker, use, payload=payload)
        rule = shadow_rule if params.shadow else switch_rule
        outcome = rule(self.slots[slot], packet, everyone)
        self.slots[slot] = outcome.slot
        agg = (outcome.slot.copy_of(use) if params.shadow else outcome.slot).agg
        entry = slot * params.copies + use % params.copies
        header = self.header(use, is_agg)
        request = {"sender": 1 << worker, "everyone": everyone, "header": header}
        self.rows.append((entry, 1, 0, pack(params.request, request | {"payload": list(payload)})))
        golden = {"verdict": outcome.verdict.name, "sender": 1 << worker}
        golden |= {"answered": int(outcome.answer is not None)}
        if outcome.answer is not None:
            is_sum = is_agg and not outcome.answer.pending
            golden["answer"] = {
                "bm": outcome.answer.bm,
                "acked": int(outcome.answer.acked),
                "saturated": self.changed(agg) if is_sum else 0,
                "header": header | {"is_agg": int(outcome.answer.is_agg)},
                "payload": self.clamped(agg) if is_sum else [0] * params.lanes,
            }
        self.golden.append(golden)

    def changed(self, values):
        """Return a bit for each value that is clamped."""
        pairs = zip(values, self.clamped(values), strict=True)
        return sum((exact != value) << k for k, (exact, value) in enumerate(pairs))

    def clamped(self, values):
        high = (1 << self.params.value_bits - 1) - 1
        return [min(max(value, -high - 1), high) for value in values]


async def begin(dut):
    params = params_in_simulator(SwitchParams)
    return await Bench(dut).begin(), params, Golden(params)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(bubbles=[0, 0.3])
async def equals_the_specification(dut, bubbles):
    bench, params, golden = await begin(dut)
    for k in range(6000):
        if random.random() < bubbles:
            golden.idle()
            continue
        slot = golden.some_slot(k, 1000)
        if k % 1000 == 0:  # a lone worker acknowledges nothing early
            golden.clear(slot, (1 << params.ports) - 1)
        if random.random() < 0.003:
            golden.clear(slot)
            continue
        choice = choose_packet(random, golden.slots[slot], golden.everyone[slot])
        golden.request(slot, *choice, choose_payload(random, params.lanes, params.value_bits))
    partials = {"ADDED", "REPEATED_PARTIAL", "EARLY", "STALE", "PREMATURE_ACK"}
    acks = {"ACKNOWLEDGED", "REPEATED_ACK", "PREVIOUS_ACK"}
    assert golden.verdicts == partials | {"NONE"} | (set() if params.shadow else acks)
    await golden.check(bench)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def sums_saturate_once_whatever_the_order(dut):
    bench, params, golden = await begin(dut)
    high = (1 << params.value_bits - 1) - 1
    lowest = -high - 1
    use = 0
    for slot in range(params.slots):
        golden.clear(slot, (1 << params.ports) - 1)
    # All highest, all lowest, and sums that leave the range on the way but end inside.
    half = params.ports // 2
    inside = [high] * half + [lowest] * half + [1] * (params.ports % 2)
    for values in ([high] * params.ports, [lowest] * params.ports, inside):
        for _ in range(10):
            order = random.sample(range(params.ports), params.ports)
            for worker in order:
                golden.request(0, True, worker, use, (values[worker],) * params.lanes)
            total = sum(values)
            clamped = min(max(total, lowest), high)
            assert golden.golden[-1]["answer"]["payload"] == [clamped] * params.lanes
            lanes = (1 << params.lanes) - 1
            assert golden.golden[-1]["answer"]["saturated"] == lanes * (total != clamped)
            for worker in order:
                golden.request(0, False, worker, use, (high,) * params.lanes)
            use += 1
    await golden.check(bench)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def all_uses_of_a_slot_in_a_row(dut):
    bench, params, golden = await begin(dut)
    for use in range(600):
        workers = [k for k in range(params.ports) if golden.everyone[0] >> k & 1]
        for is_agg in (True, False):
            for worker in workers[-3:] if len(workers) > 3 and use % 2 else workers:
                payload = choose_payload(random, params.lanes, params.value_bits)
                golden.request(0, is_agg, worker, golden.slots[0].use + 1 & 255, payload)
                golden.request(0, is_agg, worker, golden.slots[0].use, payload)
    await golden.check(bench)
