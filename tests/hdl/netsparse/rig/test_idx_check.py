import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.rig.idx_check import CHECK_EVENTS, IdxCheck
from hdl.netsparse.rig.params import RigParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS, Sink, Source, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.netsparse.rig.bench import TINY


def test_idx_check():
    simulate(IdxCheck(TINY), __name__)


def tag_of(idx, bits):
    """Return the tag that goes with ``idx``."""
    return (idx ^ idx >> 5) & ((1 << bits) - 1)


async def count_events(dut, totals, tags):
    """Count events, and the tags of those of judged idxs."""
    while True:
        await RisingEdge(dut.clk)
        for name, value in unpack(CHECK_EVENTS, int(dut.events.value)).items():
            totals[name] = totals.get(name, 0) + value
            if value and name != "consumed":
                tags.setdefault(name, []).append(int(dut.judged_tag.value))


async def give_tags(dut):
    """Give each idx that is offered its tag."""
    while True:  # the first one may be what the test before has left there
        dut.tag.value = tag_of(int(dut.i_payload.value), len(dut.tag))
        await dut.i_payload.value_change


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
    params = params_in_simulator(RigParams)
    dut.reject.value = dut.tag.value = 0
    bits = params.slot_bits
    dut.partition.value = pack(params.partition, {"first": first, "end": end, "columns": columns})
    source_stall, sink_stall = stalls
    await start(dut)
    totals, tags, passed = {}, {}, []
    cocotb.start_soon(count_events(dut, totals, tags))
    cocotb.start_soon(give_tags(dut))
    source = Source(dut, "i", stall=source_stall)

    def note_tag(_):
        passed.append(int(dut.judged_tag.value))

    sink = Sink(dut, "o", stall=sink_stall, callback=note_tag)
    idxs = wild_idxs(first, end, columns)
    await source.send_all(idxs)
    await ClockCycles(dut.clk, 60)
    local = [k for k in idxs if first <= k < end]
    beyond = [k for k in idxs if k >= columns]
    assert sink.beats == [k for k in idxs if k < columns and not first <= k < end]
    assert totals == {
        "consumed": len(idxs),
        "local": len(local),
        "beyond": len(beyond),
        "rejected": len(beyond),
    }
    assert passed == [tag_of(idx, bits) for idx in sink.beats]
    assert tags.get("local", []) == [tag_of(idx, bits) for idx in local]
    assert tags.get("beyond", []) == [tag_of(idx, bits) for idx in beyond]
    if stalls.none:
        assert source.cycles[-1] - source.cycles[0] == len(idxs) - 1
        if sink.beats and sink.beats[0] == idxs[0]:
            assert sink.cycles[0] - source.cycles[0] == IdxCheck.latency
    dut.reject.value = 1
    await source.send_all(idxs[:20])
    await ClockCycles(dut.clk, 10)
    assert totals["rejected"] == len(beyond) + 20
    assert tags["rejected"] == [tag_of(idx, bits) for idx in beyond + idxs[:20]]
    assert totals["local"] == len(local)
