import random

import cocotb

from sim.harness.bench import Bench
from sim.harness.streams import always, often
from sim.harness.verilator import simulate
from sim.surroundings.cmac_kernel import CmacKernel


def test_cmac_kernel():
    simulate(CmacKernel(), __name__)


def packets(lengths):
    keep = (1 << 64) - 1
    return [
        {"tdata": random.getrandbits(512), "tkeep": keep, "tlast": int(k == beats - 1)}
        for beats in lengths
        for k in range(beats)
    ]


@cocotb.test(timeout_time=50, timeout_unit="us")
async def packets_are_sent_without_a_gap(dut):
    """However they come, and received ones pass at once."""
    bench = await Bench(dut, (often, always)).begin()
    await bench.wait(4)
    lengths = [random.randint(1, 20) for _ in range(40)]
    sent, came = packets(lengths), packets(lengths)
    bench.to_link.stall = lambda: False
    bench.m_axis.stall = lambda: False
    bench.s_axis.extend(sent)
    bench.of_link.extend([beat | {"tuser": 1} for beat in came])
    await bench.to_link.wait_for(len(sent))
    await bench.m_axis.wait_for(len(came))
    assert bench.to_link.beats == [beat | {"tuser": 0} for beat in sent]
    assert bench.m_axis.beats == came
    first = 0
    for beats in lengths:
        cycles = list(bench.to_link.cycles)[first : first + beats]
        assert cycles == list(range(cycles[0], cycles[0] + beats))
        first += beats
    assert not int(dut.lost.value)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def what_is_not_taken_is_lost(dut):
    bench = await Bench(dut).begin()
    bench.m_axis.stop()
    dut.m_axis_tready.value = 0
    bench.of_link.extend(packets([3, 4]))
    await bench.wait(20)
    assert int(dut.lost.value) == 7
