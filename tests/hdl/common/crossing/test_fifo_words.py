import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.crossing.fifo_words import FifoWords, FifoWordsParams
from sim.harness.verilator import params_in_simulator
from tests.hdl.common.crossing.clocks import start
from tests.simulated import simulated

SIZES = [FifoWordsParams(width=1, depth=4), FifoWordsParams(width=70, depth=64)]

test_fifo_words = simulated(FifoWords, SIZES, __name__)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_word_is_written_if_there_was_room_in_the_cycle_before(dut):
    params = params_in_simulator(FifoWordsParams)
    (write,) = await start(dut, write=4000)
    stored, room = {}, 0
    for cycle in range(600):
        dut.valid.value = valid = random.random() < 0.6
        dut.word.value = word = random.getrandbits(params.width)
        dut.written.value = place = random.randrange(params.depth)
        dut.taken.value = taken = random.randrange(params.depth)
        dut.room.value = next_room = random.random() < 0.6
        await RisingEdge(write.clk)  # all see what was there before it
        if cycle and taken in stored:
            assert int(dut.o.value) == stored[taken]
        if cycle and valid and room:
            stored[place] = word
        room = next_room
    assert 2 * len(stored) > params.depth
