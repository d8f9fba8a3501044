import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.common.memory import MemoryParams
from hdl.switch.update_memory import UpdateMemory
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

OUTLIVES_RESET = "the memory keeps what was written"

SIZES = [
    MemoryParams(shape=8, depth=2),
    MemoryParams(shape=16, depth=6, style="ultra"),
    MemoryParams(shape=16, depth=6, style="ultra", output_registers=3),
]

test_update_memory = simulated(UpdateMemory, SIZES, __name__)


def test_lead():
    assert [UpdateMemory(params).lead for params in SIZES] == [2, 2, 4]
    assert UpdateMemory.lead == 2


def test_rejects_a_memory_without_an_output_register():
    with pytest.raises(ValueError, match="with an output register"):
        UpdateMemory(MemoryParams(shape=8, depth=2, output_registers=0))


@cocotb.test(timeout_time=200, timeout_unit="us")
async def every_change_is_seen_by_the_next(dut):
    params = params_in_simulator(MemoryParams)
    lead = UpdateMemory(params).lead
    contents = dict.fromkeys(range(params.depth), 0)
    dut.write.value = 0
    await start(dut)
    addresses = [random.randrange(params.depth)]
    for _ in range(5000):
        near = random.choice(addresses[-lead - 2 :])
        addresses.append(random.choice((near, random.randrange(params.depth))))
    for k, address in enumerate(addresses):
        dut.address.value = address
        write, after = 0, random.getrandbits(params.width)
        if k >= lead:
            write = random.random() < 0.7
        dut.write.value, dut.after.value = write, after
        await RisingEdge(dut.clk)
        if k < lead:
            continue
        current = addresses[k - lead]
        assert int(dut.before.value) == contents[current]
        if write:
            contents[current] = after
