import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.common.packets import LEAST_BYTES
from hdl.u280.mac_transmit import MacTransmit, MacTransmitParams
from sim.harness.streams import STALLS
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.crossing.clocks import start
from tests.hdl.u280.packet_bench import (
    check_after_resets,
    numbered,
    reset_now_and_then,
    send,
    take,
    until,
)

PERIODS = [(4000, 3104), (3104, 4000)]  #: the core's and the MAC's, and the other way round


def test_mac_transmit():
    simulate(MacTransmit(MacTransmitParams(beats=64)), __name__)


def test_rejects():
    with pytest.raises(ValueError, match="words must be a power of two from 16 to 65536: 24"):
        MacTransmitParams(beats=24)


def on_the_wire(packet):
    return packet + bytes(max(0, LEAST_BYTES - len(packet)))


async def begin(dut, periods):
    dut.axis_tvalid.value = dut.axis_tuser.value = 0
    dut.mac_tready.value = 0
    return await start(dut, sync=periods[0], mac=periods[1])


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS, stalls=STALLS)
async def packets_of_all_sizes_leave_in_one_piece(dut, periods, stalls):
    core, mac = await begin(dut, periods)
    sizes = [*range(1, 70), *(64 * k + n for k in (2, 3, 9) for n in (-1, 0, 1))]
    sizes += [64 * params_in_simulator().buffer.most_packet_words]
    packets = [random.randbytes(size) for size in random.sample(sizes, len(sizes))]
    taken = []
    taking = cocotb.start_soon(take(mac, "mac", taken, stalls.value[1], whole=True))
    broken = range(1, len(packets), 7)  # which nobody is to see
    await send(core, "axis", packets, stalls.value[0], broken=broken)
    good = [packet for k, packet in enumerate(packets) if k not in broken]
    await until(mac, lambda: len(taken) == len(good))
    await mac.edges(20)
    taking.cancel()
    assert taken == [on_the_wire(packet) for packet in good]


@cocotb.test(timeout_time=50, timeout_unit="us")
async def nothing_leaves_before_all_has_come(dut):
    core, mac = await begin(dut, PERIODS[0])
    taken = []
    cocotb.start_soon(take(mac, "mac", taken, whole=True))
    dut.axis_tkeep.value = (1 << 64) - 1
    dut.axis_tlast.value = 0
    dut.axis_tvalid.value = 1
    await core.edges(12)
    dut.axis_tvalid.value = 0
    for _ in range(60):
        await mac.edges()
        assert not dut.mac_tvalid.value
    dut.axis_tlast.value = 1
    dut.axis_tvalid.value = 1
    await core.edges()
    dut.axis_tvalid.value = 0
    await until(mac, lambda: taken)


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS, which=["core", "mac"])
async def whole_packets_leave_after_a_reset_of_either_clock(dut, periods, which):
    core, mac = await begin(dut, periods)
    packets = numbered(400, [60, 64, 200, 700, 2000])
    taken, cuts = [], []

    async def count():
        while True:
            await RisingEdge(core.clk)
            if dut.cut.value:
                cuts.append(1)

    counting = cocotb.start_soon(count())
    taking = cocotb.start_soon(take(mac, "mac", taken, whole=True))
    side = {"core": core, "mac": mac}[which]
    resets = cocotb.start_soon(reset_now_and_then([side], 20, 150))
    await send(core, "axis", packets[:-50])
    assert resets.done()
    await core.edges(60)
    await send(core, "axis", packets[-50:])
    await until(mac, lambda: taken and taken[-1] == on_the_wire(packets[-1]))
    check_after_resets(packets, taken, on_the_wire)
    assert bool(cuts) == (which == "mac")
    for task in (counting, taking):
        task.cancel()
