"""Compares each request with the specification: one every cycle, mostly for the same slot."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.switch.aggregator import Aggregator
from hdl.p4sgd.switch.params import SwitchParams
from sim.golden.reduction.allreduce import Packet, SwitchSlot, switch_rule
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.switch.deep_slots import DeepSwitchParams
from tests.hdl.p4sgd.switch.traffic import choose_packet, choose_payload
from tests.simulated import simulated

SIZES = [
    SwitchParams(ports=2, slots=2, jobs=1, lanes=1, value_bits=4),
    DeepSwitchParams(ports=5, slots=16, jobs=2, lanes=3, value_bits=9),
    SwitchParams(ports=8, slots=64),
    SwitchParams(ports=32, slots=8, jobs=3, lanes=2),
]

test_aggregator = simulated(Aggregator, SIZES, __name__)


def test_latency():
    assert (Aggregator.lead, Aggregator.latency) == (2, 1)
    assert Aggregator(SwitchParams(slots=1 << 15)).latency == 1
    assert Aggregator(SwitchParams(slots=1 << 16)).latency == 3


class Golden:
    """Keeps the slots by the specification, and what is driven and seen each cycle."""

    def __init__(self, params):
        self.params = params
        self.everyone = {slot: 0 for slot in range(params.slots)}
        self.slots = {}
        self.rows = []  # slot, valid, clear, request
        self.golden = []  # verdict, sender, answer

    def clear(self, slot, everyone=None):
        """Clear for the workers in ``everyone``, or for any."""
        everyone = everyone or random.randrange(1, 1 << self.params.ports)
        self.everyone[slot] = everyone
        self.slots[slot] = SwitchSlot.at_start(everyone, self.params.lanes)
        garbage = random.getrandbits(self.params.request.size)
        request = unpack(self.params.request, garbage) | {"everyone": everyone}
        self.rows.append((slot, 0, 1, pack(self.params.request, request)))
        self.golden.append(("NONE", None, None))

    def idle(self):
        slot = random.randrange(self.params.slots)
        self.rows.append((slot, 0, 0, random.getrandbits(self.params.request.size)))
        self.golden.append(("NONE", None, None))

    def request(self, slot, is_agg, worker, use, payload):
        params, everyone = self.params, self.everyone[slot]
        packet = Packet(is_agg, 1 << worker, use, payload=payload)
        outcome = switch_rule(self.slots[slot], packet, everyone)
        self.slots[slot] = outcome.slot
        header = {
            "job": random.randrange(params.jobs),
            "epoch": random.getrandbits(16),
            "seq": random.getrandbits(16),
            "use": use,
            "is_agg": int(is_agg),
        }
        request = {
            "sender": 1 << worker,
            "everyone": everyone,
            "header": header,
            "payload": list(payload),
        }
        self.rows.append((slot, 1, 0, pack(params.request, request)))
        is_sum = is_agg and outcome.answer is not None and not outcome.answer.pending
        answer = outcome.answer and {
            "bm": outcome.answer.bm,
            "acked": int(outcome.answer.acked),
            "saturated": self.changed(outcome.slot.agg) if is_sum else 0,
            "header": header | {"is_agg": int(outcome.answer.is_agg)},
            "payload": self.clamped(outcome.slot.agg) if is_sum else [0] * params.lanes,
        }
        self.golden.append((outcome.verdict.name, 1 << worker, answer))

    def changed(self, values):
        """Return a bit for each value that is clamped."""
        pairs = zip(values, self.clamped(values), strict=True)
        return sum((exact != value) << k for k, (exact, value) in enumerate(pairs))

    def clamped(self, values):
        high = (1 << self.params.value_bits - 1) - 1
        return [min(max(value, -high - 1), high) for value in values]


async def play(dut, golden):
    """Drive all rows, one per cycle, and compare what comes out in exactly the right cycle."""
    params = golden.params
    latency = Aggregator(params).latency
    behind = [(0, 0, 0, 0)] * (Aggregator.lead + latency)
    rows = golden.rows + behind
    early = [row[0] for row in rows] + [0] * Aggregator.lead
    header = params.request["header"]
    seen = []
    for k in range(len(rows) + Aggregator.lead):
        dut.slot.value = early[k]
        begun = k - Aggregator.lead
        _, valid, clear, request = rows[begun] if begun >= 0 else behind[0]
        if begun + 1 < len(rows):
            dut.ahead.value = rows[begun + 1][3] >> header.offset & (1 << header.width) - 1
        dut.valid.value, dut.clear.value, dut.request.value = valid, clear, request
        await RisingEdge(dut.clk)
        seen.append([int(p.value) for p in (dut.verdict, dut.sender, dut.answered, dut.answer)])
    shape = Aggregator(params).signature.members["verdict"].shape
    for k, (verdict, sender, answer) in enumerate(golden.golden):
        found = seen[k + Aggregator.lead + latency]
        assert (k, shape(found[0]).name) == (k, verdict)
        assert (k, bool(found[2])) == (k, answer is not None)
        if sender is not None:
            assert found[1] == sender
        if answer is not None:
            assert unpack(params.answer, found[3]) == answer, k
    return seen


async def begin(dut):
    params = params_in_simulator(SwitchParams)
    golden = Golden(params)
    for slot in range(params.slots):
        golden.clear(slot)
    dut.valid.value = dut.clear.value = 0
    await start(dut)
    return params, golden


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(bubbles=[0, 0.3])
async def equals_the_specification(dut, bubbles):
    params, golden = await begin(dut)
    hot = random.randrange(params.slots)
    for k in range(6000):
        if random.random() < bubbles:
            golden.idle()
            continue
        if k % 1000 == 0:
            hot = random.randrange(params.slots)
            golden.clear(hot, (1 << params.ports) - 1)  # a lone worker acknowledges nothing early
        # Runs on one slot, and returns to it after one, two and three others.
        slot = hot if random.random() < 0.6 else random.randrange(params.slots)
        if random.random() < 0.003:
            golden.clear(slot)
            continue
        state = golden.slots[slot]
        choice = choose_packet(state, golden.everyone[slot])
        golden.request(slot, *choice, choose_payload(params.lanes, params.value_bits))
    assert {name for name, _, _ in golden.golden} >= {
        "ADDED",
        "REPEATED_PARTIAL",
        "ACKNOWLEDGED",
        "REPEATED_ACK",
        "PREVIOUS_ACK",
        "PREMATURE_ACK",
        "EARLY",
        "STALE",
    }
    await play(dut, golden)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def sums_saturate_once_whatever_the_order(dut):
    params, golden = await begin(dut)
    high = (1 << params.value_bits - 1) - 1
    lowest = -high - 1
    use = 0
    golden.rows.clear()
    golden.golden.clear()
    everyone = (1 << params.ports) - 1
    for slot in range(params.slots):
        golden.clear(slot)
        request = golden.rows[-1][3]
        unpacked = unpack(params.request, request) | {"everyone": everyone}
        golden.rows[-1] = (slot, 0, 1, pack(params.request, unpacked))
        golden.everyone[slot] = everyone
        golden.slots[slot] = SwitchSlot.at_start(everyone, params.lanes)
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
            assert golden.golden[-1][2]["payload"] == [clamped] * params.lanes
            lanes = (1 << params.lanes) - 1
            assert golden.golden[-1][2]["saturated"] == lanes * (total != clamped)
            for worker in order:
                golden.request(0, False, worker, use, (high,) * params.lanes)
            use += 1
    await play(dut, golden)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def all_uses_of_a_slot_in_a_row(dut):
    params, golden = await begin(dut)
    for use in range(600):
        workers = [k for k in range(params.ports) if golden.everyone[0] >> k & 1]
        for is_agg in (True, False):
            for worker in workers[-3:] if len(workers) > 3 and use % 2 else workers:
                payload = choose_payload(params.lanes, params.value_bits)
                golden.request(0, is_agg, worker, golden.slots[0].use + 1 & 255, payload)
                golden.request(0, is_agg, worker, golden.slots[0].use, payload)
    await play(dut, golden)
