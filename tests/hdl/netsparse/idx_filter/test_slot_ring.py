import random
from functools import partial

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.idx_filter.params import answer_layout
from hdl.netsparse.idx_filter.slot_ring import SlotRing, SlotRingParams
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, benched, cycle
from sim.harness.verilator import params_in_simulator
from tests.rejects import rejects
from tests.simulated import simulated

SIZES = [
    SlotRingParams(first=first, count=count, lsq_entries=16, width=12)
    for first, count in ((0, 2), (3, 5), (8, 8))
]
test_slot_ring = simulated(SlotRing, SIZES, __name__)

test_rejects = rejects(
    partial(SlotRingParams, count=8, lsq_entries=16, width=4),
    ({"first": 9}, "first must be a whole number from 0 to 8, so that .*: 9"),
    ({"first": -1}, "first must be a whole number from 0 to 8, so that .*: -1"),
)


class Filter:
    """Answers slots in any order after ``delay()`` cycles, others' slots in between."""

    def __init__(self, dut, delay):
        self.dut, self.delay, self.params = dut, delay, params_in_simulator(SlotRingParams)
        self.open, self.results, self.slots = [], [], []
        self.answered = {}
        cocotb.start_soon(self.run())

    async def run(self):
        dut, edge, params = self.dut, RisingEdge(self.dut.clk), self.params
        layout = answer_layout(params.lsq_entries)
        own = range(params.first, params.first + params.count)
        others = [slot for slot in range(params.lsq_entries) if slot not in own]
        while True:
            await edge
            if not dut.rst.value and dut.i_valid.value and dut.i_ready.value:
                self.take(int(dut.i_payload.value))
            dut.answers_valid.value = 0
            due = [item for item in self.open if item[0] <= cycle()]
            if due:
                item = random.choice(due)
                self.open.remove(item)
                _, slot, number = item
                bit, failed = random.getrandbits(1), random.getrandbits(1)
                self.results[number] |= {"bit": bit, "failed": failed}
                self.answered[number] = cycle() + 1
            elif others and random.random() < 0.5:
                slot, bit, failed = random.choice(others), 1, 1
            else:
                continue
            dut.answers_valid.value = 1
            dut.answers_payload.value = pack(layout, {"slot": slot, "bit": bit, "failed": failed})

    def take(self, request):
        slot = int(self.dut.slot.value)
        assert slot == self.params.first + len(self.results) % self.params.count
        done = request >> self.params.width
        stored = request & (1 << self.params.width) - 1
        if not done:
            self.open.append((cycle() + self.delay(), slot, len(self.results)))
        else:
            self.answered[len(self.results)] = cycle()
        self.results.append({"stored": stored, "bit": 0, "failed": 0})


@benched(Bench, stalls=STALLS, delay=[1, 12], us=200)
async def results_leave_in_order(bench, delay):
    params, judge = bench.params, Filter(bench.dut, lambda: random.randint(1, delay))
    bench.i.extend(
        [
            {"stored": random.getrandbits(params.width) * (k != 9), "done": random.random() < 0.3}
            for k in range(400)
        ]
    )
    await bench.o.wait_for(400)
    await bench.finish(o=judge.results)
    assert bench.dut.empty.value
    assert bench.dut.i_ready.value


@cocotb.test(timeout_time=50, timeout_unit="us")
async def latency_and_throughput(dut):
    bench, judge = await Bench(dut).begin(), Filter(dut, lambda: 0)
    params, source, sink = bench.params, bench.i, bench.o
    for _ in range(5):
        await source.send_all([{"stored": 1, "done": 0}])
        await sink.wait_for(len(source.cycles))
    assert sink.cycles == [judge.answered[k] + SlotRing.latency for k in range(5)]
    await source.send_all({"stored": 1, "done": 1} for _ in range(100))
    await sink.wait_for(105)
    sent = source.cycles[5:]
    if params.count > SlotRing.latency:
        assert sent == list(range(sent[0], sent[0] + 100))
        assert sink.cycles[5:] == [at + SlotRing.latency for at in sent]


@cocotb.test(timeout_time=50, timeout_unit="us")
async def full_without_answers(dut):
    bench, judge = await Bench(dut).begin(), Filter(dut, lambda: 10**9)
    params, source = bench.params, bench.i
    for k in range(params.count + 3):
        source.append({"stored": k, "done": 0})
    await ClockCycles(dut.clk, 3 * params.count + 10)
    assert len(source.cycles) == len(judge.results) == params.count
    assert not dut.i_ready.value
    assert not dut.empty.value
    assert not dut.o_valid.value
