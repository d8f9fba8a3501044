"""Runs a SwitchGNN switch's host software, and the workers of its bench, on the RTL."""

import cocotb

from gen.software.emitted.switch.build import Build
from gen.software.emitted.switch.gnn_workers import run_job
from gen.software.emitted.switch.simulated_switch import run_on
from gen.software.switchgnn_switch import software
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.verilator import simulate
from tests.gen.software.selftests import SelfTest
from tests.hdl.switchgnn.switch.sizes import ON_CHIP


def test_two_workers_get_their_sum():
    simulate(GnnSwitch(ON_CHIP), __name__, registers=["contents_1_1"])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_program_of_the_bench_runs(dut):
    made = software(ON_CHIP)
    await run_on(
        dut, Build(**made.build), lambda device: run_job(device, SelfTest(made, device).attach())
    )
