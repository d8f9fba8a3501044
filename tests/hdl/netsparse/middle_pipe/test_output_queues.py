"""Tests queues after a middle pipe: each packet waits for the port that it was let in for."""

import random

from hdl.netsparse.middle_pipe.output_queues import OutputQueues, OutputQueuesParams
from sim.harness.axi_streams import AxiSource
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Stalls, always, benched, crossed, edges, never
from tests.hdl.netsparse.switch.bench import TOR
from tests.simulated import simulated

BEAT_BYTES = 64

test_output_queues = simulated(
    OutputQueues, [OutputQueuesParams(switch=TOR, payload=False)], __name__
)


class QueuesBench(Bench):
    """Has queues, packets for them, and what came of those; no queue gets more than fits."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.queues = range(self.params.ports)
        self.expected = [[] for _ in self.queues]
        self.sent = []  # the queue of each beat
        self.axis = AxiSource(dut, "axis", stall=self.source_stall, beside=["to"])
        self.leaves, self.takes = self.record("left", "left"), self.record("", "axis_tready")

    @property
    def left(self):
        """Count the beats that have left each queue, as it says."""
        reported = [record["left"] for record in list.__iter__(self.leaves.beats)]
        return [sum(bits >> k & 1 for bits in reported) for k in self.queues]

    def came(self, queue):
        """Return the cycles in which beats for ``queue`` came."""
        return [at for at, to in zip(self.axis.cycles, self.sent, strict=True) if to == queue]

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
        await self.axis.send_all(beats)

    async def check(self):
        await self.finish(5, o=self.expected)
        assert self.left == [len(beats) for beats in self.expected]
        assert all(record["axis_tready"] for record in self.takes.beats)


@crossed(stalls=STALLS)
async def each_packet_waits_in_the_queue_of_its_port(dut, stalls):
    bench = await QueuesBench(dut, stalls).begin()
    for _ in range(150):
        queue, count = random.choice(bench.queues), random.choice((2, 2, 3, 10))
        while bench.room(queue) < count:
            await edges(dut.clk, 5)
        await bench.send(queue, count)
    await bench.check()
    if stalls is Stalls.NONE:
        cycles = bench.axis.cycles
        assert cycles == [*range(cycles[0], cycles[0] + len(cycles))]
        late = bench.component.latency
        for queue, sink in zip(bench.queues, bench.o, strict=True):
            assert sink.cycles == [at + late for at in bench.came(queue)]


@benched(QueuesBench, blocked=[0, 1])
async def a_blocked_queue_holds_all_that_was_promised(bench, blocked):
    """It holds as many beats as it should; others pass meanwhile."""
    other = 1 - blocked
    bench.o[blocked].stall = always
    for _ in range(TOR.output_beats // 2):
        await bench.send(blocked, 2)
        await bench.send(other, 3)
    assert bench.room(blocked) == 0
    await bench.wait(5)
    assert not bench.o[blocked].beats
    assert len(bench.o[other].beats) == len(bench.expected[other])
    for _ in range(6):  # one leaves, one comes
        bench.o[blocked].stall = never
        await bench.wait(1)
        bench.o[blocked].stall = always
        await bench.wait(2)
        await bench.send(blocked, bench.room(blocked))
    bench.o[blocked].stall = never
    await bench.check()
