import random

import cocotb
import pytest

from hdl.u280.mac_transmit import LEAST_BYTES, MacTransmit, MacTransmitParams
from sim.streams import STALLS
from sim.verilator import params_in_simulator, simulate
from tests.hdl.common.crossing.clocks import start
from tests.hdl.u280.packet_bench import send, take, until

PERIODS = [(4000, 3104), (3104, 4000)]  #: the core's and the MAC's, and the other way round


def test_mac_transmit():
    simulate(MacTransmit(MacTransmitParams(beats=64)), __name__)


def test_rejects():
    with pytest.raises(ValueError, match="words must be a power of two from 16 to 65536: 24"):
        MacTransmitParams(beats=24)


def on_the_wire(packet):
    return packet + bytes(max(0, LEAST_BYTES - len(packet)))


async def begin(dut, periods):
    dut.axis_tvalid.value = 0
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
    broken = range(0, len(packets), 3)  # whatever it means to who sent them
    await send(core, "axis", packets, stalls.value[0], broken=broken)
    await until(mac, lambda: len(taken) == len(packets))
    await mac.edges(20)
    taking.cancel()
    assert taken == [on_the_wire(packet) for packet in packets]


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
