import random
from collections import deque
from functools import partial

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.idx_filter.params import answer_layout
from hdl.netsparse.idx_filter.port import FilterPort, FilterPortParams
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, Monitor, Sink, benched, crossed, cycle, never
from sim.harness.verilator import params_in_simulator
from tests.rejects import rejects
from tests.simulated import simulated

SIZES = {
    "small": FilterPortParams(lsq_entries=7, reserved=3, idx_bits=10, entry_bits=4),
    "paper": FilterPortParams(entry_bits=8),
}

test_port = simulated(FilterPort, SIZES, __name__)


test_rejects = rejects(
    partial(FilterPortParams, entry_bits=8),
    ({"reserved": 1}, "reserved must be a whole number from 2 to 62, .*: 1$"),
    ({"lsq_entries": 8, "reserved": 7}, "reserved must be a whole number from 2 to 6"),
)


def answer_to(idx):
    """Return the cache's answer in these tests: bit and failed."""
    return idx & 1, idx >> 1 & 1


class Cache:
    """Takes requests and answers them in any order, or while ``hold(request)`` not at all."""

    def __init__(self, dut, params, *, stall=never, latency=lambda: 8):
        self.dut, self.params = dut, params
        self.latency, self.hold = latency, lambda request: False
        self.waiting = []
        self.used = set()
        self.most = 0
        self.requests = Sink(dut, "requests", stall=stall, callback=self.take)
        cocotb.start_soon(self.answer())

    def take(self, request):
        slot = request["slot"]
        assert slot not in self.used, "a slot is used twice"
        assert request["set"] == (slot >= self.params.lookup_slots)
        assert slot < self.params.lsq_entries
        self.used.add(slot)
        self.most = max(self.most, len(self.used))
        self.waiting.append((cycle() + self.latency(), request))

    async def answer(self):
        edge = RisingEdge(self.dut.clk)
        layout = answer_layout(self.params.lsq_entries)
        while True:
            await edge
            due = [
                item for item in self.waiting if item[0] <= cycle() + 1 and not self.hold(item[1])
            ]
            self.dut.answers_valid.value = bool(due)
            self.dut.answers_payload.value = random.getrandbits(layout.size)
            if due:
                item = random.choice(due)
                self.waiting.remove(item)
                slot = item[1]["slot"]
                self.used.remove(slot)
                bit, failed = answer_to(item[1]["idx"])
                values = {"slot": slot, "bit": bit, "failed": failed}
                self.dut.answers_payload.value = pack(layout, values)


def shaken():
    return random.choice((1, 5, random.randrange(1, 80)))


def beats(params, count):
    return [
        {
            "idx": random.choice((0, (1 << params.idx_bits) - 1, random.getrandbits(10))),
            "entry": random.getrandbits(params.entry_bits),
        }
        for _ in range(count)
    ]


def looked(lookups, enabled=True):
    names = ("bit", "failed")
    return [
        item | dict(zip(names, answer_to(item["idx"]) if enabled else (0, 0), strict=True))
        for item in lookups
    ]


def set_(sets, enabled=True):
    return [
        {"entry": item["entry"], "failed": answer_to(item["idx"])[1] if enabled else 0}
        for item in sets
    ]


class PortBench(Bench):
    def __init__(self, dut, *stalls, latency=lambda: 8, enable=1):
        super().__init__(dut, *stalls, enable=enable)
        self.cache = Cache(dut, self.params, stall=self.sink_stall, latency=latency)

    def send(self, lookups=(), sets=()):
        self.lookups.extend(lookups)
        self.sets.extend(sets)

    async def check(self, lookups, sets, enabled=True):
        await self.finish(results=looked(lookups, enabled), set_done=set_(sets, enabled))
        assert self.dut.idle.value
        assert not self.cache.used


@benched(partial(PortBench, latency=shaken), stalls=STALLS, us=200)
async def answers_come_in_order(bench):
    lookups, sets = beats(bench.params, 800), beats(bench.params, 300)
    bench.send(lookups, sets)
    await bench.check(lookups, sets)
    requests = bench.cache.requests.beats
    for kind, sent in ((0, lookups), (1, sets)):
        assert [r["idx"] for r in requests if r["set"] == kind] == [item["idx"] for item in sent]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def one_lookup_a_cycle(dut):
    """They come so, at the first cycle possible, while answers come before slots run out."""
    params = params_in_simulator(FilterPortParams)
    extra = FilterPort.request_latency + FilterPort.answer_latency
    latency = params.lookup_slots - extra
    if latency < 1:
        latency = 1
    bench = await PortBench(dut, latency=lambda: latency).begin()
    lookups = beats(params, 400)
    bench.send(lookups)
    await bench.check(lookups, [])
    first = bench.lookups.cycles[0]
    if params.lookup_slots >= extra + latency:
        assert bench.lookups.cycles == list(range(first, first + 400))
    assert bench.cache.requests.cycles[0] == first + FilterPort.request_latency
    assert bench.results.cycles[0] == first + latency + extra


@benched(PortBench, us=100)
async def every_slot_is_used(bench):
    params = bench.params
    bench.cache.hold = lambda request: True
    lookups, sets = beats(params, params.lsq_entries), beats(params, params.lsq_entries)
    bench.send(lookups, sets)
    await bench.wait(4 * params.lsq_entries)
    assert len(bench.lookups.cycles) == params.lookup_slots
    assert len(bench.sets.cycles) == params.reserved
    assert bench.cache.most == params.lsq_entries
    bench.cache.hold = lambda request: False
    await bench.check(lookups, sets)


@benched(PortBench, us=100)
async def sets_go_while_lookups_stand(bench):
    """No lookup is answered and no result is taken, and yet sets are done."""
    params = bench.params
    bench.cache.hold = lambda request: not request["set"]
    bench.results.stop()
    bench.results = None
    lookups, sets = beats(params, 2 * params.lsq_entries), beats(params, 50)
    bench.send(lookups)
    await bench.wait(2 * params.lsq_entries)
    bench.send(sets=sets)
    await bench.set_done.wait_for(len(sets))
    bench.cache.hold = lambda request: False
    await bench.wait(100)
    assert not bench.dut.idle.value
    bench.results = Sink(bench.dut, "results")
    await bench.check(lookups, sets)


@benched(PortBench, us=100)
async def sets_go_first(bench):
    """While the way to the cache is shut both wait; the next request to leave is a set."""
    bench.cache.requests.stop()
    lookups, sets = beats(bench.params, 6), beats(bench.params, 3)
    bench.send(lookups)
    await bench.wait(8)
    ahead = len(bench.lookups.cycles)  # in the register on the way
    bench.send(sets=sets)
    await bench.wait(8)
    assert len(bench.lookups.cycles) == ahead
    assert not bench.sets.cycles
    bench.cache.requests = Sink(bench.dut, "requests", callback=bench.cache.take)
    await bench.check(lookups, sets)
    assert [r["set"] for r in bench.cache.requests.beats] == (
        [0] * ahead + [1] * 3 + [0] * (6 - ahead)
    )


@crossed(stalls=STALLS, us=100)
async def without_a_filter(dut, stalls):
    bench = await PortBench(dut, stalls, enable=0).begin()
    requested = Monitor(dut, "requests")
    lookups, sets = beats(bench.params, 300), beats(bench.params, 300)
    bench.send(lookups, sets)
    await bench.check(lookups, sets, enabled=False)
    assert not requested.beats
    if stalls.absent:
        assert bench.lookups.cycles == bench.sets.cycles
        sources, sinks = (bench.lookups, bench.sets), (bench.results, bench.set_done)
        for source, sink in zip(sources, sinks, strict=True):
            first = source.cycles[0]
            assert source.cycles == list(range(first, first + 300))
            assert sink.cycles == [c + FilterPort.answer_latency for c in source.cycles]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def the_filter_may_go_at_any_time(dut):
    """Each request is answered as ``enable`` was when it was taken, all of them in order."""
    bench = await PortBench(dut, STALLS[1], latency=shaken).begin()
    enabled = {"lookups": deque(), "sets": deque()}
    for name, seen in enabled.items():
        Monitor(dut, name, callback=lambda _, seen=seen: seen.append(int(dut.enable.value)))
    lookups, sets = beats(bench.params, 400), beats(bench.params, 400)
    bench.send(lookups, sets)
    while len(bench.results.beats) < 400 or len(bench.set_done.beats) < 400:
        await bench.wait(random.randrange(1, 30))
        dut.enable.value = random.getrandbits(1)
    await bench.wait(10)
    assert bench.results.beats == [
        looked([item], on)[0] for item, on in zip(lookups, enabled["lookups"], strict=True)
    ]
    assert bench.set_done.beats == [
        set_([item], on)[0] for item, on in zip(sets, enabled["sets"], strict=True)
    ]
    assert len({*enabled["lookups"]}) == 2
    assert dut.idle.value
