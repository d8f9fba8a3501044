import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.property_cache.params import PRESETS, REACH, Operation, PropertyCacheParams
from hdl.netsparse.property_cache.slot_history import SlotHistory
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate


def test_slot_history():
    simulate(SlotHistory(PRESETS["tiny"]), __name__)


def near(row, other, bits):
    """Return ``other``, ``row`` or a neighbour of it that differs in a bit."""
    return random.choice((other, row, row, row ^ 1 << random.randrange(bits)))


@cocotb.test(timeout_time=50, timeout_unit="us")
async def accesses_of_the_same_row_and_line(dut):
    params, edge = params_in_simulator(PropertyCacheParams), RisingEdge(dut.clk)
    dut.slot.value = 0
    await start(dut)
    none = {"operation": Operation.NONE, "row": 0, "tag": 0}
    past = deque([none] * (REACH + 1), REACH + 1)  # the newest first
    row, tag = 0, 0
    for _ in range(3000):
        row = near(row, random.randrange(params.rows), params.row_bits)
        tag = near(tag, random.getrandbits(params.tag_bits), params.tag_bits)
        slot = {"operation": random.choice(list(Operation)), "row": row, "tag": tag}
        dut.slot.value = pack(params.slot, slot)
        await edge
        found = [
            unpack(
                params.slot,
                int(dut.past.value) >> k * params.slot.size & (1 << params.slot.size) - 1,
            )
            for k in range(REACH)
        ]
        assert [item["operation"] for item in found] == [s["operation"] for s in list(past)[:REACH]]
        assert found == list(past)[:REACH]
        asked = past[0]  # what is told of now is the slot of a cycle ago
        accesses = [
            s if s["operation"] in (Operation.LOOKUP, Operation.INSERT) else None
            for s in list(past)[1:]
        ]
        rows = [s is not None and s["row"] == asked["row"] for s in accesses]
        lines = [same and s["tag"] == asked["tag"] for same, s in zip(rows, accesses, strict=True)]
        assert int(dut.same_row.value) == sum(same << k for k, same in enumerate(rows))
        assert int(dut.same_line.value) == sum(same << k for k, same in enumerate(lines))
        past.appendleft(slot)
