import random

import cocotb
from cocotb.triggers import RisingEdge

from gen.base.emission.emit import emit
from hdl.common.crossing.gray_crossing import GrayCrossing, GrayCrossingParams
from sim.harness.verilator import simulate
from tests.hdl.common.crossing.clocks import RATIOS, start

BITS = 4


def test_gray_crossing():
    simulate(GrayCrossing(GrayCrossingParams(bits=BITS)), __name__)


def test_registers_that_the_constraint_names():
    verilog = emit(GrayCrossing(GrayCrossingParams(bits=BITS))).verilog
    assert 'DONT_TOUCH = "TRUE"' in verilog
    assert verilog.count('(* ASYNC_REG = "TRUE" *)') == 2
    for register in ("gray", "first", "seen"):
        assert f"reg [3:0] {register}" in verilog


def decoded(code):
    """Return the number that a Gray code stands for."""
    code = number = int(code.value)
    while code := code >> 1:
        number ^= code
    return number


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(ratio=RATIOS)
async def shows_values_in_their_order(dut, ratio):
    write, read = await start(dut, write=ratio[0], read=ratio[1])
    values, seen = [0], []
    dut.value.value = 0
    await write.edges(3)
    await read.edges(4)

    async def count():
        while True:
            await RisingEdge(write.clk)
            values.append(values[-1] + (random.random() < 0.5))
            dut.value.value = values[-1] % (1 << BITS)

    counting = cocotb.start_soon(count())
    for _ in range(60 * max(1, ratio[0] // ratio[1])):
        # Few steps between two looks, so that none is taken for one of a round before.
        await RisingEdge(read.clk)
        seen.append((decoded(dut.seen), values[-1]))
    counting.cancel()
    for value in range(values[-1], values[-1] + (1 << BITS)):
        dut.value.value = value % (1 << BITS)
        await write.edges(2)
        assert decoded(dut.gray) == value % (1 << BITS)
        await read.edges(3)
        assert decoded(dut.seen) == value % (1 << BITS)
    last = 0
    for number, most in seen:
        behind = (most - number) % (1 << BITS)
        value = most - behind  # the latest that looks like it
        if ratio[1] <= 4 * ratio[0]:
            assert last <= value <= most
            last = value
    assert last > 0 or ratio[1] > 4 * ratio[0]
