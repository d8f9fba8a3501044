"""Sends interrupts to a block that answers late, fails some, and is switched off for a while."""

import random
from itertools import combinations, product

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.pcie.interrupt_sender import InterruptSender, InterruptSenderParams
from sim.harness.coincidences import reset
from sim.harness.streams import cycle, start, started, until
from sim.harness.verilator import simulate
from tests.hdl.pcie.interrupt_block import PATIENCE, VECTORS, Block


def test_interrupt_sender():
    params = InterruptSenderParams(vectors=VECTORS, patience=PATIENCE)
    simulate(InterruptSender(params), __name__)


def test_patience():
    assert InterruptSenderParams().patience == round(0.050 * 250e6)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(failing=[0.0, 0.5])
async def each_is_sent_once(dut, failing):
    """Each is sent once, however often the block fails; those asked for together take turns."""
    block = await started(Block(dut, failing=failing))
    for _ in range(10):
        before = len(block.sent)
        asked = random.sample(range(VECTORS), random.randrange(1, VECTORS + 1))
        await block.ask(*asked)
        await block.until(before + len(asked))
        assert sorted(block.sent[before:]) == sorted(asked)
    assert bool(block.failures) == bool(failing)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def in_turn(dut):
    """From any vector on, those asked for together are sent in cyclic order of numbers."""
    block = await started(Block(dut))
    for last, bits in product(range(VECTORS), range(1, 1 << VECTORS)):
        asked = [vector for vector in range(VECTORS) if bits >> vector & 1]
        for off, vectors in ((False, [last]), (random.random() < 0.5, asked)):
            before, begun = len(block.sent), cycle()
            dut.enable.value = not off
            await block.ask(*vectors)
            await ClockCycles(dut.clk, 3 * off)
            dut.enable.value = 1
            await block.until(before + len(vectors))
            assert block.sent[before:] == sorted(vectors, key=lambda v: (v - last - 1) % VECTORS)
            assert off or block.cycles[before] - begun == InterruptSender.latency + 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_forgets_what_waits_and_whose_turn_it_is(dut):
    block = await started(Block(dut))
    for pair in combinations(range(VECTORS), 2):
        await block.ask(pair[0])
        await block.until(1)
        dut.enable.value = 0
        await block.ask(*range(VECTORS))
        await reset(dut, block.sent.clear)
        dut.enable.value = 1
        await ClockCycles(dut.clk, 10)
        await block.ask(*pair)
        await block.until(2)
        assert block.sent == list(pair)
        block.sent.clear()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_that_waits_is_one(dut):
    """One that waits is not doubled; one asked for while it is being sent is sent once more."""
    block = Block(dut, least=4, most=19)  # longer than it takes to ask three times
    await start(dut)
    begun = cycle()
    await block.ask(3)
    await until(dut.clk, dut.send, 1)
    assert block.cycles[0] - begun == InterruptSender.latency + 1
    for _ in range(3):
        await block.ask(3)
    await block.until(2)
    assert block.sent == [3, 3]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_in_the_cycle_of_its_turn_is_another(dut):
    """Of two requests in a row, the second in the cycle of its turn, come two interrupts."""
    block = await started(Block(dut))
    await block.ask(2)
    await block.ask(2)
    await block.until(2)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def none_while_switched_off(dut):
    block = Block(dut)
    dut.enable.value = 0
    await start(dut)
    await block.ask(0, 4)
    await ClockCycles(dut.clk, 3 * PATIENCE)
    assert not block.cycles
    dut.enable.value = 1
    await block.until(2)
    assert not block.late.beats


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def nobody_is_passed_by(dut):
    """A vector that is asked for all the time does not keep the others away."""
    block = await started(Block(dut, most=0))
    for _ in range(20):
        await block.ask(0, 1)
        await block.ask(*range(VECTORS))
        await RisingEdge(dut.clk)
    counts = [block.sent.count(vector) for vector in range(VECTORS)]
    assert max(counts) - min(counts) <= 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_waits_is_forgotten(dut):
    """A reset of the function clears what waits and what the block was asked; then all is as
    before.
    """
    block = await started(Block(dut, least=15, most=19))
    await block.ask(0, 1, 2)
    await until(dut.clk, dut.send, 1)
    dut.enable.value = 0
    dut.clear.value = 1
    await block.until(1)
    dut.clear.value, dut.enable.value = 0, 1
    await ClockCycles(dut.clk, 40)
    assert len(block.sent) == 1
    await block.ask(1)
    await block.until(2)
    assert block.sent[1] == 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(over=[-2, -1, 0, 1, 2, 3 * PATIENCE])
async def a_late_answer_is_reported_and_taken(dut, over):
    """An answer ``over`` cycles behind the bound is late from 1 on, and counts as any other.

    What was asked for meanwhile is sent after it, once.
    """
    wait = PATIENCE - 3 + over  # the block sees ``send``, and its answer is seen, a cycle later
    block = await started(Block(dut, least=wait, most=wait))
    await block.ask(1)
    await until(dut.clk, dut.send, 1)
    await block.ask(1, 4)
    block.delays = (0, 3)
    await block.until(3)
    assert block.sent == [1, 4, 1]
    assert block.late.cycles == ([block.cycles[0] + PATIENCE] if over > 0 else [])
    assert len(block.silent.beats) == max(over, 0)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_block_that_always_fails_is_reported(dut):
    """It is reported once, and again after an interrupt that was sent."""
    block = await started(Block(dut, failing=1.0))
    for count in (1, 2):
        await block.ask(0)
        await ClockCycles(dut.clk, 3 * PATIENCE)
        assert dut.silent.value
        assert len(block.late.beats) == count
        block.failing = 0.0
        await block.until(count)
        assert not dut.silent.value
        block.failing = 1.0
    # Nothing is due any more once the host has switched interrupts off.
    await block.ask(0)
    await ClockCycles(dut.clk, 3 * PATIENCE)
    await until(dut.clk, dut.failed, 1)
    dut.enable.value = 0
    await ClockCycles(dut.clk, 2)
    assert not dut.silent.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(before=[0, 1, 2])
async def a_reset_of_the_function_at_the_bound_forgets_it(dut, before):
    """A ``clear`` in the last cycle of the bound, or earlier, leaves nothing to report."""
    block = await started(Block(dut, least=5 * PATIENCE, most=5 * PATIENCE))
    await block.ask(2)
    await until(dut.clk, dut.send, 1)
    for cycle_number in range(4 * PATIENCE):
        dut.clear.value = cycle_number == PATIENCE - 2 - before
        await RisingEdge(dut.clk)
    assert not block.late.beats
