"""Tests a unit's own cache in front of a bank that answers in its own time."""

import random
from collections import deque
from dataclasses import replace

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.idx_filter.params import FilterCacheParams
from hdl.netsparse.idx_filter.unit_cache import DEPTH, UnitCache
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.plays import play
from sim.harness.pulses import Pulses
from sim.harness.streams import STALLS, Sink, always, benched, often, start
from sim.harness.verilator import params_in_simulator
from sim.netsparse.microarchitecture.idx_filter import IdxFilterCache
from tests.hdl.netsparse.idx_filter.bench import SMALL, Unit
from tests.simulated import simulated

PARAMS = replace(SMALL, cache_bytes=1024, unit_bytes=16, idx_bits=14, slots=24)
IDXS = 48 * 16  # six times what the cache holds


WATCHED = (
    *("requests_valid", "requests_ready", "far_requests_valid", "far_answers_valid"),
    *("answered", "answers_valid", "idle"),
)

test_unit_cache = simulated(UnitCache, [PARAMS], __name__)


class Bank:
    """Takes requests in their order; ``bits`` change then, answers follow a little later."""

    def __init__(self, dut, params, stall, delay=lambda: random.randrange(5, 9)):
        self.params, self.delay = params, delay
        self.bits, self.bad = set(), set()
        self.requests = Sink(dut, "far_requests", stall=stall, callback=self.take)
        self.answers = Pulses(dut, "far_answers_valid", "far_answers_payload")

    @property
    def seen(self):
        return self.requests.beats

    def take(self, request):
        idx = request["idx"]
        failed = idx in self.bad
        bit = idx in self.bits
        if request["set"] and not failed:
            self.bits.add(idx)
        first = idx // 16 * 16
        block = sum((first + k in self.bits) << k for k in range(16))
        answer = {"slot": request["slot"], "bit": bit, "failed": failed}
        if failed:
            block, answer["bit"] = random.getrandbits(16), random.getrandbits(1)
        bits = pack(self.params.block_answer, {"answer": answer, "block": block})
        self.answers.later({"far_answers_payload": bits}, self.delay())


class CacheBench(Bench):
    async def begin(self):
        self.bank = Bank(self.dut, self.params, self.sink_stall)
        self.unit = Unit(self.dut, "", self.params, stall=self.source_stall)
        await super().begin()
        self.shown = self.record("", *WATCHED, "far_answers_payload")
        self.steps, self.block, self.near = deque([0] * 3, 3), 0, 0
        await self.forget()
        return self

    def check_idle(self):
        """Check that it was not idle with a request on its way, or a block coming."""
        for item in self.shown.take().values():
            busy = any(self.steps) or self.block or self.near or item["far_requests_valid"]
            assert not (busy and item["idle"])
            self.steps.append(item["requests_valid"] & item["requests_ready"])
            answer = item["far_answers_payload"]
            learns = item["far_answers_valid"] and not answer["answer"]["failed"]
            self.block = answer["block"] if learns else 0
            self.near += item["answered"] - (item["answers_valid"] & ~item["far_answers_valid"])

    async def forget(self):
        assert self.dut.idle.value
        await self.play([{"forget": 1, "forget_at": k} for k in range(self.params.unit_rows)])
        self.check_idle()

    async def issue(self, requests):
        first = len(self.unit.requested)
        self.unit.send(requests)
        await self.unit.finish()
        await self.wait(3)
        self.check_idle()
        return self.unit.requested[first:]


@benched(CacheBench, stalls=STALLS, spread=[20, 128, IDXS], us=400)
async def bits_are_those_of_the_bank(bench, spread):
    """At any pace a lookup finds what was set before it, and forgets when it is told to."""
    for begin in (0, 1 << 13, (1 << 14) - spread):
        known, expected, requests, last = set(), [], [], begin
        for _ in range(400):
            is_set = random.random() < 0.3
            idx = last if random.random() < 0.1 else begin + random.randrange(spread)
            requests.append((is_set, idx))
            expected.append(idx in known)
            if is_set:
                known.add(idx)
                last = idx  # which some ask for again: not all go far
        first = len(bench.bank.seen)
        answers = await bench.issue(requests)
        assert [bool(a.bit) for a in answers] == expected
        assert not any(a.failed for a in answers)
        far = [(request["set"], request["idx"]) for request in bench.bank.seen[first:]]
        assert [idx for is_set, idx in requests if is_set] == [idx for is_set, idx in far if is_set]
        await bench.issue([(False, last)])  # which brings its block
        requested = len(bench.bank.seen)
        (answer,) = await bench.issue([(False, last)])
        assert answer.bit
        assert len(bench.bank.seen) == requested
        assert bench.dut.idle.value
        bench.bank.bits.clear()
        await bench.forget()


@benched(CacheBench, us=400)
async def one_by_one_as_the_golden_model(bench):
    model = IdxFilterCache(IDXS, 1, 1, 1, bench.params.unit_rows)
    for _ in range(500):
        is_set, idx = random.random() < 0.3, random.randrange(IDXS // random.choice((1, 6)))
        before = len(bench.bank.seen)
        (answer,) = await bench.issue([(is_set, idx)])
        access = model.access(idx, set_bit=is_set)
        assert answer.bit == access.bit
        assert len(bench.bank.seen) - before == (not access.near)
        if access.near:
            assert answer.answered - answer.accepted == UnitCache.near_latency


@benched(CacheBench, us=100)
async def it_forgets_one_entry(bench):
    """It forgets no other."""
    rows = bench.params.unit_rows
    for forgotten in range(rows):
        await bench.issue([(True, 16 * row) for row in range(rows)])
        await bench.issue([(False, 16 * row) for row in range(rows)])  # from the bank
        bench.dut.forget.value, bench.dut.forget_at.value = 1, forgotten
        await bench.wait()
        bench.dut.forget.value = 0
        before = len(bench.bank.seen)
        await bench.issue([(False, 16 * row) for row in range(rows)])
        assert [request["idx"] for request in bench.bank.seen[before:]] == [16 * forgotten]


@benched(CacheBench, us=100)
async def nothing_is_learnt_from_failures(bench):
    bench.bank.bad = set(range(16))
    answers = await bench.issue([(k % 2, random.randrange(16)) for k in range(60)])
    assert all(a.failed for a in answers)
    bench.bank.bad = set()
    assert [a.bit for a in await bench.issue([(False, idx) for idx in range(16)])] == [0] * 16


@benched(CacheBench, us=100)
async def a_request_a_cycle(bench):
    """Known idxs and others come in any order; others take what the cache adds."""
    bench.bank.delay = lambda: 4
    await bench.issue([(True, idx) for idx in range(64)])
    sent = len(bench.bank.seen)
    # Nothing is under way before the first; a cycle that is lost later is never made up for.
    requested = [0, *(random.randrange(128) for _ in range(500))]
    answers = await bench.issue([(False, idx) for idx in requested])
    first = answers[0].accepted
    assert [a.accepted for a in answers] == list(range(first, first + len(requested)))
    cycles = bench.bank.requests.cycles[sent:]
    others = [a.accepted for a in answers if a.idx >= 64]
    assert cycles == [accepted + UnitCache.latency for accepted in others]
    late = [a.answered - a.accepted - UnitCache.near_latency for a in answers if a.idx < 64]
    assert min(late) == 0
    assert max(late) <= DEPTH


@benched(CacheBench, us=100)
async def it_stops_when_no_bank_takes_requests(bench):
    bench.bank.requests.stall = always
    bench.unit.send((True, idx) for idx in range(60))
    await bench.wait(100)
    assert len(bench.unit.requested) == DEPTH - 1  # which stop in time for those on their way
    assert not bench.dut.idle.value
    bench.bank.requests.stall = often
    answers = await bench.issue([(False, idx) for idx in range(60)])
    assert all(a.bit for a in answers[-60:])


@cocotb.test(timeout_time=100, timeout_unit="us")
async def it_stops_while_answers_of_banks_come(dut):
    """Those go first; known ones wait, as many as there is room for."""
    params = params_in_simulator(FilterCacheParams)
    dut.requests_valid.value = dut.far_answers_valid.value = dut.far_requests_ready.value = 0
    await start(dut)
    await play(dut, [{"forget": 1, "forget_at": row} for row in range(params.unit_rows)])
    dut.forget.value = 0
    dut.requests_payload.value = pack(params.request, {"idx": 5, "slot": 1})
    dut.requests_valid.value = dut.far_requests_ready.value = 1
    await RisingEdge(dut.clk)
    while not dut.requests_ready.value:
        await RisingEdge(dut.clk)
    dut.requests_valid.value = 0
    dut.far_answers_payload.value = pack(
        params.block_answer, {"answer": {"slot": 1, "bit": 1}, "block": 1 << 5}
    )
    dut.far_answers_valid.value = 1
    await ClockCycles(dut.clk, 10)
    dut.requests_valid.value = 1
    taken = 0
    for _ in range(60):
        await RisingEdge(dut.clk)
        taken += int(dut.requests_ready.value)
    assert taken == DEPTH - 1
    assert not dut.far_requests_valid.value
