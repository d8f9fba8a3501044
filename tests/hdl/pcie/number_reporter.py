"""Plays the PCIe block's reports of requests that have gone: their numbers, in order, some cycles
later.
"""

import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from hdl.pcie.write_fence import NUMBERS
from sim.harness.payloads import pack
from sim.harness.streams import cycle


class NumberReporter:
    """Tells ``numbers`` that were :meth:`put`, each at most ``delay`` cycles later, two at a time.

    In places that are free it sometimes tells the number of a request that is no write, 0.
    ``reported`` has each number, and the cycle in which the hardware hears it.
    """

    def __init__(self, dut, *, delay=30):
        self.dut, self.delay, self.reported = dut, delay, []
        self.waiting = deque()
        dut.numbers.value = 0
        cocotb.start_soon(self.report())

    def put(self, number):
        due = cycle() + random.randint(0, self.delay)
        self.waiting.append((number, due))

    async def report(self):
        while True:
            await RisingEdge(self.dut.clk)
            said = []
            while len(said) < 2:
                if self.waiting and self.waiting[0][1] <= cycle():
                    number, _ = self.waiting.popleft()
                    self.reported.append((number, cycle() + 1))
                    said.append({"valid": 1, "number": number})
                else:
                    said.append({"valid": random.getrandbits(1), "number": 0})
            self.dut.numbers.value = pack(NUMBERS, said)
