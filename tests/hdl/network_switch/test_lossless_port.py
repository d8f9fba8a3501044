import random

import cocotb
import pytest

from hdl.common.packet_exit import PacketExit
from hdl.network_switch.lossless_port import LosslessPort, LosslessPortParams
from sim.harness.bench import Bench
from sim.harness.streams import always, edges, mostly, never, often
from tests.hdl.vitis.packets import packet
from tests.simulated import simulated

SIZES = [LosslessPortParams(beats=32, headroom=20), LosslessPortParams(beats=128, headroom=40)]
LONGEST = 8  #: beats of a packet that is sent

test_lossless_port = simulated(LosslessPort, SIZES, __name__)


def test_a_buffer_holds_more_than_the_headroom():
    with pytest.raises(ValueError, match="beats must be at least 71 for the headroom: 64"):
        LosslessPortParams(beats=64, headroom=64)


def marked(number, beats, broken=False):
    return [
        beat | {"tuser": int(broken and k == beats - 1)}
        for k, beat in enumerate(packet(number, beats))
    ]


def without_mark(beats):
    return [{name: value for name, value in beat.items() if name != "tuser"} for beat in beats]


async def begin(dut, stalls):
    bench = await Bench(dut, stalls).begin()
    await bench.wait(4)
    return bench


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(stall=[never, often, mostly, always])
async def a_neighbour_that_obeys_loses_nothing(dut, stall):
    """It ends its packet, and begins the next one when the pause is over, both some cycles late."""
    bench = await begin(dut, (never, stall))
    room, dropped = bench.params.headroom - LONGEST, bench.record("dropped")
    sent, pauses, heard = [], 0, [0] * (room + 1)
    for number in range(400):
        for _ in range(random.choice((0, 0, 0, 30))):
            await edges(dut.clk, 1)
        beats = marked(number, random.randint(1, LONGEST))
        waited = 0
        while heard[-1 - random.randrange(room)] and waited < 3000:
            await edges(dut.clk, 1)
            heard.append(int(dut.pause.value))
            waited += 1
        if waited == 3000:  # nothing is taken: it is paused for good
            assert stall is always
            break
        bench.i.extend(beats)
        sent += beats
        for _ in beats:
            await edges(dut.clk, 1)
            heard.append(int(dut.pause.value))
            pauses += heard[-1] > heard[-2]
    bench.come.stall = never
    await bench.settle(300)
    assert without_mark(bench.come.beats) == without_mark(sent)
    assert not dropped.beats
    assert not dut.pause.value
    assert pauses > 0 or stall in (never, often)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def all_of_the_headroom_is_there(dut):
    """As many beats come after the pause as it has; one more packet is lost in the end."""
    bench = await begin(dut, (never, always))
    dropped = bench.record("dropped")
    left, number = bench.params.headroom, 0
    while left:
        bench.i.extend(marked(number, 1))
        await edges(dut.clk, 1)
        left, number = left - int(dut.pause.value), number + 1
    await bench.wait(10)
    assert not dropped.beats
    bench.i.extend([beat for k in range(8) for beat in marked(number + k, 1)])
    await bench.wait(20)
    assert dropped.beats


@cocotb.test(timeout_time=200, timeout_unit="us")
async def what_finds_no_room_is_counted(dut):
    """So is what is corrupt; a packet leaves whole or not at all."""
    bench = await begin(dut, (never, mostly))
    dropped = bench.record("dropped")
    sent = [marked(k, random.randint(1, 12), random.random() < 0.1) for k in range(200)]
    bench.i.extend([beat for beats in sent for beat in beats])
    while bench.i.missing:
        await bench.wait(20)
        assert dut.i_tready.value
    bench.come.stall = never
    await bench.settle(300)
    came = {beats[0]["tdata"] >> 400: beats for beats in packets_of(bench.come.beats)}
    for number, beats in came.items():
        assert without_mark(beats) == without_mark(sent[number])
        assert not sent[number][-1]["tuser"]
    assert len(came) + len(dropped.beats) == len(sent)
    assert 0 < len(came) < len(sent)


def packets_of(beats):
    packets = [[]]
    for beat in beats:
        packets[-1].append(dict(beat))
        if beat["tlast"]:
            packets.append([])
    return packets[:-1]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stall=[never, often])
async def whole_packets_of_the_engine_leave(dut, stall):
    bench = await begin(dut, (often, stall))
    sent = [marked(k, random.randint(1, 12), random.random() < 0.1) for k in range(100)]
    bench.go.extend([beat for beats in sent for beat in beats])
    await bench.settle(100)
    expected = [beat for beats in sent if not beats[-1]["tuser"] for beat in beats]
    assert [(b["data"], b["keep"], b["last"]) for b in bench.o.beats] == [
        (b["tdata"], b["tkeep"], b["tlast"]) for b in expected
    ]


@cocotb.test(timeout_time=20, timeout_unit="us")
async def takes_its_latency(dut):
    bench = await begin(dut, (never, never))
    for source, sink, latency in (
        (bench.i, bench.come, LosslessPort.latency),
        (bench.go, bench.o, PacketExit.latency),
    ):
        bench.forget()
        source.extend(marked(0, 3))
        await sink.wait_for(3)
        assert sink.cycles[0] == source.cycles[-1] + latency
