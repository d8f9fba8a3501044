"""Gives any command at any time, and compares with the golden switch within the stated bounds."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.switch.params import SwitchParams
from hdl.switch.job_control import JobControl
from hdl.switch.params import COMMAND, Refusal
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switch.job_model import JobModel, some_command

PARAMS = SwitchParams(ports=5, jobs=3, lanes=1)


def test_job_control():
    simulate(JobControl(PARAMS), __name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def does_what_the_golden_model_does(dut):
    params = params_in_simulator(SwitchParams)
    shape = JobControl(params).signature.members["table"].shape
    model, seen = JobModel(params), set()
    dut.command.value = dut.waiting.value = 0
    await start(dut)
    busy_port = True
    for k in range(20000):
        if k % 100 == 0:
            busy_port = random.random()
        command, waiting = some_command(model), int(random.random() < busy_port)
        dut.command.value, dut.waiting.value = pack(COMMAND, command), waiting
        await RisingEdge(dut.clk)
        reason = Refusal(int(dut.reason.value)).name
        shown = {
            "busy": bool(dut.busy.value),
            "reason": reason,
            "table": unpack(shape, int(dut.table.value)),
            "hold": bool(dut.hold.value),
            "cleared": None,
        }
        if dut.clear.value:
            shown["cleared"] = int(dut.slot.value), int(dut.ports.value)
        model.check(shown, command, waiting)
        seen.add(reason)
    assert seen == {refusal.name for refusal in Refusal}
