import random
from itertools import groupby

import cocotb

from hdl.common.packet_entry import PacketEntry, PacketEntryParams
from sim.harness.bench import Bench
from sim.harness.streams import always, crossed, mostly, never, often
from tests.hdl.vitis.packets import packet
from tests.simulated import simulated

SIZES = [*(PacketEntryParams(beats=beats) for beats in (16, 64))]
SIZES += [PacketEntryParams(beats=32, marked=True)]

test_packet_entry = simulated(PacketEntry, SIZES, __name__)


def packets_of(beats):
    """Return what left as packets, by number."""
    beats = [dict(beat) for beat in beats]
    assert not any(beat.pop("tuser") for beat in beats)
    return {k: list(item) for k, item in groupby(beats, lambda beat: beat["tdata"] >> 400)}


def send(bench, packets, broken=()):
    """Send packets by number; those in ``broken`` are marked, if the source does so."""
    for k, beats in packets.items():
        if bench.params.marked:
            marks = [*(random.getrandbits(1) for _ in beats[1:]), int(k in broken)]
            beats = [beat | {"tuser": mark} for beat, mark in zip(beats, marks, strict=True)]
        bench.i.extend(beats)


@crossed(stall=[never, often, mostly], us=200)
async def whole_packets_leave_and_all_others_are_counted(dut, stall):
    """Nothing waits at the entry, and nothing of a packet that finds no room leaves."""
    bench = await Bench(dut, (often, stall)).begin(after_anything=True)
    dropped = bench.record("dropped")
    most = bench.params.buffer.max_packet_words
    short = [random.choice((1, 2, 3, most // 2)) for _ in range(150)]
    long = [random.choice((most, bench.params.beats + 1, *short)) for _ in range(150)]
    lengths = [3, *(short if stall is never else long)]  # the first one may be dropped
    if bench.params.marked:
        await bench.wait(4)  # then there is room
    sent = {k: packet(k, beats) for k, beats in enumerate(lengths)}
    broken = {k for k in sent if random.random() < 0.1} if bench.params.marked else set()
    send(bench, sent, broken)
    most_used = 0
    while bench.i.missing:
        await bench.wait(20)
        assert dut.i_tready.value
        most_used = max(most_used, int(dut.used.value))
    await bench.settle(40)
    left = packets_of(bench.o.beats)
    assert all(sent[k] == beats for k, beats in left.items())
    assert len(dropped.beats) == len(sent) - len(left)
    assert not broken & set(left)
    assert 0 < most_used <= bench.params.beats
    if stall is never:
        first = 0 if bench.params.marked else 1
        assert list(left) == [k for k in sent if k >= first and k not in broken]
    else:
        assert (0 in left) == (bench.params.marked and 0 not in broken)
        assert 0 < len(left) < sum(length <= most for length in lengths)


@crossed(cut=range(1, 9), us=50)
async def a_packet_that_a_reset_cuts_is_dropped(dut, cut):
    """Nothing leaves that came before the reset, and nothing of the packet that it cuts.

    A source that marks packets is reset, too, and sends no rest of it.
    """
    bench = await Bench(dut).begin()
    send(bench, {k: packet(k, 3) for k in range(3)})
    await bench.wait(cut)
    bench.i.stall = always
    dut.rst.value = 1
    await bench.wait(2)
    assert not dut.dropped.value | dut.o_tvalid.value
    dut.rst.value = 0
    if bench.params.marked:
        bench.i.abandon()
    bench.forget()
    dropped = bench.record("dropped")
    await bench.wait(4)  # then there is room again
    bench.i.stall = never
    while bench.i.missing:
        await bench.wait()
    send(bench, {k: packet(k, 2) for k in (3, 4)})
    await bench.settle(20)
    left = list(packets_of(bench.o.beats))
    assert left == list(range(5 - len(left), 5))
    assert len(dropped.beats) == (not bench.params.marked)
    assert len(left) == 2 if bench.params.marked else len(left) > 0


@cocotb.test(timeout_time=20, timeout_unit="us")
async def takes_its_latency(dut):
    bench = await Bench(dut).begin()
    send(bench, {0: packet(0, 2)})
    await bench.settle()
    assert not bench.o.beats
    for beats in (1, 2, 5):
        bench.forget()
        send(bench, {7: packet(7, beats)})
        await bench.o.wait_for(beats)
        assert not dut.used.value
        assert bench.o.cycles[0] == bench.i.cycles[-1] + PacketEntry.latency
        assert bench.o.cycles[-1] - bench.o.cycles[0] == beats - 1
