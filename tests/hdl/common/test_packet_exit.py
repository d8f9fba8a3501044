import random

import cocotb

from hdl.common.packet_entry import PacketEntryParams
from hdl.common.packet_exit import PacketExit
from sim.harness.bench import Bench
from sim.harness.streams import crossed, mostly, never, often
from tests.hdl.vitis.packets import packet
from tests.simulated import simulated

SIZES = [PacketEntryParams(beats=16), PacketEntryParams(beats=64)]

test_packet_exit = simulated(PacketExit, SIZES, __name__)


@crossed((("source", "sink"), [(never, never), (often, never), (often, mostly)]), us=200)
async def whole_packets_leave_and_broken_ones_do_not(dut, source, sink):
    bench = await Bench(dut, (source, sink)).begin(after_anything=True)
    most = bench.params.buffer.max_packet_words
    sent, expected = [], []
    for number in range(100):
        beats, broken = packet(number, random.choice((1, 2, most))), random.random() < 0.3
        sent += [{**beat, "tuser": int(broken and beat is beats[-1])} for beat in beats]
        expected += [] if broken else beats
    bench.i.extend(sent)
    await bench.settle(40)
    left = [{f"t{name}": beat[name] for name in ("data", "keep", "last")} for beat in bench.o.beats]
    assert left == expected


@cocotb.test(timeout_time=20, timeout_unit="us")
async def takes_its_latency_and_leaves_no_gap(dut):
    bench = await Bench(dut, (often, never)).begin()
    for beats in (1, 2, 5):
        bench.forget()
        bench.i.extend([{**beat, "tuser": 0} for beat in packet(1, beats)])
        await bench.o.wait_for(beats)
        assert bench.o.cycles[0] == bench.i.cycles[-1] + PacketExit.latency
        assert bench.o.cycles[-1] - bench.o.cycles[0] == beats - 1
