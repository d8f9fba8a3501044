"""Tests queues after a middle pipe: each packet waits for the port that it was let in for."""

import random

import cocotb

from hdl.netsparse.middle_pipe.output_queues import OutputQueues, OutputQueuesParams
from sim.harness.axi_streams import AxiSource
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, Sink, Stalls, always, edges, never, started
from sim.harness.verilator import component_in_simulator, params_in_simulator, simulate
from tests.hdl.netsparse.switch.test_switch import TOR

BEAT_BYTES = 64


def test_output_queues():
    simulate(OutputQueues(OutputQueuesParams(switch=TOR, payload=False)), __name__)


class Bench:
    """Has queues, packets for them, and what came of those; no queue gets more than fits."""

    def __init__(self, dut, source=never, sink=never):
        self.dut = dut
        self.params = params_in_simulator(OutputQueuesParams)
        self.queues = range(self.params.ports)
        self.expected = [[] for _ in self.queues]
        self.sent = []  # the queue of each beat
        self.source = AxiSource(dut, "axis", stall=source, beside=["to"])
        self.sinks = [Sink(dut, f"o_{k}", stall=sink) for k in self.queues]
        self.leaves = Recorder(dut, "left", {"left": None})
        self.takes = Recorder(dut, "", {"axis_tready": None})

    @property
    def left(self):
        """Count the beats that have left each queue, as it says."""
        told = [record["left"] for record in list.__iter__(self.leaves.beats)]
        return [sum(bits >> k & 1 for bits in told) for k in self.queues]

    def came(self, queue):
        """Return the cycles in which beats for ``queue`` came."""
        return [at for at, to in zip(self.source.cycles, self.sent, strict=True) if to == queue]

    def room(self, queue):
        """Return the beats that ``queue`` has room for."""
        return self.params.fifo.depth - len(self.expected[queue]) + self.left[queue]

    async def send(self, queue, count):
        """Send a packet of ``count`` beats, in that many cycles if nothing stalls."""
        beats = []
        for k in range(count):
            end = random.randrange(BEAT_BYTES) if k == count - 1 else BEAT_BYTES - 1
            beat = {"data": random.getrandbits(512), "end": end, "last": int(k == count - 1)}
            self.expected[queue].append(beat)
            sides = {"tkeep": (2 << end) - 1, "tlast": beat["last"], "to": queue}
            beats.append({"tdata": beat["data"]} | sides)
        self.sent += [queue] * count
        await self.source.send_all(beats)

    async def finish(self):
        for sink, beats in zip(self.sinks, self.expected, strict=True):
            await sink.wait_for(len(beats))
        await edges(self.dut.clk, 5)
        assert [sink.beats for sink in self.sinks] == self.expected
        assert self.left == [len(beats) for beats in self.expected]
        assert all(record["axis_tready"] for record in self.takes.beats)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def each_packet_waits_in_the_queue_of_its_port(dut, stalls):
    bench = await started(Bench(dut, *stalls.value))
    for _ in range(150):
        queue, count = random.choice(bench.queues), random.choice((2, 2, 3, 10))
        while bench.room(queue) < count:
            await edges(dut.clk, 5)
        await bench.send(queue, count)
    await bench.finish()
    if stalls is Stalls.NONE:
        cycles = bench.source.cycles
        assert cycles == [*range(cycles[0], cycles[0] + len(cycles))]
        late = component_in_simulator().latency
        for queue, sink in zip(bench.queues, bench.sinks, strict=True):
            assert sink.cycles == [at + late for at in bench.came(queue)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(blocked=[0, 1])
async def a_blocked_queue_holds_all_that_was_promised(dut, blocked):
    """It holds as many beats as it should; others pass meanwhile."""
    bench = await started(Bench(dut))
    other = 1 - blocked
    bench.sinks[blocked].stall = always
    for _ in range(TOR.output_beats // 2):
        await bench.send(blocked, 2)
        await bench.send(other, 3)
    assert bench.room(blocked) == 0
    await edges(dut.clk, 5)
    assert not bench.sinks[blocked].beats
    assert len(bench.sinks[other].beats) == len(bench.expected[other])
    for _ in range(6):  # one leaves, one comes
        bench.sinks[blocked].stall = never
        await edges(dut.clk, 1)
        bench.sinks[blocked].stall = always
        await edges(dut.clk, 2)
        await bench.send(blocked, bench.room(blocked))
    bench.sinks[blocked].stall = never
    await bench.finish()
