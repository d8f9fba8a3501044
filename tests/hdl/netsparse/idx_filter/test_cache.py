import random
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from hdl.netsparse.idx_filter.cache import FilterCache, FilterCacheParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Stalls, benched, crossed, cycle
from sim.netsparse.golden.idx_filter import LINE_IDXS, image, line_address, line_count
from sim.netsparse.microarchitecture.idx_filter import IdxFilterCache
from tests.hdl.netsparse.idx_filter.bench import SMALL, Dram, Judge, Unit
from tests.simulated import simulated

SIZES = {
    "smallest": replace(SMALL, cache_bytes=128, ways=1, unit_bytes=16, address_bits=20, slots=16),
    "two_ways": replace(SMALL, units=3, banks=2, unit_bytes=64, address_bits=20, slots=16),
    "four_ways": FilterCacheParams(
        units=4,
        banks=4,
        cache_bytes=4096,
        ways=4,
        unit_bytes=4,
        idx_bits=40,
        address_bits=40,
        slots=64,
    ),
}
BASE = 0x7F4C0  #: from the 45th line on, of those in use, all higher bits are others

test_cache = simulated(FilterCache, SIZES, __name__, short=["smallest", "two_ways"])


def slow():
    """Return a memory's latency that is short or long."""
    return random.choice((1, random.randrange(2, 60)))


class CacheBench(Bench):
    """The cache, its memory and its units, cleared; lines 0 to 47 are in use unless told."""

    def __init__(self, dut, stalls=Stalls.NONE, *, latency=None, columns=48 * 512):
        super().__init__(dut, stalls)
        self.columns, self.base = columns, BASE
        self.dram = Dram(dut, stall=self.sink_stall)
        suffixes = [f"_{k}" for k in range(self.params.units)]
        self.units = [Unit(dut, item, self.params, stall=self.source_stall) for item in suffixes]
        self.events = self.tally()
        self.latency = latency or (self.dram.latency if stalls.absent else slow)

    async def begin(self):
        await super().begin()
        await self.clear()
        self.dram.latency = self.latency
        return self

    def control(self, clear, base=BASE):
        self.base = base
        self.set(control={"base": base, "columns": self.columns, "clear": clear})

    async def report(self, said):
        """Pulse ``tick`` or ``revive``."""
        await self.strobe(watch={said: 1})

    async def clear(self, base=BASE):
        """Clear; return the cycles that it takes."""
        if self.dut.busy.value:
            await self.until("busy", 0)
        self.control(1, base)
        await self.wait()
        first = cycle()
        self.control(0, base)
        await self.until("busy", 0)
        return cycle() - first

    async def finish(self):
        """Wait until nothing is left over."""
        for unit in self.units:
            await unit.finish()
        await self.wait(3)
        while not (self.dut.idle.value and self.dram.idle):
            await self.until("idle", 1)

    async def issue(self, requests, unit=0):
        """Have ``unit`` send ``requests``; return what came back, in their order."""
        first = len(self.units[unit].requested)
        self.units[unit].send(requests)
        await self.finish()
        return self.units[unit].requested[first:]

    async def evict(self):
        """Read other lines until none of those in use is cached."""
        params = self.params
        lines = range(64, 64 + params.banks * params.sets * params.ways)
        await self.issue([(False, line * LINE_IDXS) for line in lines])

    async def fill_set(self, idx):
        """Have other lines in all ways of the set of ``idx``: its line will be read."""
        params = self.params
        step = params.banks * params.sets * LINE_IDXS
        await self.issue([(False, idx + k * step) for k in range(1, params.ways + 1)])

    def memory(self, columns):
        """Return the bytes of the lines of ``columns``."""
        lines = [self.dram.contents.get(self.base + 64 * k, 0) for k in range(line_count(columns))]
        return b"".join(line.to_bytes(64, "little") for line in lines)

    def model(self):
        params = self.params
        return IdxFilterCache(1 << 16, params.banks, params.sets, params.ways, params.unit_rows)


def traffic(count, lines, places=LINE_IDXS, sets=0.4):
    """Draw requests to some of ``lines`` lines and ``places`` idxs of each."""
    where = random.sample(range(48), lines)
    return [
        (random.random() < sets, random.choice(where) * LINE_IDXS + random.randrange(places))
        for _ in range(count)
    ]


@benched(CacheBench, lines=[2, 12, 40], stalls=STALLS, us=400)
async def one_unit_is_the_golden_sequence(bench, lines):
    model = bench.model()
    requests = traffic(500, lines, places=random.choice((4, 70, 512)))
    accesses = [model.access(idx, set_bit=is_set) for is_set, idx in requests]
    answers = await bench.issue(requests)
    assert [(a.bit, a.failed) for a in answers] == [(access.bit, 0) for access in accesses]
    await bench.wait(2)
    counts = bench.events
    assert counts["near"] + counts["hit"] + counts["miss"] == len(requests)
    assert not counts["fill_error"] + counts["write_error"]
    columns = bench.columns
    await bench.evict()
    assert bench.memory(columns) == image(model.bits[:columns]).tobytes()


@benched(CacheBench, lines=[2, 12], us=400)
async def accesses_one_by_one_are_the_golden_ones(bench, lines):
    """Each cache does with a request that has the filter to itself what the model does."""
    model = bench.model()
    requests = traffic(150, lines, places=4 if lines == 2 else random.choice((4, 40)))
    accesses = [model.access(idx, set_bit=is_set) for is_set, idx in requests]
    assert lines > 2 or any(access.near for access in accesses)
    for request, access in zip(requests, accesses, strict=True):
        (answer,) = await bench.issue([request])
        assert (answer.bit, answer.failed) == (access.bit, 0)
    assert len(bench.dram.sinks["ar"].beats) == sum(access.read for access in accesses)
    await bench.wait(2)
    assert bench.events.counts == {
        "near": sum(access.near for access in accesses),
        "hit": sum(access.hit for access in accesses),
        "miss": sum(not (access.hit or access.near) for access in accesses),
        "write_back": sum(access.write_back is not None for access in accesses),
        "fill_error": 0,
        "write_error": 0,
    }
    columns = bench.columns
    assert bench.memory(columns) == image(model.memory[:columns]).tobytes()


@benched(CacheBench, lines=[1, 5, 40], stalls=STALLS, us=400)
async def units_share_the_bits(bench, lines):
    where = traffic(400 * len(bench.units), lines, places=random.choice((3, 20)), sets=0.15)
    for number, unit in enumerate(bench.units):
        unit.send(where[number :: len(bench.units)])
    await bench.finish()
    judge = Judge([item for unit in bench.units for item in unit.requested])
    assert judge.ones
    requested = sorted({idx for _, idx in where})
    assert judge.zeros or len(requested) <= 3  # so few may all be set before one is looked up
    answers = await bench.issue([(False, idx) for idx in requested])
    assert [a.bit for a in answers] == [idx in judge.sets for idx in requested]
    await bench.evict()
    bits = np.zeros(bench.columns, bool)
    bits[sorted(judge.sets)] = True
    assert bench.memory(bench.columns) == image(bits).tobytes()


@benched(CacheBench, us=400)
async def sets_are_seen_at_every_distance(bench):
    """Between a set and a lookup of its word stand up to seven other requests, of any kind."""
    model = bench.model()
    lines = [0, bench.params.banks]  # of one bank, both cached
    requests = [(False, line * LINE_IDXS) for line in lines]
    fresh = iter(random.sample(range(512), 512))
    for distance in range(8):
        for _ in range(12):
            idx = next(fresh)
            # The same word, its neighbours, and the same word of the other line.
            near = [idx ^ 1, idx ^ 64, idx, idx + lines[1] * LINE_IDXS]
            between = [(random.random() < 0.5, random.choice(near)) for _ in range(distance)]
            requests += [(True, idx), *between, (False, idx), (False, idx ^ 1)]
    accesses = [model.access(idx, set_bit=is_set) for is_set, idx in requests]
    answers = await bench.issue(requests)
    assert [a.bit for a in answers] == [access.bit for access in accesses]
    await bench.evict()
    assert bench.memory(bench.columns) == image(model.bits[: bench.columns]).tobytes()


@benched(CacheBench, us=100)
async def lines_come_from_the_memory_and_go_back(bench):
    """Each place of the cache is filled for the second time, with lines that have bits set."""
    await bench.evict()
    params = bench.params
    count = params.banks * params.sets * params.ways
    bits = np.random.default_rng(random.getrandbits(32)).random(count * LINE_IDXS) < 0.5
    lines = image(bits).reshape(-1, 64)
    bench.dram.contents.update(
        (BASE + 64 * k, int.from_bytes(line.tobytes(), "little")) for k, line in enumerate(lines)
    )
    idxs = [
        k * LINE_IDXS + 64 * word + random.randrange(64) for k in range(count) for word in range(8)
    ]
    random.shuffle(idxs)
    answers = await bench.issue([(random.random() < 0.5, idx) for idx in idxs])
    assert [a.bit for a in answers] == bits[idxs].tolist()
    await bench.evict()
    bits[[a.idx for a in answers if a.set]] = True
    assert bench.memory(len(bits)) == image(bits).tobytes()


@benched(CacheBench, consecutive=[True, False], us=100)
async def one_lookup_a_cycle(bench, consecutive):
    lines = bench.params.banks * 2
    await bench.issue([(False, line * LINE_IDXS) for line in range(lines)])
    idxs = range(lines * LINE_IDXS)
    chosen = [k if consecutive else random.choice(idxs) for k in range(600)]
    answers = await bench.issue([(random.random() < 0.5, idx) for idx in chosen])
    first = answers[0].accepted
    assert [a.accepted for a in answers] == list(range(first, first + len(answers)))
    far = {a.answered - a.accepted for a in answers if a.set or not a.bit}
    assert far == {FilterCache.latency}
    assert min(a.answered - a.accepted for a in answers) >= FilterCache.near_latency


@benched(CacheBench, us=100)
async def what_a_unit_knows_keeps_no_other_waiting(bench):
    """All units look up one line's idxs: each has its answers from its own cache."""
    idxs = range(16 * min(bench.params.unit_rows, LINE_IDXS // 16))
    await bench.issue([(True, idx) for idx in idxs])
    for unit in range(bench.params.units):
        await bench.issue([(False, idx) for idx in idxs[::16]], unit)
    firsts = [len(unit.requested) for unit in bench.units]
    near = bench.events["near"]
    for unit in bench.units:
        unit.send((False, random.choice(idxs)) for _ in range(300))
    await bench.wait(20)
    assert not bench.dut.idle.value, "banks have nothing to do, but units"
    await bench.finish()
    assert bench.events["near"] - near == 300 * len(bench.units)
    for first, unit in zip(firsts, bench.units, strict=True):
        answers = unit.requested[first:]
        begun = answers[0].accepted
        assert [a.accepted for a in answers] == list(range(begun, begun + 300))
        assert {a.answered - a.accepted for a in answers} == {FilterCache.near_latency}
        assert all(a.bit for a in answers)


@benched(CacheBench, us=100)
async def as_many_lookups_as_units(bench):
    """Each unit is in a bank of its own: nobody is in anybody's way."""
    params = bench.params
    count = min(params.units, params.banks)
    await bench.issue([(False, line * LINE_IDXS) for line in range(count)])
    for k in range(count):
        idxs = range(k * LINE_IDXS, (k + 1) * LINE_IDXS)
        bench.units[k].send((True, random.choice(idxs)) for _ in range(300))
    firsts = [len(unit.requested) for unit in bench.units]
    await bench.finish()
    for first, unit in zip(firsts, bench.units[:count], strict=False):
        cycles = [a.accepted for a in unit.requested[first:]]
        assert cycles == list(range(cycles[0], cycles[0] + 300))


@benched(CacheBench, us=100)
async def banks_are_fair(bench):
    for unit in bench.units:
        unit.send((False, random.randrange(512)) for _ in range(200))
    firsts = [len(unit.requested) for unit in bench.units]
    await bench.finish()
    count = len(bench.units)
    ends = [unit.requested[-1].accepted for unit in bench.units]
    begins = [
        unit.requested[first].accepted for first, unit in zip(firsts, bench.units, strict=True)
    ]
    assert max(ends) - min(ends) <= 3 * count
    assert max(ends) - min(begins) <= 200 * count + 50


@crossed(latency=[1, 5, 9, 30], us=100)
async def what_a_miss_costs(dut, latency):
    bench = await CacheBench(dut, latency=lambda: latency).begin()
    params = bench.params
    step = params.banks * params.sets  # lines of one set
    costs = []
    for k in range(3 * params.ways):
        # A way is free; then all hold lines that nothing was set in; then dirty ones.
        answers = await bench.issue([(k >= params.ways, k * step * LINE_IDXS)])
        costs.append(answers[0].answered - answers[0].accepted - FilterCache.latency)
    filled, written = latency + FilterCache.fill_cycles, FilterCache.write_back_cycles
    blank = FilterCache.blank_cycles
    assert costs == [
        cost for cost in (blank, filled, max(filled, written)) for _ in answers * params.ways
    ]
    assert FilterCache.fill_cycles <= 12


@crossed(columns=[0, 1, 512, 513, 4000, 1 << 16], stalls=STALLS, us=400)
async def clearing_writes_zeros_to_these_lines_and_no_others(dut, columns, stalls):
    bench = await CacheBench(dut, stalls).begin()
    await bench.issue([(True, line * LINE_IDXS) for line in range(20)])  # dirty lines are left
    contents = bench.dram.contents
    for base in (0, 0x80, 0x7F40):
        contents.update((at, random.getrandbits(512) | 1) for at in range(0, 0x20000, 64))
        before = dict(contents)
        bench.columns = columns
        spent = await bench.clear(base)
        lines = line_count(columns)
        changed = {at: line for at, line in contents.items() if line != before[at]}
        assert changed == {base + 64 * line: 0 for line in range(lines)}
        if stalls.absent:
            assert (
                spent
                <= max(lines, bench.params.sets, bench.params.unit_rows) + bench.dram.latency() + 8
            )
        misses = bench.events["miss"]
        answers = await bench.issue([(False, 0), (True, columns // 2), (False, columns // 2)])
        assert bench.events["miss"] > misses
        if columns:
            assert [a.bit for a in answers] == [0, 0, 1]
        await bench.fill_set(0)
        (answer,) = await bench.issue([(False, 0)])  # of line 0, as it is in memory now
        assert answer.bit == (columns < 2)
    assert not dut.broken.value


@benched(CacheBench, stalls=STALLS, us=400)
async def clearing_waits_for_requests_and_holds_up_others(bench):
    for unit in bench.units:
        unit.send(traffic(500, 8, places=20))
    ends = [0]
    for _ in range(4):
        await bench.wait(random.randrange(20, 150))
        begun = cycle()
        bench.control(1)
        await bench.wait()
        bench.control(0)
        await bench.wait(2)
        bench.control(1)  # once more, when that has ended
        while bench.dut.busy.value:
            bench.control(0)
            await bench.wait()
        ends.append(ended := cycle() - 1)
        for unit in bench.units:
            assert unit.queue
            assert not [a for a in unit.requested if begun + 1 < a.accepted < ended]
            assert not [a for a in unit.requested if a.accepted < ended and not a.answered]
    await bench.finish()
    requested = [item for unit in bench.units for item in unit.requested]
    for begin, end in pairwise([*ends, cycle()]):
        judge = Judge([item for item in requested if begin <= item.accepted < end])
    await bench.evict()
    bits = np.zeros(bench.columns, bool)
    bits[sorted(judge.sets)] = True
    assert bench.memory(bench.columns) == image(bits).tobytes()


@benched(CacheBench, dirty=[False, True], us=100)
async def a_failed_fill_fails_its_request(bench, dirty):
    """This is so in each of the banks."""
    params = bench.params
    step = params.banks * params.sets * LINE_IDXS
    for bank in range(params.banks):
        idxs = [k * step + bank * LINE_IDXS + 3 for k in range(params.ways)]
        await bench.issue([*((dirty, idx) for idx in idxs), (False, idxs[0])])
        bad = params.ways * step + bank * LINE_IDXS + 3
        bench.dram.bad_reads = {line_address(bad, BASE)}
        # A set that failed leaves no trace in the same word of other ways, read right behind it.
        first = idxs[0]
        requests = [(True, bad), (False, first), (True, bad + 1), (False, first + 64)]
        requests += [(False, first + 1), (False, bad), (False, first)]
        answers = await bench.issue([*requests, *((False, idx) for idx in idxs)])
        assert [a.failed for a in answers] == [1, 0, 1, 0, 0, 1, 0] + [0] * len(idxs)
        bits = [a.bit for a in answers if not a.failed]
        assert bits == [dirty, 0, 0, dirty] + [dirty] * len(idxs)
        bench.dram.bad_reads = set()
        answers = await bench.issue([(False, bad), (True, bad), (False, bad)])
        assert [(a.bit, a.failed) for a in answers] == [(0, 0), (0, 0), (1, 0)]
        assert bench.events["fill_error"] == 3 * (bank + 1)
    assert not bench.dut.broken.value


@benched(partial(CacheBench, columns=1 << 16), us=100)
async def a_failed_write_back_fails_everything(bench):
    params = bench.params
    step = params.banks * params.sets * LINE_IDXS
    first = (params.banks - 1) * LINE_IDXS  # of the last bank
    idxs = [first + k * step for k in range(params.ways + 1)]
    bench.dram.bad_writes = {line_address(first, BASE)}
    answers = await bench.issue([(True, idx) for idx in idxs])
    assert [a.failed for a in answers][:-1] == [0] * params.ways
    assert bench.dut.broken.value
    for unit in range(params.units):
        assert all(a.failed for a in await bench.issue(traffic(20, 3), unit))
    await bench.clear()  # its own write to this line fails as well
    assert bench.dut.broken.value
    assert all(a.failed for a in await bench.issue(traffic(20, 3)))
    assert bench.events["write_error"] >= 2
    bench.dram.bad_writes = set()
    await bench.clear()
    assert not bench.dut.broken.value
    answers = await bench.issue([(False, idx) for idx in idxs])
    assert [(a.bit, a.failed) for a in answers] == [(0, 0)] * len(idxs)


@benched(CacheBench, us=100)
async def a_silent_memory_is_abandoned(bench):
    """What it was asked fails, its late answer is nobody's, and it is used again when revived."""
    await bench.fill_set(5)
    bench.dram.freeze()
    bench.units[0].send([(True, 5)])
    for said in ("tick", "tick"):
        await bench.wait(40)
        await bench.report(said)
    await bench.wait(40)
    assert [a.failed for a in bench.units[0].requested] == [0] * bench.params.ways + [1]
    assert bench.value("bus") == {"broken": 1, "silent": 1, "owes": 1, "dropped": 0}
    bench.dram.freeze(False)
    dropped = 0
    for _ in range(40):
        await bench.wait()
        dropped += bench.value("bus")["dropped"]
    assert dropped == 1
    await bench.report("revive")
    await bench.wait(3)
    assert not int(bench.dut.bus.value)
    answers = await bench.issue([(False, 5), (True, 5), (False, 5)])
    assert [(a.bit, a.failed) for a in answers] == [(0, 0), (0, 0), (1, 0)]
    assert not bench.dut.broken.value


@benched(CacheBench, us=100)
async def a_bank_that_waits_holds_up_no_other(bench):
    params = bench.params
    if params.banks == 1:
        return
    await bench.issue([(False, LINE_IDXS)])
    await bench.fill_set(0)
    bench.dram.freeze()
    bench.units[0].send([(False, 0)])
    await bench.wait(10)
    bench.units[1].send((True, LINE_IDXS + k) for k in range(100))
    await bench.wait(130)
    assert bench.units[1].idle
    assert not bench.units[0].idle
    bench.dram.freeze(False)
    await bench.finish()


@benched(CacheBench, us=100)
async def a_reset_forgets_the_cache(bench):
    await bench.issue([(True, 5)])
    bench.dut.rst.value = 1
    await bench.wait(2)
    bench.dut.rst.value = 0
    await bench.wait(1)
    assert bench.dut.busy.value
    await bench.until("busy", 0)
    assert not bench.dram.sources["b"].cycles[48:]
    assert [a.bit for a in await bench.issue([(False, 5)])] == [0]
