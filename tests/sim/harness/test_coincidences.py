import cocotb
from cocotb.triggers import RisingEdge

from sim.harness.coincidences import DISTANCES, apart, around, pairs, pulse
from sim.harness.streams import cycle, start
from sim.harness.verilator import simulate
from tests.sim.harness.components import Join, JoinParams


def test_coincidences():
    simulate(Join(JoinParams()), __name__)


def test_pairs():
    assert sorted(pairs("ab", [5])) == [(name, 5, at) for name in "ab" for at in DISTANCES]
    assert around(7) == [6, 7, 8]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def events_are_as_far_apart_as_requested(dut):
    dut.a_valid.value = dut.go_valid.value = dut.o_ready.value = 0
    await start(dut)
    seen = {"a_valid": [], "go_valid": []}

    async def watch():
        while True:
            await RisingEdge(dut.clk)
            for name, cycles in seen.items():
                cycles.extend([cycle()] if getattr(dut, name).value else [])

    cocotb.start_soon(watch())
    for distance in range(-3, 4):
        first, second = (pulse(dut, name) for name in seen)
        said = await apart(dut, first, second, distance)
        await RisingEdge(dut.clk)
        assert said == (seen["a_valid"][-1], seen["go_valid"][-1])
        assert said[1] - said[0] == distance
    assert [len(cycles) for cycles in seen.values()] == [7, 7]
