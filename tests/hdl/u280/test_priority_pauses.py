"""The core holds the priorities that the far end pauses, and requests pauses of its own."""

import random

import cocotb

from hdl.common.packets import PRIORITY_COUNT
from hdl.u280.flow_control import HOLD_CYCLES
from hdl.u280.mac_signals import EVENTS, events_of
from hdl.u280.pauses import Pauses, PausesParams
from sim.harness.records import Recorder
from sim.harness.streams import edges, often, rarely, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.u280.packet_bench import Sender, Taker, count_beats

ALL = (1 << PRIORITY_COUNT) - 1
PAUSE_EVENTS = events_of("priorities")[len(EVENTS) :]
SETTLED = 2 * HOLD_CYCLES  #: cycles after which a level has been held and the next one is there


def test_priorities():
    simulate(Pauses(PausesParams(flow="priorities")), __name__)


async def begin(dut):
    for name in ("used_0", "pause", "stat_rx_pause_req"):
        getattr(dut, name).value = 0
    await start(dut)
    await edges(dut.clk, HOLD_CYCLES)
    return Recorder(dut, "events", {"events": None})


@cocotb.test(timeout_time=50, timeout_unit="us")
async def each_priority_is_paused_by_its_own_bit(dut):
    events = await begin(dut)
    masks = [1 << k for k in range(PRIORITY_COUNT)] + [random.getrandbits(8) for _ in range(8)]
    begun = [0] * PRIORITY_COUNT
    for mask in masks:
        dut.pause.value = mask
        await edges(dut.clk, SETTLED)
        assert dut.ctl_tx_pause_req.value == mask
        dut.pause.value = 0
        await edges(dut.clk, SETTLED)
        assert dut.ctl_tx_pause_req.value == 0
        begun = [count + (mask >> k & 1) for k, count in enumerate(begun)]
    seen = [sum(item["events"] >> 2 * k + 1 & 1 for item in events.beats) for k in range(8)]
    assert seen == begun
    assert PAUSE_EVENTS[-2:] == ("paused_priority_7", "pauses_priority_7")


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_full_buffer_pauses_all(dut):
    link = params_in_simulator(PausesParams).link
    await begin(dut)
    for used, requested in (
        (link.stop_above, 0),
        (link.stop_above + 1, ALL),
        (link.resume_at + 1, ALL),
        (link.resume_at, 0),
    ):
        dut.used_0.value = used
        await edges(dut.clk, SETTLED)
        assert dut.ctl_tx_pause_req.value == requested


@cocotb.test(timeout_time=50, timeout_unit="us")
async def what_the_far_end_pauses_is_held_and_acknowledged(dut):
    events = await begin(dut)
    for _ in range(20):
        paused = random.getrandbits(PRIORITY_COUNT + 1)
        dut.stat_rx_pause_req.value = paused
        await edges(dut.clk, 3)
        assert int(dut.paused.value) == int(dut.ctl_rx_pause_ack.value) == paused & ALL
        before = len(events.beats)
        await edges(dut.clk, 10)
        for item in events.beats[before:]:
            assert [item["events"] >> 2 * k & 1 for k in range(8)] == [
                paused >> k & 1 for k in range(8)
            ]


@cocotb.test(timeout_time=50, timeout_unit="us")
async def packets_pass_whatever_is_paused(dut):
    dut.stat_rx_pause_req.value = ALL
    sender, taker = Sender(dut, "i_0", stall=rarely), Taker(dut, "mac", stall=often)
    await begin(dut)
    packets = [random.randbytes(random.randint(60, 300)) for _ in range(60)]
    await sender.send(packets)
    await taker.wait_for(count_beats(packets))
    assert taker.packets() == packets
