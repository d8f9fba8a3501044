"""Runs a SwitchGNN switch's host software, and the workers of its bench, on the RTL."""

import cocotb
from cocotb.task import bridge

from gen.registers.python_driver import class_name
from gen.software.emitted.switch.build import Build
from gen.software.emitted.switch.gnn_switch import GnnSwitch
from gen.software.emitted.switch.gnn_workers import (
    EPOCH,
    GROUP,
    JOB,
    SWITCH,
    add_up,
    tables,
)
from gen.software.emitted.switch.simulated_switch import SimulatedSwitch
from gen.software.switchgnn_switch import software
from hdl.switchgnn.switch.switch import GnnSwitch as Hardware
from sim.harness.register_driver import driver_module
from sim.harness.verilator import simulate
from tests.hdl.switchgnn.switch.sizes import ON_CHIP


def test_two_workers_get_their_sum():
    simulate(Hardware(ON_CHIP), __name__, registers=["contents_1_1"])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_program_of_the_bench_runs(dut):
    made = software(ON_CHIP)
    build = Build(**made.build)
    device = SimulatedSwitch(dut, build)
    await device.start()
    await bridge(program)(device, made, build)


def program(device, made, build):
    """Do what the bench does."""
    registers = getattr(driver_module(made.map), class_name(made.map))(device)
    switch = GnnSwitch(device, registers, build)
    switch.clear_counters()
    switch.set_addresses(SWITCH, GROUP)
    switch.set_acks(every=1, delay=100)
    own = tables(build.fixed["banks"])
    switch.start_job(JOB, ports=[0, 1], epoch=EPOCH, base=0, depth=1, tables=own)
    add_up(device, switch)
    switch.stop_job(JOB)
