"""Tests queues after a middle pipe: each packet waits for the port that it was let in for."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.middle_pipe.output_queues import OutputQueues, OutputQueuesParams
from sim.harness.streams import STALLS, Sink, Stalls, cycle, never, start
from sim.harness.verilator import component_in_simulator, params_in_simulator, simulate
from tests.hdl.netsparse.switch.test_switch import TOR

BEAT_BYTES = 64


def test_output_queues():
    simulate(OutputQueues(OutputQueuesParams(switch=TOR, payload=False)), __name__)


class Bench:
    """Has queues, packets for them, and what came of those; no queue gets more than fits."""

    def __init__(self, dut, source=never, sink=never):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(OutputQueuesParams)
        self.source, self.stall = source, sink
        self.queues = range(self.params.ports)
        self.expected = [[] for _ in self.queues]
        self.came = [[] for _ in self.queues]  # cycles of beats
        self.left = [0] * self.params.ports
        self.blocked = set()

    async def start(self):
        dut = self.dut
        dut.axis_tvalid.value = 0
        self.sinks = [
            Sink(dut, f"o_{k}", stall=lambda k=k: k in self.blocked or self.stall())
            for k in self.queues
        ]
        await start(dut)
        cocotb.start_soon(self.watch())
        return self

    async def watch(self):
        while True:
            await self.edge
            assert self.dut.axis_tready.value
            for k in self.queues:
                self.left[k] += int(self.dut.left.value) >> k & 1

    def room(self, queue):
        """Return the beats that ``queue`` has room for."""
        return self.params.fifo.depth - len(self.expected[queue]) + self.left[queue]

    async def send(self, queue, count):
        """Send a packet of ``count`` beats, in that many cycles if nothing stalls."""
        dut = self.dut
        for k in range(count):
            while self.source():
                dut.axis_tvalid.value = 0
                await self.edge
            end = random.randrange(BEAT_BYTES) if k == count - 1 else BEAT_BYTES - 1
            beat = {"data": random.getrandbits(512), "end": end, "last": int(k == count - 1)}
            dut.axis_tvalid.value, dut.to.value = 1, queue
            dut.axis_tdata.value, dut.axis_tlast.value = beat["data"], beat["last"]
            dut.axis_tkeep.value = (2 << end) - 1
            await self.edge
            self.came[queue].append(cycle())
            self.expected[queue].append(beat)
        dut.axis_tvalid.value = 0

    async def finish(self):
        for sink, beats in zip(self.sinks, self.expected, strict=True):
            await sink.wait_for(len(beats))
        for _ in range(5):
            await self.edge
        assert [sink.beats for sink in self.sinks] == self.expected
        assert self.left == [len(beats) for beats in self.expected]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def each_packet_waits_in_the_queue_of_its_port(dut, stalls):
    bench = await Bench(dut, *stalls.value).start()
    for _ in range(150):
        queue, count = random.choice(bench.queues), random.choice((2, 2, 3, 10))
        while bench.room(queue) < count:
            await bench.edge
        await bench.send(queue, count)
    await bench.finish()
    if stalls is Stalls.NONE:
        cycles = sorted(at for came in bench.came for at in came)
        assert cycles == [*range(cycles[0], cycles[0] + len(cycles))]
        late = component_in_simulator().latency
        for came, sink in zip(bench.came, bench.sinks, strict=True):
            assert sink.cycles == [at + late for at in came]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(blocked=[0, 1])
async def a_blocked_queue_holds_all_that_was_promised(dut, blocked):
    """It holds as many beats as it should; others pass meanwhile."""
    bench = await Bench(dut).start()
    other = 1 - blocked
    bench.blocked.add(blocked)
    for _ in range(TOR.output_beats // 2):
        await bench.send(blocked, 2)
        await bench.send(other, 3)
    assert bench.room(blocked) == 0
    for _ in range(5):
        await bench.edge
    assert not bench.sinks[blocked].beats
    assert len(bench.sinks[other].beats) == len(bench.expected[other])
    for _ in range(6):  # one leaves, one comes
        bench.blocked.clear()
        await bench.edge
        bench.blocked.add(blocked)
        await bench.edge
        await bench.edge
        await bench.send(blocked, bench.room(blocked))
    bench.blocked.clear()
    await bench.finish()
