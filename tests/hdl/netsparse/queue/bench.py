"""Models host memory as readers and writers of whole properties see it."""

import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.rig.params import READ_BEAT
from sim.harness.payloads import pack
from sim.harness.streams import Sink, cycle, never


class HostReads:
    """Answers ``demands`` in their order; ``memory`` by address, ``bad`` addresses with an
    error.
    """

    def __init__(self, dut, memory, *, stall=never, delay=lambda: 10):
        self.dut, self.memory, self.delay, self.bad = dut, memory, delay, set()
        self.due = deque()
        dut.beat_valid.value = 0
        self.demands = Sink(dut, "demands", stall=stall, callback=self.issue)
        cocotb.start_soon(self.run())

    def issue(self, request):
        assert request["bytes"] == 64
        self.due.append((cycle() + self.delay(), request["address"]))

    async def run(self):
        edge = RisingEdge(self.dut.clk)
        while True:
            await edge
            ready = bool(self.due) and self.due[0][0] <= cycle()
            self.dut.beat_valid.value = ready
            beat = {"last": 1, "failed": random.getrandbits(1), "data": random.getrandbits(512)}
            if ready:
                _, address = self.due.popleft()
                beat["failed"] = address in self.bad
                if not beat["failed"]:
                    beat["data"] = int.from_bytes(self.memory[address], "little")
            self.dut.beat.value = pack(READ_BEAT, beat)
