"""Tests the tally as ``ingather verify tally`` does."""

import cocotb
from tally.golden import count_of
from tally.hardware import Tally, TallyParams

from sim.harness.bench import Bench
from sim.harness.verilator import simulate


@cocotb.test()
async def wraps(dut):
    """Three events more than a count can hold leave it at three."""
    bench = await Bench(dut).begin()
    events = 3 + (1 << bench.params.bits)
    bench.set(event=1)
    await bench.wait(events)
    bench.set(event=0)
    await bench.wait()
    assert bench.value("count") == count_of(events, bench.params.bits) == 3


def test_tally():
    """Run the cocotb tests of this module on four bits."""
    simulate(Tally(TallyParams(bits=4)), "tests.test_tally")
