import random
from dataclasses import replace

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.rig.params import Cause
from hdl.netsparse.rig.unit import RigUnit
from sim.payloads import pack
from sim.streams import STALLS, Source, cycle, often
from sim.verilator import simulate
from tests.hdl.netsparse.rig.bench import TINY
from tests.hdl.netsparse.rig.unit_bench import (
    COLUMNS,
    LOCAL,
    NODE,
    PROPERTIES,
    UnitBench,
    quickly,
    remote,
    slowly,
)

LARGE = replace(
    TINY,
    pending_entries=256,
    lsq_entries=64,
    lsq_reserved=8,
    idx_buffer_bytes=4096,
    property_buffer_bytes=4096,
    transmit_prs=16,
    commands=4,
)


@pytest.mark.parametrize("params", [TINY, LARGE], ids=["4", "256"])
def test_unit(params):
    simulate(RigUnit(params), __name__)


def some_idxs(count, spread=COLUMNS):
    """Often the same ones, near each other and far apart."""
    few = random.sample(range(COLUMNS), min(spread, COLUMNS))
    return [random.choice(few[: random.choice((3, 20, spread))]) for _ in range(count)]


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS, size=[4, 64, 68, 192])
async def gathers_each_property_once(dut, stalls, size):
    source, sink = stalls
    bench = await UnitBench(dut, source=source, sink=sink).begin()
    known = set()
    for count in (0, 1, 150):
        idxs = some_idxs(count)
        prs = await bench.gather(idxs, size, wide=random.getrandbits(1))
        assert len(prs) == len({*prs}), "asked for twice"
        assert {*prs} == {*remote(idxs)} - known
        known |= {*prs}
    assert bench.filter.bits == known
    await bench.end()


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(filter_latency=[quickly, slowly], trip=[lambda: 2, slowly])
async def asks_exactly_once(dut, filter_latency, trip):
    bench = await UnitBench(dut, filter_latency=filter_latency, trip=trip).begin()
    for spread in (2, 12, 60, 300):
        bench.forget()
        idxs = some_idxs(150, spread)
        prs = await bench.gather(idxs)
        assert sorted(prs) == sorted({*remote(idxs)})
    await bench.end()
