"""Has what the tests of both AXI ports share."""

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from hdl.common.axi import FOUR_KB, Burst, Response
from hdl.common.bus_watch import BUS, WATCH
from sim.harness.bench import Bench
from sim.harness.coincidences import apart, pulse
from sim.harness.payloads import pack
from sim.harness.streams import always, never

BEAT = 16  #: bytes of a beat
LAST_PAGE = (1 << 20) - FOUR_KB  #: where the longest bursts of so many bytes a beat may begin
QUIET = dict.fromkeys(BUS.members, 0)  #: of a bus that is in order


class PortBench(Bench):
    """Has a port, the channels of its bus, and whoever watches it.

    A subclass gives requests by ``issue`` and ``request_for``, and memory's ``replies``.
    """

    requests: str  #: channel of requests
    answering: str  #: channel of what the memory replies
    results: str  #: port of what the master gets
    unrequested: dict[str, Any]  #: a reply that breaks a bus that owes none

    def __init__(self, dut, stalls=(never, never)):
        super().__init__(dut, stalls)
        self.provided, self.said = self.reports(self.results), self.tally("bus")
        self.replies = getattr(self, self.answering)
        self.replies_itself = True  #: the memory does
        cocotb.start_soon(self.takes_replies_at_once())

    async def takes_replies_at_once(self):
        ready = getattr(self.dut, f"{self.answering}ready")
        while True:
            await RisingEdge(self.dut.clk)
            assert ready.value or self.dut.rst.value

    def open(self, channel, is_open=True):
        """Let the memory take, or not take, what comes on a channel."""
        getattr(self, channel).stall = self.sink_stall if is_open else always

    @property
    def bus(self):
        """Return what the port says of its bus now."""
        return self.value("bus")

    @property
    def dropped(self):
        return self.said["dropped"]

    @property
    def requested(self):
        """Return address and length of each burst that the memory took."""
        bursts = getattr(self, self.requests).beats
        assert {(item["size"], item["burst"]) for item in bursts} <= {(4, Burst.INCR.value)}
        return [(burst["addr"], burst["len"]) for burst in bursts]

    def response(self, at):
        """Return one of all four kinds, by address."""
        return Response(at // BEAT % 4).value

    async def watch(self, **said):
        """Check a pulse of ``tick`` or ``revive``, and what follows it."""
        await self.strobe(watch=said)
        await self.wait(4)

    async def tick(self, count=1):
        for _ in range(count):
            await self.watch(tick=1)

    def forget(self):
        """Forget what has moved, and what the master got."""
        super().forget()
        self.provided.take()
        self.said.clear()

    async def revived_beside_a_burst(self, distance):
        """Revive a broken bus; a burst that enters before it works fails, and it stays broken."""
        self.replies.append(self.unrequested)
        await self.wait(20)
        assert self.bus["broken"]
        provided, revive = [], pulse(self.dut, "watch", pack(WATCH, {"revive": 1}))
        await apart(self.dut, revive, lambda: provided.extend(self.issue(1)), distance)
        await self.wait(40)
        assert self.bus["broken"] == (distance <= 0)
        self.check(provided, fails=distance <= 0)
        await self.works_again()
        self.forget()

    def place(self, length):
        """Draw an address of a burst of length ``length`` that stays within 4 KB."""
        first = random.randrange(FOUR_KB // BEAT - length)
        return FOUR_KB * random.randrange(1 << 8) + BEAT * first + random.randrange(BEAT)

    async def fills(self, most):
        """Check that a memory that responds to no burst gets as many as may be under way."""
        self.replies_itself = False
        self.issue(2 * most.under_way)
        await self.wait(8 * most.under_way + 50)
        assert len(self.requested) == most.under_way

    async def reset_under_traffic(self):
        """After a reset in any cycle, the port works as at first, and owes nothing."""
        for _ in range(10):
            self.issue(8)
            await self.wait(random.randrange(40))
            await self.reset()
            await self.works_again()

    async def works_again(self, first=50):
        """Check that, after a revival, bursts have their own replies and no others."""
        self.replies_itself = True
        await self.watch(revive=1)
        assert self.bus == QUIET
        self.forget()
        provided = self.issue(8, first)
        await self.settle(20)
        self.check(provided, fails=False)
        self.forget()

    async def moves(self, channel):
        """Wait until the middle of a cycle in which ``channel`` moves."""
        valid, ready = (getattr(self.dut, f"{channel}{name}") for name in ("valid", "ready"))
        while not (valid.value and ready.value):
            await FallingEdge(self.dut.clk)
