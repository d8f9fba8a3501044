"""Checks that each reader sees the context of the slot that it names, as written last."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switchgnn.endpoint.bundles import SLOTS
from hdl.switchgnn.endpoint.params import PRESETS, EndpointParams
from hdl.switchgnn.endpoint.turn_contexts import READERS, TurnContexts
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate


def test_turn_contexts():
    simulate(TurnContexts(PRESETS["tiny"]), __name__)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def every_slot_keeps_its_own(dut):
    dut.write.value = 0
    await start(dut)
    bits = params_in_simulator(EndpointParams).context.size
    stored = {}
    for cycle in range(500):
        slot, context = random.randrange(SLOTS), random.getrandbits(bits)
        if cycle < SLOTS:
            slot = cycle
        writes = cycle < SLOTS or random.getrandbits(1)
        dut.slot.value, dut.context.value, dut.write.value = slot, context, writes
        slots = [random.randrange(SLOTS) for _ in range(READERS)]
        for k, item in enumerate(slots):
            getattr(dut, f"slots_{k}").value = item
        await RisingEdge(dut.clk)
        if cycle >= SLOTS:
            result = [int(getattr(dut, f"contexts_{k}").value) for k in range(READERS)]
            assert result == [stored[item] for item in slots]
        if writes:
            stored[slot] = context
