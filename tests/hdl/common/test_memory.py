import random
import re

import cocotb
import pytest

from gen.base.emission.emit import emit
from gen.designs.catalogue import designs
from hdl.common.memory import DualPortMemory, MemoryParams, TrueDualPortMemory
from sim.harness.emissions import emission_of
from sim.harness.plays import played
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

SIZES = [
    MemoryParams(shape=1, depth=2),
    MemoryParams(shape=12, depth=13, style="distributed"),
    MemoryParams(shape=5, depth=4, output_registers=0),
    MemoryParams(shape=72, depth=64, style="ultra", output_registers=3),
    MemoryParams(shape=152, depth=520, style="ultra", mixed=True),
]

test_memory = simulated(
    DualPortMemory, SIZES, __name__, test_filter="reads_the_old_contents|survives_a_reset"
)
test_true_dual_port_memory = simulated(
    TrueDualPortMemory, SIZES, __name__, test_filter="holds_what_b_read"
)


@pytest.mark.parametrize(
    ("style", "width", "depth", "requested"),
    [
        ("distributed", 8, 5, "distributed"),
        ("block", 8, 5, "block"),
        ("ultra", 72, 4096, "ultra"),
        ("ultra", 10, 4096, "ultra"),
        ("ultra", 9, 4096, "block"),
        ("ultra", 288, 513, "ultra"),
        ("ultra", 288, 512, "block"),
        ("ultra", 256, 16, "block"),
        ("ultra", 256, 15, ""),
        ("auto", 72, 4096, ""),
    ],
)
def test_requests_a_primitive_that_it_fills(style, width, depth, requested):
    verilog = emit(DualPortMemory(MemoryParams(shape=width, depth=depth, style=style))).verilog
    assert re.findall('ram_style = "(.*?)"', verilog) == [requested] * bool(requested)


@pytest.mark.parametrize(
    ("width", "depth", "parts"),
    [
        (512, 4096, [("ultra", 504), ("block", 8)]),
        (504, 4096, [("ultra", 504)]),
        (71, 4096, [("ultra", 71)]),
        (512, 64, [("block", 512)]),
    ],
)
def test_a_mixed_memory_has_whole_columns_of_ultraram(width, depth, parts):
    memory = DualPortMemory.sized(shape=width, depth=depth, style="ultra", mixed=True)
    declared = re.findall(r'ram_style = "(.*?)".*?reg \[(\d+):0\]', emit(memory).verilog, re.DOTALL)
    assert [(style, int(high) + 1) for style, high in declared] == parts


@pytest.mark.parametrize("name", designs())
def test_a_tiny_design_needs_no_ultraram(name):
    """No other family than UltraScale+ has them."""
    design = designs()[name]
    emission = emission_of(design.make(design.params_of("tiny")), generated=True)
    assert [m.name for m in emission.modules.values() if '"ultra"' in m.verilog] == []


async def exchange(dut, rows):
    """Apply (read address, write, write address, data) per cycle; return each read_data."""
    names = ("read_address", "write", "write_address", "write_data")
    cycles = [dict(zip(names, row, strict=True)) for row in rows]
    return [item["read_data"] for item in await played(dut, cycles, {"read_data": None})]


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


@cocotb.test(timeout_time=100, timeout_unit="us")
async def holds_what_b_read(dut):
    """Port a reads in each cycle; port b reads, writes or waits, and shows its last read."""
    params = params_in_simulator(MemoryParams)
    depth, ones, latency = params.depth, (1 << params.width) - 1, params.latency
    contents = {address: random.choice([0, ones]) for address in range(depth)}
    rows = [
        {"a_address": 0, "b_address": address, "b_read": 0, "b_write": 1, "b_write_data": data}
        for address, data in contents.items()
    ]
    golden, shown = [(None, None)] * depth, None
    for _ in range(500):
        address = random.randrange(depth)
        row = {
            "a_address": random.choice([address, random.randrange(depth)]),
            "b_address": address,
            "b_read": random.randrange(2),
            "b_write": random.randrange(2),
            "b_write_data": random.getrandbits(params.width),
        }
        shown = contents[address] if row["b_read"] and not row["b_write"] else shown
        golden.append((contents[row["a_address"]], shown))
        rows.append(row)
        if row["b_write"]:
            contents[address] = row["b_write_data"]
    await start(dut)
    idle = {**rows[-1], "b_read": 0, "b_write": 0}
    seen = await played(dut, rows + [idle] * latency, {"a_data": None, "b_data": None})
    for k, (a, b) in enumerate(golden):
        assert a in (None, seen[k + latency]["a_data"])
        assert b in (None, seen[k + latency]["b_data"])
