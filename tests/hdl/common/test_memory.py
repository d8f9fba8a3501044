import random

import cocotb
import pytest

from gen.base.emission.emit import emit
from hdl.common.memory import DualPortMemory, MemoryParams
from sim.harness.plays import played
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

SIZES = [
    MemoryParams(shape=1, depth=2),
    MemoryParams(shape=12, depth=13, style="distributed"),
    MemoryParams(shape=72, depth=64, style="ultra", output_registers=3),
]

test_memory = simulated(DualPortMemory, SIZES, __name__)


@pytest.mark.parametrize("style", ["distributed", "block", "ultra"])
def test_asks_for_its_style(style):
    assert (
        f'ram_style = "{style}"'
        in emit(DualPortMemory(MemoryParams(shape=8, depth=5, style=style))).verilog
    )
    assert "ram_style" not in emit(DualPortMemory(MemoryParams(shape=8, depth=5))).verilog


async def exchange(dut, rows):
    """Apply (read address, write, write address, data) per cycle; return each read_data."""
    names = ("read_address", "write", "write_address", "write_data")
    cycles = [dict(zip(names, row, strict=True)) for row in rows]
    return [one["read_data"] for one in await played(dut, cycles, {"read_data": None})]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def reads_the_old_contents(dut):
    params = params_in_simulator(MemoryParams)
    depth, ones = params.depth, (1 << params.width) - 1
    contents = {address: random.choice([0, ones]) for address in range(depth)}
    await start(dut)
    await exchange(dut, [(0, 1, address, data) for address, data in contents.items()])
    rows, golden = [], []
    for _ in range(500):
        address = random.randrange(depth)
        read = random.choice([address, random.randrange(depth)])
        rows.append((read, random.randrange(2), address, random.getrandbits(params.width)))
        golden.append(contents[read])
        if rows[-1][1]:
            contents[address] = rows[-1][3]
    latency = DualPortMemory(params).latency
    seen = await exchange(dut, rows + [(0, 0, 0, 0)] * latency)
    assert seen[latency:] == golden


@cocotb.test(timeout_time=100, timeout_unit="us")
async def survives_a_reset(dut):
    params = params_in_simulator(MemoryParams)
    last = params.depth - 1
    data = random.getrandbits(params.width) | 1
    await start(dut)
    await exchange(dut, [(0, 1, last, data)])
    dut.rst.value = 1
    await exchange(dut, [(last, 0, 0, 0)] * 4)
    dut.rst.value = 0
    assert (await exchange(dut, [(last, 0, 0, 0)] * (params.latency + 1)))[-1] == data
