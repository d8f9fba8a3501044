"""Tests the registers of kernels without copies, of all sources of interrupts, and of two ports."""

import random
from itertools import product

import cocotb

from hdl.vitis.kernel_control import KernelControl
from hdl.vitis.kernel_registers import KernelParams, kernel_registers
from sim.harness.bench import Bench
from sim.harness.register_driver import RegisterDriver
from tests.simulated import simulated

SIZES = {
    "busy": KernelParams(managers=("tables", "sums"), interrupt="busy", entries=1),
    "irq": KernelParams(managers=("host",), interrupt="irq", entries=2),
    "none": KernelParams(managers=(), interrupt="none", entries=4),
}

test_kernel_control_alone = simulated(KernelControl, SIZES, __name__)


async def begin(dut):
    bench = Bench(dut)
    host = RegisterDriver(dut, "axil", kernel_registers(bench.params))
    await bench.begin(after_anything=True)
    return bench, host


@cocotb.test(timeout_time=50, timeout_unit="us")
async def drops_of_a_cycle_are_all_counted(dut):
    bench, host = await begin(dut)
    beats = [random.getrandbits(bench.params.entries) for _ in range(50)]
    await bench.play([{"dropped": beat} for beat in beats])
    assert await host.read("dropped_packets") == sum(beat.bit_count() for beat in beats)
    await host.write(clear_dropped=1)
    assert await host.read("dropped_packets") == 0


@cocotb.test(timeout_time=50, timeout_unit="us")
async def pointers_wait_only_for_a_design_that_says_when_it_is_busy(dut):
    bench, host = await begin(dut)
    waits = bench.params.interrupt == "busy"
    for k, name in enumerate(bench.params.managers):
        page = random.getrandbits(52)
        for busy in (1, 0):
            bench.set(**{"design_busy": busy} if waits else {})
            await host.write_wide(**{f"pointer_{name}": page << 12})
            await bench.wait(2)
            assert bench.value(f"pages_{k}") == (0 if waits and busy else page)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def the_interrupt_follows_its_source(dut):
    bench, host = await begin(dut)
    source = bench.params.interrupt
    for enable, level in product((0, 1), (0, 1)) if bench.params.requests else ():
        await host.write(interrupt_enable=enable)
        bench.set(**{f"design_{source}": level})
        await bench.wait(2)
        request = level ^ (source == "busy")
        assert bench.value("irq") == (request & enable)
        assert await host.read("interrupt_request") == request
