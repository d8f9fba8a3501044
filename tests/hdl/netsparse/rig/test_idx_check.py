import random

import cocotb
from cocotb.triggers import ClockCycles

from hdl.netsparse.rig.idx_check import IdxCheck
from sim.harness.bench import Bench
from sim.harness.streams import STALLS
from tests.hdl.netsparse.rig.bench import TINY, TaggedSource
from tests.simulated import simulated

test_idx_check = simulated(IdxCheck, [TINY], __name__)


def tag_of(idx, bits):
    """Return the tag that goes with ``idx``."""
    return (idx ^ idx >> 5) & ((1 << bits) - 1)


def wild_idxs(first, end, columns):
    edges = [first - 1, first, end - 1, end, columns - 1, columns, columns + 1, 0, 1 << 63]
    near = [k for k in edges if k >= 0] * 20
    anywhere = [random.randrange(columns + 10) for _ in range(500)]
    high = [random.randrange(columns) | 1 << bit for bit in range(12, 64)] + [(1 << 64) - 1]
    idxs = near + anywhere + high
    random.shuffle(idxs)
    return idxs


@cocotb.test()
@cocotb.parametrize(stalls=STALLS, bounds=[(1100, 2300, 3000), (0, 0, 4096), (0, 4096, 4096)])
async def sorts_idxs(dut, stalls, bounds):
    first, end, columns = bounds
    bench = Bench(dut, stalls, partition={"first": first, "end": end, "columns": columns})
    bits = bench.params.slot_bits
    events = bench.record("events", "events", "judged_tag")
    passed = bench.record("o_valid", "judged_tag", taken="o_ready")
    source = TaggedSource(dut, "i", lambda idx: tag_of(idx, bits), stall=bench.source_stall)
    sink = bench.o
    await bench.begin()

    def tags(event):
        return [item["judged_tag"] for item in events.beats if item["events"][event]]

    idxs = wild_idxs(first, end, columns)
    await source.send_all(idxs)
    await ClockCycles(dut.clk, 60)
    local = [k for k in idxs if first <= k < end]
    beyond = [k for k in idxs if k >= columns]
    assert sink.beats == [k for k in idxs if k < columns and not first <= k < end]
    assert [item["judged_tag"] for item in passed.beats] == [
        tag_of(idx, bits) for idx in sink.beats
    ]
    assert len(tags("consumed")) == len(idxs)
    assert tags("local") == [tag_of(idx, bits) for idx in local]
    assert tags("beyond") == tags("rejected") == [tag_of(idx, bits) for idx in beyond]
    if stalls.absent:
        assert source.cycles[-1] - source.cycles[0] == len(idxs) - 1
        if sink.beats and sink.beats[0] == idxs[0]:
            assert sink.cycles[0] - source.cycles[0] == IdxCheck.latency
    dut.reject.value = 1
    await source.send_all(idxs[:20])
    await ClockCycles(dut.clk, 10)
    assert tags("rejected") == [tag_of(idx, bits) for idx in beyond + idxs[:20]]
    assert len(tags("local")) == len(local)
