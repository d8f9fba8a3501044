"""No address is given twice, and those of dropped packets come again."""

import random

import cocotb

from hdl.switch.forwarding.free_list import FreeList
from hdl.switch.forwarding.params import SPARE, ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from sim.harness.streams import edges, start
from sim.harness.verilator import params_in_simulator, simulate


def test_free_list():
    simulate(FreeList(ForwardingParams(**PRESETS["tiny"])), __name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_address_has_one_owner(dut):
    params = params_in_simulator(ForwardingParams)
    for name in ("takes", "ends", "keep", "frees"):
        getattr(dut, name).value = 0
    await start(dut)
    await edges(dut.clk, params.beats + 2)
    assert dut.ready.value
    used, packet = [], []  # addresses in use, and those of the packet that comes
    for _ in range(6000):
        takes = len(used) + len(packet) < params.beats - SPARE and random.random() < 0.8
        ends, keep = random.random() < 0.3, random.random() < 0.7
        frees = bool(used) and random.random() < 0.5
        freed = used.pop(random.randrange(len(used))) if frees else 0
        dut.takes.value, dut.ends.value, dut.keep.value = takes, ends, keep
        dut.frees.value, dut.freed.value = frees, freed
        await edges(dut.clk, 1)
        if takes:
            packet.append(int(dut.address.value))
        if ends:
            used += packet if keep else []
            packet = []
        assert len({*used, *packet}) == len(used) + len(packet)
