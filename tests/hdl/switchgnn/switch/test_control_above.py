"""Tests what a port tells the switch above in place of ADVANCE: the DONE of its own turn."""

from dataclasses import replace

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switchgnn.protocol import Kind
from hdl.switchgnn.switch.egress.control_frames import ControlFrames
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.payloads import pack
from sim.harness.streams import Monitor, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switchgnn.switch.sizes import TINY


def test_control_above():
    simulate(ControlFrames(replace(TINY, links=1)), __name__)


async def reported(dut, *, above):
    """Advance in turn 5 while a frame waits at the port until turn 6; return what is told."""
    params, edge = params_in_simulator(GnnSwitchParams), RisingEdge(dut.clk)
    job = {"active": 1, "job": 1, "epoch": 77, "lo": 5}
    for name in ("advance", "raw_valid", "raw_request", "o_ready", "congested", "acks_1"):
        getattr(dut, name).value = 0
    dut.above.value = int(above)
    dut.acks_0.value = pack(params.ack_state, {"required": 1, "turn": 5, "base": 3, "arrived": 0})
    dut.job.value = pack(params.port_job, job)
    await start(dut)
    frames = Monitor(dut, "o")
    for _ in range(6):
        await edge
    dut.acks_0.value = 0
    dut.advance.value = 1
    await edge
    dut.advance.value = 0
    for _ in range(4):
        await edge
    dut.job.value = pack(params.port_job, job | {"lo": 6})
    await edge
    await edge
    dut.o_ready.value = 1
    for _ in range(10):
        await edge
    return [(Kind(frame["kind"]), frame["turn"], frame["epoch"]) for frame in frames.beats]


@cocotb.test()
async def done_is_of_the_turn_in_which_it_was_said(dut):
    """A DONE of the next turn would end that before its sums are there."""
    assert await reported(dut, above=True) == [(Kind.ACK, 5, 77), (Kind.DONE, 5, 77)]


@cocotb.test()
async def advance_is_of_the_turn_when_it_leaves(dut):
    assert await reported(dut, above=False) == [(Kind.ACK, 5, 77), (Kind.ADVANCE, 6, 77)]
