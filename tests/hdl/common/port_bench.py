"""Has what the tests of both AXI ports share."""

import random

from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from hdl.common.axi import Response
from hdl.common.bus_watch import BUS, WATCH
from sim.harness.coincidences import apart, pulse, reset
from sim.harness.payloads import pack

BEAT = 16  #: bytes of a beat
LAST_PAGE = (1 << 20) - 4096  #: where the longest bursts of so many bytes a beat may begin
QUIET = dict.fromkeys(BUS.members, 0)  #: of a bus that is in order


class PortBench:
    """Has a port as ``dut``, and whoever watches its bus."""

    def __init__(self, dut):
        self.dut = dut
        dut.watch.value = 0

    def response(self, at):
        """Return one of all four kinds, by address."""
        return Response(at // BEAT % 4)

    async def settle(self, cycles=20):
        await ClockCycles(self.dut.clk, cycles)

    async def settle_when(self, arrived):
        """Wait for what must come, however slow a memory is drawn, then for what must not."""
        for _ in range(2000):
            if arrived():
                break
            await RisingEdge(self.dut.clk)
        await self.settle()

    async def watch(self, **said):
        """Check a pulse of ``tick`` or ``revive``, and what follows it."""
        self.dut.watch.value = pack(WATCH, said)
        await RisingEdge(self.dut.clk)
        self.dut.watch.value = 0
        await self.settle(4)

    async def tick(self, count=1):
        for _ in range(count):
            await self.watch(tick=1)

    async def revived_beside_a_burst(self, distance):
        """Revive a broken bus; a burst that enters before it works fails, and it stays broken."""
        self.replies.append(self.unasked)
        await self.settle()
        assert self.bus["broken"]
        given, revive = [], pulse(self.dut, "watch", pack(WATCH, {"revive": 1}))
        await apart(self.dut, revive, lambda: given.extend(self.ask(1)), distance)
        await self.settle(40)
        assert self.bus["broken"] == (distance <= 0)
        self.check(given, fails=distance <= 0)
        await self.works_again()
        self.forget()

    async def reset_under_traffic(self, *sources):
        """After a reset in any cycle, the port works as at first, and owes nothing."""
        for _ in range(10):
            self.ask(8)
            await self.settle(random.randrange(40))
            await reset(self.dut, self.forget, *sources)
            await self.works_again()

    async def moves(self, channel):
        """Wait until the middle of a cycle in which ``channel`` moves."""
        valid, ready = (getattr(self.dut, f"axi_{channel}{name}") for name in ("valid", "ready"))
        while not (valid.value and ready.value):
            await FallingEdge(self.dut.clk)
