"""Tests the handshake of a function-level reset: nothing is said to be done before it is."""

import cocotb
from cocotb.triggers import ClockCycles

from hdl.pcie.function_reset import HEARD, FunctionReset
from sim.harness.bench import Bench
from sim.harness.verilator import simulate


def test_function_reset():
    simulate(FunctionReset(), __name__)


async def cycles(dut, count):
    await ClockCycles(dut.clk, count)


async def begin(dut, idle=1, owes=0):
    await Bench(dut, function_master=1, idle=idle, owes=owes).begin()
    assert dut.stop.value, "a reset begins stopped"
    await cycles(dut, 3)
    assert not dut.stop.value
    for _ in range(3):  # time passes before the reset, too
        await tick(dut, 1)
    dut.function_in_process.value = 1
    await cycles(dut, 1 + FunctionReset.latency)
    assert dut.stop.value


async def tick(dut, gap):
    dut.tick.value = 1
    await cycles(dut, 1)
    dut.tick.value = 0
    await cycles(dut, gap)


async def end(dut, late):
    """Let the block hear that the reset is done; nothing is sent before the host allows it."""
    assert (dut.function_done.value, dut.late.value, dut.clear.value) == (1, late, 0)
    await cycles(dut, 20)
    assert dut.function_done.value
    assert dut.stop.value
    dut.function_in_process.value = dut.function_master.value = 0
    await cycles(dut, 20)
    assert not dut.function_done.value
    assert dut.stop.value
    dut.function_master.value = 1
    await cycles(dut, 2)
    assert not dut.stop.value


@cocotb.test(timeout_time=10, timeout_unit="us")
async def it_waits_for_the_requester(dut):
    """An idle from before the stop does not count; after that writes are cleared."""
    await begin(dut, owes=1)
    for _ in range(HEARD - 2):
        assert not dut.clear.value
        await cycles(dut, 1)
    dut.idle.value = 0
    await cycles(dut, 50)
    assert not dut.function_done.value
    dut.idle.value = 1
    await cycles(dut, 10)
    assert dut.clear.value
    assert not dut.function_done.value
    dut.owes.value = 0
    await cycles(dut, 3)
    await end(dut, late=0)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def idle_counts_when_it_has_heard_of_the_stop(dut):
    """HEARD cycles of stop have to pass before, and no more."""
    await begin(dut, owes=1)
    for _ in range(HEARD + 1):
        assert not dut.clear.value
        await cycles(dut, 1)
    assert dut.clear.value


@cocotb.test(timeout_time=10, timeout_unit="us")
@cocotb.parametrize(idle=[0, 1], owes=[0, 1], gap=[5, 6])
async def it_waits_for_two_ticks_at_most(dut, idle, owes, gap):
    await begin(dut, idle, owes)
    await cycles(dut, 20)
    assert dut.function_done.value == (idle and not owes)
    await tick(dut, gap)
    assert dut.function_done.value == (idle and not owes)
    await tick(dut, gap)
    await end(dut, late=not idle)


@cocotb.test(timeout_time=10, timeout_unit="us")
@cocotb.parametrize(resets=[False, True])
async def what_is_no_master_any_more_is_cleared(dut, resets):
    """A lost bus mastership clears once, as a reset does; unasked, the block hears nothing."""
    await begin(dut)
    await cycles(dut, 20)
    await end(dut, late=0)
    dut.idle.value, dut.owes.value, begun = 0, 1, 0
    dut.function_master.value = 0
    for k in range(40):
        await cycles(dut, 1)
        begun += int(dut.begins.value)
        assert dut.stop.value == (k > 0)
        if k == 10:
            assert not dut.clear.value
            dut.idle.value = 1
            dut.function_in_process.value = resets
        if k == 20:
            assert dut.clear.value
            dut.owes.value = 0
        assert not dut.function_done.value or (resets and k > 20)
    assert begun == 1
    assert not dut.clear.value
    assert dut.function_done.value == resets
    dut.function_in_process.value = 0
    dut.function_master.value = 1
    await cycles(dut, 6)
    assert not dut.stop.value
    assert not dut.function_done.value


@cocotb.test(timeout_time=10, timeout_unit="us")
async def once_more(dut):
    """Two resets may follow each other."""
    await begin(dut)
    for _ in range(2):
        await cycles(dut, 20)
        await end(dut, late=0)
        dut.function_in_process.value = 1
        await cycles(dut, 1)
