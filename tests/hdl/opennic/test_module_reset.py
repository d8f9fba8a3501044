import random

import cocotb

from hdl.opennic.module_reset import DRAIN_CYCLES, RESET_CYCLES, ModuleReset
from sim.harness.bench import Bench
from sim.harness.verilator import simulate

OUTPUTS = ("mod_rst_done", "hold", "reset")


def test_module_reset():
    simulate(ModuleReset(), __name__)


def row(rstn=1, idle=0):
    return {"mod_rstn": rstn, "idle": idle}


async def outputs(dut, rows):
    """Return done, hold and reset in each cycle, from a bench that has come out of its own."""
    bench = Bench(dut, mod_rstn=1)
    await bench.begin()
    await bench.wait(RESET_CYCLES + 5)
    assert [int(getattr(dut, name).value) for name in OUTPUTS] == [1, 0, 0]
    return [tuple(item[name] for name in OUTPUTS) for item in await bench.played(rows, *OUTPUTS)]


@cocotb.test(timeout_time=10, timeout_unit="us")
async def it_begins_with_a_reset(dut):
    bench = Bench(dut, mod_rstn=1)
    seen = bench.record("", *OUTPUTS)
    await bench.begin()
    await bench.wait(RESET_CYCLES + 5)
    shown = [tuple(item.values()) for item in seen.beats]
    assert shown == [(0, 0, 1)] * RESET_CYCLES + [(1, 0, 0)] * (len(shown) - RESET_CYCLES)
    assert len(shown) > RESET_CYCLES


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(ends=[1, 7, DRAIN_CYCLES - 1, DRAIN_CYCLES, None])
async def a_low_cycle_drains_and_resets(dut, ends):
    """The packets to the shell end in cycle ``ends`` from the request on, or never."""
    drains = DRAIN_CYCLES if ends is None else min(ends, DRAIN_CYCLES)
    rows = [row(), row(rstn=0)]
    for k in range(1, DRAIN_CYCLES + RESET_CYCLES + 5):
        low = random.random() < 0.2 and k < drains  # another request is part of this one
        rows.append(row(rstn=int(not low), idle=int(ends is not None and k >= ends)))
    shown = await outputs(dut, rows)
    assert shown[:2] == [(1, 0, 0), (0, 0, 0)]
    assert shown[2 : 2 + drains] == [(0, 1, 0)] * drains
    rest = shown[2 + drains :]
    assert rest[:RESET_CYCLES] == [(0, 1, 1)] * RESET_CYCLES
    assert set(rest[RESET_CYCLES:]) == {(1, 0, 0)}


@cocotb.test(timeout_time=50, timeout_unit="us")
async def it_lasts_as_long_as_the_request(dut):
    rows = [row(0, idle=1)] * (RESET_CYCLES + 50) + [row()] * 3
    shown = await outputs(dut, rows)
    assert shown[0] == (0, 0, 0)
    assert set(shown[2:-2]) == {(0, 1, 1)}
    assert shown[-1] == (1, 0, 0)
