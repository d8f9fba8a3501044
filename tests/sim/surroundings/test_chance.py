import cocotb
from amaranth.lib.wiring import In, Out
from cocotb.triggers import RisingEdge

from hdl.common.component import Component
from sim.harness.streams import start
from sim.harness.verilator import simulate
from sim.surroundings.chance import random_bits


class Chances(Component):
    """Has one of each width."""

    def __init__(self, params=None):
        super().__init__(params, seed=In(32), narrow=Out(32), wide=Out(64))

    def build(self, m):
        narrow = random_bits(m, self.seed, name="narrow_state")
        wide = random_bits(m, self.seed, bits=64, name="wide_state")
        m.d.comb += [self.narrow.eq(narrow), self.wide.eq(wide)]


def xorshift(value, bits, shifts):
    for shift in shifts:
        value ^= (value << shift if shift > 0 else value >> -shift) & ((1 << bits) - 1)
    return value


def test_chance():
    simulate(Chances(), __name__)


@cocotb.test()
async def marsaglias_numbers(dut):
    dut.seed.value = 12345
    await start(dut)
    await RisingEdge(dut.clk)
    narrow, wide = int(dut.narrow.value), int(dut.wide.value)
    while not narrow:
        await RisingEdge(dut.clk)
        narrow, wide = int(dut.narrow.value), int(dut.wide.value)
    assert (narrow, wide) == (12345, 12345)
    for _ in range(100):
        await RisingEdge(dut.clk)
        narrow = xorshift(narrow, 32, (13, -17, 5))
        wide = xorshift(wide, 64, (13, -7, 17))
        assert (int(dut.narrow.value), int(dut.wide.value)) == (narrow, wide)
