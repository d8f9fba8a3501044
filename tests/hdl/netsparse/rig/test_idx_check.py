import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.rig.idx_check import CHECK_EVENTS, IdxCheck
from hdl.netsparse.rig.params import RigParams
from sim.payloads import pack, unpack
from sim.streams import STALLS, Sink, Source, start
from sim.verilator import params_in_simulator, simulate
from tests.hdl.netsparse.rig.bench import TINY


def test_idx_check():
    simulate(IdxCheck(TINY), __name__)


async def count_events(dut, totals):
    while True:
        await RisingEdge(dut.clk)
        for name, value in unpack(CHECK_EVENTS, int(dut.events.value)).items():
            totals[name] = totals.get(name, 0) + value


def wild_idxs(first, end, columns):
    edges = [first - 1, first, end - 1, end, columns - 1, columns, columns + 1, 0, 1 << 63]
    near = [k for k in edges if k >= 0] * 20
    anywhere = [random.randrange(columns + 10) for _ in range(500)]
    high = [random.getrandbits(64) for _ in range(50)] + [1 << 12 | first, 1 << 32, (1 << 64) - 1]
    idxs = near + anywhere + high
    random.shuffle(idxs)
    return idxs


@cocotb.test()
@cocotb.parametrize(stalls=STALLS, bounds=[(100, 200, 1000), (0, 0, 4096), (0, 4096, 4096)])
async def sorts_idxs(dut, stalls, bounds):
    first, end, columns = bounds
    params = params_in_simulator(RigParams)
    dut.reject.value = dut.tag.value = 0
    dut.partition.value = pack(params.partition, {"first": first, "end": end, "columns": columns})
    source_stall, sink_stall = stalls
    await start(dut)
    totals = {}
    cocotb.start_soon(count_events(dut, totals))
    source, sink = Source(dut, "i", stall=source_stall), Sink(dut, "o", stall=sink_stall)
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
    if stalls.none:
        assert source.cycles[-1] - source.cycles[0] == len(idxs) - 1
        if sink.beats and sink.beats[0] == idxs[0]:
            assert sink.cycles[0] - source.cycles[0] == IdxCheck.latency
    dut.reject.value = 1
    await source.send_all(idxs[:20])
    await ClockCycles(dut.clk, 10)
    assert totals["rejected"] == len(beyond) + 20
    assert totals["local"] == len(local)
