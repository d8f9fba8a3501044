"""A port floods no more beats than its tokens, and a packet."""

import cocotb

from hdl.switch.forwarding.flood_limit import FloodLimit
from sim.harness.streams import crossed, edges, start
from sim.harness.verilator import simulate

CYCLES, PACKET = 8000, 9
LATE = 2  #: cycles until a token that is taken shows in ``open``


def test_flood_limit():
    simulate(FloodLimit(), __name__)


async def flooded(dut, cycles):
    """Flood packets whenever it is open; return the number of beats."""
    beats = left = 0
    for _ in range(cycles):
        dut.floods.value = left > 0
        await edges(dut.clk, 1)
        beats += left > 0
        left = left - 1 if left else PACKET * bool(dut.open.value)
    dut.floods.value = 0
    return beats


@crossed(rate=[0, 1000, 30_000], burst=[20, 200])
async def beats_have_tokens(dut, rate, burst):
    dut.rate.value, dut.burst.value, dut.floods.value = rate, burst, 0
    await start(dut)
    await edges(dut.clk, 3000)  # tokens are saved up
    saved = min(burst, 3000 * rate >> 16)
    beats = await flooded(dut, CYCLES)
    earned = CYCLES * rate >> 16
    assert saved + earned - PACKET <= beats <= saved + earned + PACKET + LATE


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_smaller_burst_holds_at_once(dut):
    dut.rate.value, dut.burst.value, dut.floods.value = 65535, 2000, 0
    await start(dut)
    await edges(dut.clk, 2500)
    dut.rate.value, dut.burst.value = 0, 20
    await edges(dut.clk, 4)
    assert await flooded(dut, 200) <= 20 + PACKET + LATE
