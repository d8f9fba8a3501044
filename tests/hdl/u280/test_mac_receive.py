import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.u280.mac_receive import MacReceive
from hdl.u280.mac_transmit import MacTransmitParams
from sim.harness.streams import STALLS, never, often
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

PERIODS = [(3104, 4000), (4000, 3104)]  #: the MAC's and the core's, and the other way round


def test_mac_receive():
    simulate(MacReceive(MacTransmitParams(beats=32)), __name__)


async def begin(dut, periods):
    dut.mac_tvalid.value = 0
    dut.axis_tready.value = 0
    sides = await start(dut, mac=periods[0], sync=periods[1])
    await sides[1].edges(20)
    return sides


async def count(side, events):
    while True:
        await RisingEdge(side.clk)
        for name in events:
            events[name] += int(getattr(side, name).value)


def random_packets(count):
    sizes = [random.choice([60, 64, 65, 128, 300, 700]) for _ in range(count)]
    return [random.randbytes(size) for size in sizes]


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS, stalls=STALLS)
async def keeps_what_is_good_and_drops_what_is_broken(dut, periods, stalls):
    mac, core = await begin(dut, periods)
    packets = random_packets(120)
    broken = set(random.sample(range(120), 30))
    taken, events = [], {"dropped": 0, "broken": 0}
    cocotb.start_soon(take(core, "axis", taken))
    cocotb.start_soon(count(mac, events))
    # With gaps, so that all find room.
    stall = often if stalls.value[0] is not never else never
    await send(
        mac, "mac", packets, stall, broken=broken, waits=False, gap=lambda: random.random() < 0.8
    )
    good = [packet for number, packet in enumerate(packets) if number not in broken]
    await until(core, lambda: len(taken) == len(good))
    await core.edges(20)
    assert taken == good
    assert events == {"dropped": 0, "broken": 30}


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS)
async def drops_whole_packets_when_the_core_does_not_take_them(dut, periods):
    mac, core = await begin(dut, periods)
    packets = random_packets(150)
    taken, events = [], {"dropped": 0, "broken": 0}
    cocotb.start_soon(take(core, "axis", taken, lambda: random.random() < 0.9))
    cocotb.start_soon(count(mac, events))
    await send(mac, "mac", packets, waits=False, broken={149})
    await mac.edges(20)
    assert events["dropped"] > 20
    assert events["broken"] == 1
    kept = len(packets) - 1 - events["dropped"]
    await until(core, lambda: len(taken) == kept, 20000)
    await core.edges(100)
    # A part of what was sent, in order, each as it was.
    rest = iter(packets)
    assert len(taken) == kept
    assert all(packet in rest for packet in taken)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def tells_how_many_words_are_inside(dut):
    """Beyond what the crossing holds, each packet of one word adds one, up to the whole buffer."""
    mac, core = await begin(dut, PERIODS[0])
    words, taken, used, events = params_in_simulator().buffer.words, [], [0], {"dropped": 0}
    cocotb.start_soon(count(mac, events))
    while used[-1] < words - 3:
        await send(mac, "mac", [random.randbytes(60)], waits=False)
        await mac.edges(20)
        used.append(int(dut.used.value))
    crossing = len(used) - words + 2
    assert used == [*[0] * crossing, *range(words - 2)]
    # The last ones find room if they come without a pause.
    await send(mac, "mac", [random.randbytes(60) for _ in range(10)], waits=False)
    await mac.edges(20)
    assert int(dut.used.value) == words
    assert events["dropped"] == 7
    cocotb.start_soon(take(core, "axis", taken))
    await until(core, lambda: len(taken) == crossing + words)
    await mac.edges(20)
    assert not int(dut.used.value)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_packet_that_is_too_long_is_dropped(dut):
    mac, core = await begin(dut, PERIODS[0])
    words = params_in_simulator().buffer.words
    long, short = random.randbytes(64 * (words + 8)), random.randbytes(200)
    taken, events = [], {"dropped": 0, "broken": 0}
    cocotb.start_soon(take(core, "axis", taken))
    cocotb.start_soon(count(mac, events))
    await send(mac, "mac", [long], waits=False)
    await mac.edges(4)  # room comes back
    await send(mac, "mac", [short], waits=False)
    await until(core, lambda: taken)
    assert taken == [short]
    assert events == {"dropped": 1, "broken": 0}


@cocotb.test(timeout_time=300, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS, which=["mac", "core"])
async def whole_packets_come_after_a_reset_of_either_clock(dut, periods, which):
    mac, core = await begin(dut, periods)
    packets = numbered(400, [60, 64, 200, 700, 1200])
    taken, cut = [], []
    taking = cocotb.start_soon(take(core, "axis", taken, cut=cut))
    side = {"core": core, "mac": mac}[which]
    resets = cocotb.start_soon(reset_now_and_then([side], 20, 150))
    gap = lambda: random.random() < 0.9  # noqa: E731
    await send(mac, "mac", packets[:-50], waits=False, gap=gap)
    assert resets.done()
    await core.edges(60)
    await send(mac, "mac", packets[-50:], waits=False, gap=gap)
    await until(core, lambda: taken and taken[-1] == packets[-1])
    check_after_resets(packets, taken, bytes)
    assert bool(cut) == (which == "mac")
    taking.cancel()
