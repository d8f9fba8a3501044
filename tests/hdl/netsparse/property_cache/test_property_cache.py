"""Compares the Property Cache with its golden model: an access per cycle, all modes, every line."""

import os
import random
from itertools import product

import pytest

from hdl.netsparse.property_cache.params import LEAST_LATENCY, PRESETS, SEGMENT_BYTES
from hdl.netsparse.property_cache.property_cache import PropertyCache
from sim.harness.streams import RESET_CYCLES, benched
from sim.harness.verilator import simulate
from sim.netsparse.golden.property_cache import Outcome
from tests.hdl.netsparse.property_cache.bench import CacheBench, Traffic

SHORT, LONG = 1500, 100_000  #: random accesses of each mode
ACCESSES = "PROPERTY_CACHE_ACCESSES"  #: how many, in the simulator's environment
SIZES = ["tiny", "small"]


@pytest.mark.parametrize("size", SIZES)
def test_property_cache(size):
    simulate(PropertyCache(PRESETS[size]), __name__, env={ACCESSES: str(SHORT)})


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
def test_many_accesses(size):
    """They are the same at random, but far longer."""
    cache = PropertyCache(PRESETS[size])
    simulate(cache, __name__, env={ACCESSES: str(LONG)}, test_filter="random_accesses")


def test_latency_is_a_parameter():
    assert PropertyCache(PRESETS["tiny"]).latency == LEAST_LATENCY
    assert PropertyCache(PRESETS["paper"]).latency == 16


@benched(CacheBench, ms=20)
async def random_accesses(bench):
    """Each mode has some, the first while the cache is cleared, each cycle or with pauses."""
    count = int(os.environ[ACCESSES])
    for mode, length in bench.modes():
        bench.cycle(configure=length)
        bench.seen.clear()
        while bench.seen.total() < count:
            traffic = Traffic(bench, length, mode, rows=random.randint(1, 3))
            pauses = random.choice((0, 0.3))
            for _ in range(500):
                bench.cycle(None if random.random() < pauses else traffic.access())
            await bench.compare_all()
        often = (Outcome.HIT, Outcome.MISS, Outcome.PRESENT, Outcome.REPLACED)
        assert min(bench.seen[outcome] for outcome in often) > count / 30, bench.seen
        assert bench.seen[Outcome.INSERTED]
        assert bench.seen[Outcome.BYPASSED]
    await bench.drain()


@benched(CacheBench)
async def bursts_on_one_set(bench):
    """All accesses are to one row, at every distance at which they can meet on their way."""
    for mode, length in bench.modes():
        bench.configure(length)
        for apart in range(1, 8):
            traffic = Traffic(bench, length, mode, rows=1)
            idxs = random.choices(traffic.pool, k=apart)
            accesses = [
                (idx, random.choice((length, random.randbytes(length))))
                for _ in range(60 // apart)
                for idx in idxs
            ]
            await bench.run(accesses)


@benched(CacheBench)
async def every_line_is_of_use(bench):
    """In every mode properties fill the cache; a row's next one takes its oldest line."""
    params = bench.params
    for mode in range(params.segment_bits + 1):
        length = SEGMENT_BYTES << mode
        bench.configure(length)
        bench.seen.clear()
        idxs = bench.lines_of(mode)
        assert len(idxs) * length == params.cache_bytes
        await bench.run((idx, random.randbytes(length)) for idx in idxs)
        assert bench.seen == {Outcome.INSERTED: len(idxs)}
        random.shuffle(idxs)
        await bench.run((idx, length) for idx in idxs)
        assert bench.seen[Outcome.HIT] == len(idxs)
        more = [random.getrandbits(params.idx_bits) for _ in range(200)]
        await bench.run((idx, random.randbytes(length)) for idx in more)
        assert bench.seen[Outcome.REPLACED] > 100
        await bench.run((idx, length) for idx in idxs[:200])


@benched(CacheBench)
async def ignored_segment_bits_report_idxs_apart(bench):
    params = bench.params
    for mode in range(1, params.segment_bits + 1):
        length, together = SEGMENT_BYTES << mode, 1 << mode
        bench.configure(length)
        bench.seen.clear()
        first = random.randrange(params.segments // together) * together
        at, tag = random.randrange(params.sets), random.getrandbits(3)
        segments = random.sample(range(together), min(together, params.ways))
        idxs = [bench.idx_of(first + segment, at, tag) for segment in segments]
        await bench.run((idx, random.randbytes(length)) for idx in idxs)
        await bench.run((idx, length) for idx in idxs)
        assert bench.seen == {Outcome.INSERTED: len(idxs), Outcome.HIT: len(idxs)}


@benched(CacheBench)
async def an_insert_of_what_is_there_changes_nothing(bench):
    """Neither the data, however near the first insert is, nor the order."""
    params, length = bench.params, SEGMENT_BYTES
    bench.configure(length)
    for pause in range(12):
        idx = random.getrandbits(params.idx_bits)
        bench.cycle((idx, random.randbytes(length)))
        for _ in range(pause):
            bench.cycle()
        await bench.run([(idx, random.randbytes(length)), (idx, length)])
    bench.configure(length)
    bench.seen.clear()
    idxs = [bench.idx_of(1, 1, tag) for tag in range(params.ways + 1)]
    await bench.run((idx, random.randbytes(length)) for idx in idxs[:-1])
    await bench.run([(idxs[0], random.randbytes(length)), (idxs[-1], random.randbytes(length))])
    await bench.run([(idxs[0], length), (idxs[1], length)])
    result = {Outcome.INSERTED: params.ways, Outcome.PRESENT: 1, Outcome.REPLACED: 1}
    assert bench.seen == result | {Outcome.MISS: 1, Outcome.HIT: 1}


@benched(CacheBench, ms=2)
async def it_is_emptied_in_the_middle_of_traffic(bench):
    """It gets another size as well, at any time, even while it is being emptied."""
    sizes = [length for _, length in bench.modes()]
    length, mode = sizes[0], 0
    bench.cycle(configure=length)
    for before in range(60):
        traffic = Traffic(bench, length, mode)
        for _ in range(random.choice((before, bench.params.rows + 2 * before))):
            bench.cycle(traffic.access())
        idx = random.getrandbits(bench.params.idx_bits)  # which is on its way meanwhile
        for access in ((idx, random.randbytes(length)), (idx, length)):
            bench.cycle(access)
        for _ in range(before % 5):
            bench.cycle(traffic.access())
        mode = random.randrange(len(sizes)) if before % 2 else mode
        length = sizes[mode]
        bench.cycle(traffic.access(), configure=length)
    await bench.drain()
    assert min(bench.seen[outcome] for outcome in set(Outcome) - {Outcome.REPLACED}) > 10


@benched(CacheBench)
async def sizes_that_it_cannot_hold_bypass(bench):
    most = bench.params.max_bytes
    for length in (0, most + 1, 2 * most, 8191):
        bench.configure(length)
        await bench.run(
            (idx, random.choice((size, bytes(size))))
            for idx, size in product(range(4), (0, 1, 16, most, length))
        )
    assert set(bench.seen) == {Outcome.BYPASSED}


@benched(CacheBench)
async def a_reset_empties_it(bench):
    """Everything bypasses until it is configured; then nothing of before is there."""
    idxs = bench.lines_of(0)[:20]
    for cut in range(12):
        bench.configure(SEGMENT_BYTES)
        for idx in idxs:
            bench.cycle((idx, random.randbytes(SEGMENT_BYTES)))
        for _ in range(cut):
            bench.cycle((random.choice(idxs), SEGMENT_BYTES))
        await bench.compare_all()
        bench.dut.access_valid.value, bench.dut.rst.value = 0, 1
        await bench.wait(RESET_CYCLES)
        bench.dut.rst.value = 0
        bench.restarts()
        await bench.run((idx, SEGMENT_BYTES) for idx in idxs)
        while bench.left:
            bench.cycle()
        bench.configure(SEGMENT_BYTES)
        bench.seen.clear()
        await bench.run((idx, SEGMENT_BYTES) for idx in idxs)
        assert set(bench.seen) == {Outcome.MISS}
