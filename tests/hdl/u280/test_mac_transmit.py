import random

import cocotb

from hdl.common.packets import LEAST_BYTES
from hdl.u280.mac_transmit import MacTransmit, MacTransmitParams
from sim.harness.axi_streams import AxiSource, beats_of
from sim.harness.records import Recorder
from sim.harness.streams import STALLS
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.crossing.clocks import start
from tests.hdl.u280.packet_bench import (
    Taker,
    check_after_resets,
    count_beats,
    numbered,
    reset_now_and_then,
    send,
)

PERIODS = [(4000, 3104), (3104, 4000)]  #: the core's and the MAC's, and the other way round


def test_mac_transmit():
    simulate(MacTransmit(MacTransmitParams(beats=64)), __name__)


def on_the_wire(packet):
    return packet + bytes(max(0, LEAST_BYTES - len(packet)))


async def begin(dut, periods):
    dut.axis_tvalid.value = dut.mac_tready.value = 0
    return await start(dut, sync=periods[0], mac=periods[1])


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS, stalls=STALLS)
async def packets_of_all_sizes_leave_in_one_piece(dut, periods, stalls):
    core, mac = await begin(dut, periods)
    sizes = [*range(1, 70), *(64 * k + n for k in (2, 3, 9) for n in (-1, 0, 1))]
    sizes += [64 * params_in_simulator().buffer.max_packet_words]
    packets = [random.randbytes(size) for size in random.sample(sizes, len(sizes))]
    taker = Taker(mac, "mac", stall=stalls.value[1], whole=True)
    broken = range(1, len(packets), 7)  # which nobody is to see
    await send(core, "axis", packets, stall=stalls.value[0], broken=broken)
    good = [packet for k, packet in enumerate(packets) if k not in broken]
    await taker.wait_for(count_beats(good))
    await mac.edges(20)
    assert taker.packets() == [on_the_wire(packet) for packet in good]


@cocotb.test(timeout_time=50, timeout_unit="us")
async def nothing_leaves_before_all_has_come(dut):
    core, mac = await begin(dut, PERIODS[0])
    taker, shown = Taker(mac, "mac", whole=True), Recorder(mac, "mac_tvalid", {})
    source = AxiSource(core, "axis")
    *beats, last = beats_of(random.randbytes(64 * 13))
    await source.send_all(beats)
    await mac.edges(60)
    assert not shown.cycles
    await source.send_all([last])
    await taker.wait_for(13)
    assert len(taker.packets()) == 1


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS, which=["core", "mac"])
async def whole_packets_leave_after_a_reset_of_either_clock(dut, periods, which):
    core, mac = await begin(dut, periods)
    packets = numbered(400, [60, 64, 200, 700, 2000])
    taker, cuts = Taker(mac, "mac", whole=True), Recorder(core, "cut", {})
    side = {"core": core, "mac": mac}[which]
    resets = cocotb.start_soon(reset_now_and_then([side], 20, 150))
    await send(core, "axis", packets[:-50])
    assert resets.done()
    await core.edges(60)
    await send(core, "axis", packets[-50:])
    await mac.edges(200)
    check_after_resets(packets, taker.packets(), on_the_wire)
    assert bool(cuts.cycles) == (which == "mac")
