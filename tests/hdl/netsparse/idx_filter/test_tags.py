import random
from dataclasses import replace

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from hdl.netsparse.idx_filter.params import FilterCacheParams
from hdl.netsparse.idx_filter.tags import FilterTags
from sim.harness.plays import play
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from tests.hdl.netsparse.idx_filter.bench import SMALL
from tests.simulated import simulated

SIZES = [replace(SMALL, cache_bytes=256 * ways, ways=ways) for ways in (1, 4)]
test_tags = simulated(FilterTags, SIZES, __name__)


class Set:
    """The ways of a set, least recent first, and what they hold."""

    def __init__(self, ways):
        self.order = list(range(ways))
        self.tags = [None] * ways
        self.dirty = [False] * ways
        self.filled = False  # all ways have held something

    def victim(self):
        return self.tags.index(None) if None in self.tags else self.order[0]


async def begin(dut):
    params = params_in_simulator(FilterCacheParams)
    for name in ("use", "change", "install", "drop", "set", "tag"):
        getattr(dut, name).value = 0
    dut.clear.value = 1
    await start(dut)
    await play(dut, [{"clear_at": row} for row in range(params.sets)])
    dut.clear.value = 0
    return params, [Set(params.ways) for _ in range(params.sets)]


def check(dut, item, tag):
    """Return the way that is hit, as ``item`` has it."""
    hit = item.tags.index(tag) if tag in item.tags else None
    assert int(dut.hits.value) == (0 if hit is None else 1 << hit)
    # Which of several ways that were never used is the oldest does not matter: they are empty.
    victim = item.victim()
    assert int(dut.victim.value) == 1 << victim
    held = item.tags[victim]
    assert held is None or int(dut.victim_tag.value) == held
    assert int(dut.victim_dirty.value) == (held is not None and item.dirty[victim])
    item.filled |= None not in item.tags
    assert int(dut.intact.value) == (not item.filled)
    return hit


async def access(dut, item, tag):
    """Play a request as a bank makes it: used on a hit, a victim replaced on a miss."""
    hit = check(dut, item, tag)
    change = random.random() < 0.5
    dut.change.value = change
    if hit is not None:
        dut.use.value = 1
        way = hit
        await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.use.value = 0
        item.dirty[way] |= change
    else:
        way, drop = item.victim(), random.random() < 0.1
        (dut.drop if drop else dut.install).value = 1
        await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.drop.value = dut.install.value = 0
        item.tags[way], item.dirty[way] = None if drop else tag, False
        return
    item.order.remove(way)
    item.order.append(way)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def the_least_recent_one_goes(dut):
    params, sets = await begin(dut)
    await FallingEdge(dut.clk)
    # In each set tags that differ in any one bit from one of them.
    bits = [random.sample(range(len(dut.tag)), len(dut.tag))[: params.ways + 1] for _ in sets]
    bases = [random.getrandbits(len(dut.tag)) for _ in sets]
    for _ in range(1500):
        row = random.randrange(params.sets)
        tag = bases[row] ^ random.choice([0, *(1 << bit for bit in bits[row])])
        dut.set.value, dut.tag.value = row, tag
        await FallingEdge(dut.clk)
        # What a bank installs it uses at once: the request that missed is served.
        missed = tag not in sets[row].tags
        await access(dut, sets[row], tag)
        if missed and tag in sets[row].tags:
            await access(dut, sets[row], tag)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def clearing_empties_all_ways(dut):
    params, sets = await begin(dut)
    await FallingEdge(dut.clk)
    for row, item in enumerate(sets):
        for tag in range(params.ways):
            dut.set.value, dut.tag.value = row, tag
            await FallingEdge(dut.clk)
            await access(dut, item, tag)
    dut.clear.value, dut.clear_at.value = 1, params.sets - 1
    dut.set.value, dut.tag.value, dut.install.value = 0, params.ways + 1, 1
    await FallingEdge(dut.clk)
    dut.clear.value = dut.install.value = 0
    sets[-1] = Set(params.ways)
    for row, item in enumerate(sets):
        for tag in range(params.ways + 2):
            dut.set.value, dut.tag.value = row, tag
            await FallingEdge(dut.clk)
            check(dut, item, tag)
