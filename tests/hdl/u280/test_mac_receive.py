import random

import cocotb

from hdl.u280.mac_receive import MacReceive
from hdl.u280.mac_transmit import MacTransmitParams
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, mostly, never, often
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.crossing.clocks import start
from tests.hdl.u280.packet_bench import (
    Sender,
    Taker,
    check_after_resets,
    count_beats,
    numbered,
    reset_now_and_then,
    send,
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


def recorders(side):
    """Return what records each packet that is lost."""
    return [Recorder(side, name, {}) for name in ("dropped", "broken")]


def counts(events):
    return [len(event.cycles) for event in events]


def random_packets(count):
    sizes = [random.choice([60, 64, 65, 128, 300, 700]) for _ in range(count)]
    return [random.randbytes(size) for size in sizes]


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS, stalls=STALLS)
async def keeps_what_is_good_and_drops_what_is_broken(dut, periods, stalls):
    mac, core = await begin(dut, periods)
    packets = random_packets(120)
    broken = set(random.sample(range(120), 30))
    taker, events = Taker(core, "axis"), recorders(mac)
    # With gaps, so that all find room.
    stall = often if stalls.value[0] is not never else never
    await send(mac, "mac", packets, stall=stall, gap=mostly, broken=broken, waits=False)
    good = [packet for number, packet in enumerate(packets) if number not in broken]
    await taker.wait_for(count_beats(good))
    await core.edges(20)
    assert taker.packets() == good
    assert counts(events) == [0, 30]


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS)
async def drops_whole_packets_when_the_core_does_not_take_them(dut, periods):
    mac, core = await begin(dut, periods)
    packets = random_packets(150)
    taker, events = Taker(core, "axis", stall=lambda: random.random() < 0.9), recorders(mac)
    await send(mac, "mac", packets, waits=False, broken={149})
    await mac.edges(20)
    dropped, broken = counts(events)
    assert dropped > 20
    assert broken == 1
    while dut.used.value:
        await core.edges(100)
    taker.stall = never  # what is left in the crossing comes at once
    await core.edges(400)
    # A part of what was sent, in order, each as it was.
    rest, taken = iter(packets), taker.packets()
    assert len(taken) == len(packets) - 1 - dropped
    assert all(packet in rest for packet in taken)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def reports_how_many_words_are_inside(dut):
    """Beyond what the crossing holds, each packet of one word adds one, up to the whole buffer."""
    mac, core = await begin(dut, PERIODS[0])
    words, used, dropped = params_in_simulator().buffer.words, [0], Recorder(mac, "dropped", {})
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
    assert len(dropped.cycles) == 7
    taker = Taker(core, "axis")
    await taker.wait_for(crossing + words)
    await mac.edges(20)
    assert len(taker.packets()) == crossing + words
    assert not int(dut.used.value)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_packet_that_is_too_long_is_dropped(dut):
    mac, core = await begin(dut, PERIODS[0])
    words = params_in_simulator().buffer.words
    long, short = random.randbytes(64 * (words + 8)), random.randbytes(200)
    taker, events = Taker(core, "axis"), recorders(mac)
    await send(mac, "mac", [long], waits=False)
    await mac.edges(4)  # room comes back
    await send(mac, "mac", [short], waits=False)
    await taker.wait_for(count_beats([short]))
    assert taker.packets() == [short]
    assert counts(events) == [1, 0]


@cocotb.test(timeout_time=300, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS, which=["mac", "core"])
async def whole_packets_come_after_a_reset_of_either_clock(dut, periods, which):
    mac, core = await begin(dut, periods)
    packets = numbered(400, [60, 64, 200, 700, 1200])
    taker, cut = Taker(core, "axis"), []
    side = {"core": core, "mac": mac}[which]
    resets = cocotb.start_soon(reset_now_and_then([side], 20, 150))
    sender = Sender(mac, "mac", waits=False, gap=lambda: random.random() < 0.9)
    await sender.send(packets[:-50])
    assert resets.done()
    await core.edges(60)
    await sender.send(packets[-50:])
    await core.edges(200)
    check_after_resets(packets, taker.packets(cut), bytes)
    assert bool(cut) == (which == "mac")
