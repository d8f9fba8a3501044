"""Queues behind a middle pipe: each packet waits for the port that leads to its dest."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.middle_pipe.output_queues import OutputQueues, OutputQueuesParams
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, Sink, Stalls, cycle, never, start
from sim.harness.verilator import component_in_simulator, params_in_simulator, simulate
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, to_bytes
from sim.netsparse.links import Sender
from sim.netsparse.wire import to_beats
from tests.hdl.netsparse.switch.test_switch import TOR

ROUTES = {0: 0, 2: 2, 3: 2, 4: 0}  #: the ports of the first of two pipes; 5 has none


def test_output_queues():
    simulate(OutputQueues(OutputQueuesParams(switch=TOR, payload=False)), __name__)


class Bench:
    """Queues, packets for them, and what came of them."""

    def __init__(self, dut, stalls=(never, never)):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(OutputQueuesParams)
        self.source, self.stall = stalls
        self.expected = [[] for _ in range(self.params.ports)]
        self.no_route = self.dropped = 0
        self.left = [0] * self.params.ports
        self.taken, self.taken_for = [], []  # cycles of beats that were taken, and their queues
        self.queues = []  # of the beats that were sent
        self.blocked = set()

    async def start(self):
        dut = self.dut
        dut.write.value = 0
        self.sender = Sender(dut, "axis", self.source)
        self.sinks = [
            Sink(dut, f"o_{k}", stall=lambda k=k: k in self.blocked or self.stall())
            for k in range(self.params.ports)
        ]
        await start(dut)
        for node in range(TOR.nodes):
            route = {"port": ROUTES.get(node, 0), "known": node in ROUTES}
            dut.write.value = pack(TOR.write_route, {"valid": 1, "node": node, "route": route})
            await self.edge
        dut.write.value = 0
        cocotb.start_soon(self.watch())
        return self

    async def watch(self):
        dut = self.dut
        while True:
            await self.edge
            if dut.axis_tvalid.value and dut.axis_tready.value:
                self.taken.append(cycle())
            self.no_route += bool(dut.no_route.value)
            for k in range(self.params.ports):
                self.left[k] += int(dut.left.value) >> k & 1

    def send(self, dest, count, end=None):
        """A packet with ``count`` reads, or one whose last byte of a beat is ``end``."""
        requests = [
            Request(kind=Kind.READ, dest=dest, length=4, idx=random.getrandbits(64))
            for _ in range(count)
        ]
        beats = to_beats(to_bytes(requests, 1, Addresses()))
        if end is not None:
            beats[-1] = (beats[-1][0], (2 << end) - 1, *beats[-1][2:])
        self.sender.queue.extend(beats)
        queue = ROUTES[dest] // TOR.pipes if dest in ROUTES else None
        self.queues += [queue] * len(beats)
        self.dropped += queue is None
        for tdata, tkeep, tlast, _ in beats if queue is not None else ():
            beat = {"data": tdata, "end": tkeep.bit_length() - 1, "last": tlast}
            self.expected[queue].append(beat)

    async def finish(self):
        for sink, beats in zip(self.sinks, self.expected, strict=True):
            await sink.wait_for(len(beats))
        while self.sender.queue or self.sender.busy:
            await self.edge
        for _ in range(5):
            await self.edge
        assert [sink.beats for sink in self.sinks] == self.expected
        assert self.left == [len(beats) for beats in self.expected]
        assert self.no_route == self.dropped


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def each_packet_waits_in_the_queue_of_its_port(dut, stalls):
    """In order; one that has lost its route is dropped, and nothing else."""
    bench = await Bench(dut, stalls).start()
    for _ in range(150):
        dest = random.choice((*ROUTES, *ROUTES, 5, TOR.nodes, 1 << 16))
        bench.send(dest, random.choice((1, 2, 3, 29)), random.choice((None, random.randrange(64))))
    await bench.finish()
    assert bench.dropped > 10
    if stalls is Stalls.NONE:
        first = bench.taken[0]
        assert bench.taken == [*range(first, first + len(bench.taken))]
        late = component_in_simulator().latency
        for k, sink in enumerate(bench.sinks):
            came = [at for at, q in zip(bench.taken, bench.queues, strict=True) if q == k]
            assert sink.cycles == [at + late for at in came]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(blocked=[0, 2])
async def a_blocked_queue_fills(dut, blocked):
    """With as many beats as there should be; others pass meanwhile, until it is full."""
    bench = await Bench(dut).start()
    other = 2 - blocked
    full, free = (ROUTES[dest] // TOR.pipes for dest in (blocked, other))
    bench.blocked.add(full)
    capacity = bench.params.fifo.capacity
    assert capacity == TOR.output_beats + 1
    bench.send(blocked, 4)  # three beats
    for _ in range(capacity // 2 - 1):
        bench.send(blocked, 1)
        bench.send(other, 1)
    for _ in range(5):
        bench.send(5, 1)  # dropped, be the queue of its port (0) full or not
    bench.send(other, 29)
    for _ in range(2 * capacity + 50):
        await bench.edge
    assert not bench.sinks[full].beats
    assert len(bench.sinks[free].beats) == len(bench.expected[free])
    assert bench.no_route == 5
    before = len(bench.sinks[free].beats)
    for _ in range(4):
        bench.send(blocked, 29)
        bench.send(other, 1)
    for _ in range(50):
        await bench.edge
    assert len(bench.sinks[free].beats) == before  # what comes behind one that is too many waits
    for _ in range(6):  # one leaves, one comes
        bench.blocked.clear()
        await bench.edge
        bench.blocked.add(full)
        await bench.edge
        await bench.edge
    bench.blocked.clear()
    await bench.finish()
