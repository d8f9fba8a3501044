import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.transport.params import TransportParams
from hdl.p4sgd.transport.reorder_buffer import QUEUE_DEPTH, ReorderBuffer
from sim.harness.streams import STALLS, Sink, crossed, cycle, never, start
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import generator, put, wild
from tests.simulated import simulated

SIZES = [TransportParams(slots=5), TransportParams(slots=16, lanes=3)]

test_reorder_buffer = simulated(ReorderBuffer, SIZES, __name__)


class Bench:
    """A table that lets full activations come in any order; they are due in order."""

    def __init__(self, dut, stall=never):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(TransportParams)
        self.rng = generator()
        self.stall = stall
        self.present = {}  # micro-batch: activations that have come
        self.next = 0  # micro-batch that is due
        self.due = deque()  # what was delivered, and when
        self.room = QUEUE_DEPTH

    async def start(self):
        put(self.dut, keep=0, arrived=0, allowed=0)
        await start(self.dut)
        self.sink = Sink(self.dut, "full", stall=self.stall, callback=self.check)
        return self

    def check(self, beat):
        """Full activations leave once each, in order."""
        expected, when = self.due.popleft()
        assert beat == expected
        assert cycle() >= when + ReorderBuffer.latency

    async def step(self, keep=None, allowed=True):
        """Play one cycle, in which the full activation of micro-batch ``keep`` may come."""
        dut, slots = self.dut, self.params.slots
        arrived = self.next in self.present
        slot = random.randrange(slots) if keep is None else keep % slots
        activations = wild(self.rng, 32, self.params.lanes).tolist()
        put(dut, keep=keep is not None, keep_slot=slot, activations=activations)
        put(dut, arrived=arrived, allowed=allowed, deliver_slot=self.next % slots)
        await self.edge
        delivered = bool(dut.delivered.value)
        assert delivered == (arrived and allowed and self.room > 0)
        # A beat that leaves in this cycle makes room in the next.
        self.room += bool(dut.full_valid.value and dut.full_ready.value)
        if delivered:
            self.due.append((self.present.pop(self.next), cycle()))
            self.next += 1
            self.room -= 1
        if keep is not None:
            self.present[keep] = activations
        return delivered

    def missing(self):
        """Micro-batches that may come: those whose slot is free since the one before in it left."""
        window = range(self.next, self.next + self.params.slots)
        return [j for j in window if j not in self.present]

    async def drain(self):
        while self.present or self.due:
            await self.step()
        for _ in range(5):
            await self.step()


@crossed(stalls=STALLS, allow=[0.5, 1])
async def restores_the_order(dut, stalls, allow):
    """In whatever order they come, each leaves once, in the order of micro-batches."""
    pause, stall = stalls
    bench = await Bench(dut, stall).start()
    while bench.next < 400:
        missing = bench.missing()
        keep = random.choice(missing) if missing and not pause() else None
        await bench.step(keep, random.random() < allow)
    while bench.present and bench.next not in bench.present:
        await bench.step(bench.next)
    while bench.present:
        await bench.step(bench.next if bench.next not in bench.present else None)
    await bench.drain()
    assert len(bench.sink.beats) == bench.next


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def hands_on_one_a_cycle(dut):
    """It hands on one per cycle, the stated number of cycles later, alone or back to back."""
    bench = await Bench(dut).start()
    for count in (1, 300):
        first, moved, when = bench.next, len(bench.sink.beats), []
        for j in range(first, first + count):
            await bench.step(j)
            when.append(cycle() + 1)  # delivered in the cycle behind
        await bench.drain()
        taken = bench.sink.cycles[moved:]
        assert taken == [cycle + ReorderBuffer.latency for cycle in when]
