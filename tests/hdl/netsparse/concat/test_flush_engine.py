import random
from collections import deque
from itertools import pairwise

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams
from hdl.netsparse.concat.flush_engine import FlushEngine
from hdl.netsparse.concat.line_memory import LineMemory
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from sim.netsparse.links import Receiver
from tests.simulated import simulated

PARAMS = ConcatenatorParams(
    payload=True, nodes=4, mtu=600, most_property_bytes=256, pool=40, destinations=8
)
test_flush_engine = simulated(FlushEngine, [PARAMS], __name__)


class Lines:
    """Models the line memory and the links between lines, as the engine sees them."""

    def __init__(self, dut, count):
        self.dut = dut
        self.content = [random.randbytes(LINE_BYTES) for _ in range(count)]
        self.follower = {}
        self.returned, self.events = [], []
        cocotb.start_soon(self.run())

    async def run(self):
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        stages = deque([bytes(LINE_BYTES)] * LineMemory.latency, LineMemory.latency)
        while True:
            await edge
            if dut.rst.value:
                continue
            if dut.returns.value:
                assert dut.step.value
                self.returned.append(int(dut.line.value))
            if dut.packet.value:
                self.events.append((int(dut.bytes.value), int(dut.prs.value)))
            if dut.step.value:
                line = int(dut.line.value)
                stages.append(self.content[line % len(self.content)])
                dut.low.value = int.from_bytes(stages[0][:64], "little")
                dut.high.value = int.from_bytes(stages[0][64:], "little")
                dut.follower.value = self.follower.get(line, 0)


async def watch_busy(dut):
    """Check that it is busy from a packet's offer until the last beat has left."""
    inside = 0
    while True:
        await RisingEdge(dut.clk)
        if dut.rst.value:
            continue
        assert dut.busy.value == bool(inside or dut.packets_valid.value)
        inside += int(dut.packets_valid.value and dut.packets_ready.value)
        inside -= int(dut.axis_tvalid.value and dut.axis_tready.value and dut.axis_tlast.value)


@crossed(stalls=STALLS, us=100)
async def whole_packets_leave(dut, stalls):
    bench = Bench(dut, stalls)
    params, sink, source = (
        bench.params,
        Receiver(dut, "axis", stall=bench.sink_stall),
        bench.packets,
    )
    lines = Lines(dut, params.lines)
    await bench.begin()
    cocotb.start_soon(watch_busy(dut))
    wires, returned, events, free = [], [], [], list(range(params.lines))
    for k in range(80):
        used = [1, 64, 65, 128, 129, params.room][k] if k < 6 else random.randint(1, params.room)
        count = -(-used // LINE_BYTES)
        if len(free) < count:  # those of earlier packets, once they are back
            while len(lines.returned) < len(returned):
                await RisingEdge(dut.clk)
            free = list(range(params.lines))
        random.shuffle(free)
        taken, free = free[:count], free[count:]
        lines.follower |= dict(pairwise(taken))
        header, prs = random.randbytes(64), random.randint(1, params.max_prs)
        wires.append(header + b"".join(lines.content[line] for line in taken)[:used])
        returned += taken
        events.append((64 + used, prs))
        source.append(
            {
                "header": int.from_bytes(header, "little"),
                "prs": prs,
                "used": used,
                "first": taken[0],
            }
        )
    await bench.settle()
    assert [packet.wire for packet in sink.packets] == wires
    assert not any(beat["tuser"] for beat in sink.beats)
    assert lines.returned == returned
    assert lines.events == events
    assert not dut.busy.value
    assert not dut.axis_tvalid.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_beat_a_cycle(dut):
    bench = Bench(dut)
    params, sink, source = bench.params, Receiver(dut, "axis"), bench.packets
    Lines(dut, params.lines)
    await bench.begin()
    sizes = [1, 64, 65, params.room, 128, 129, 63, 1, 1]
    for used in sizes:
        source.append({"header": 0, "prs": 1, "used": used, "first": 0})
    beats = sum(1 + -(-used // 64) for used in sizes)
    await sink.wait_for(beats)
    begun = [packet.begun for packet in sink.packets]
    assert begun == [at + FlushEngine.latency for at in source.cycles]
    assert sink.cycles[-1] - begun[0] == beats - 1
