"""Tests the window of a turn's PARTIALs with another switch, and links that lose or are late."""

import random
from dataclasses import replace

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.switchgnn.switch.links.link_window import LinkWindow
from sim.harness.bench import Bench
from sim.harness.coincidences import apart, pairs, pulse
from sim.harness.payloads import pack
from sim.harness.streams import Monitor, never, often, rarely, start
from sim.harness.verilator import simulate
from sim.switchgnn.golden.window import Window
from tests.hdl.switchgnn.switch.sizes import TINY

TIMEOUT = 40


@pytest.mark.parametrize("window", [4, 32])
def test_link_window(window):
    params = replace(TINY, links=1, window=window, slots=64)
    simulate(LinkWindow(params), __name__, registers=["timer", "mark", "base"])


class LinkWindowBench(Bench):
    """Adds PARTIALs while there is room; the other switch acknowledges those that it gets."""

    def __init__(self, dut, *, loss=0.0, stall=never, latency=5, late=False, required=0):
        super().__init__(dut)
        self.width = self.params.link_window
        self.loss, self.stall, self.latency, self.late = loss, stall, latency, late
        self.orders = Monitor(dut, "orders")
        self.added, self.now, self.required = 0, 0, required
        self.begun = 0  # PARTIALs that were ordered for the first time
        self.far = Window()
        self.acks = []  # cycle, base, bitmap
        self.left = []  # cycle, seq, again
        self.nonsense = 0  # cycles in which an ACK was no switch's
        dut.timeout.value = TIMEOUT
        self.running = cocotb.start_soon(self.run())

    async def run(self):
        dut, seen, used = self.dut, 0, None
        while True:
            # What is added in this cycle counts in the next one.
            room = int(dut.used.value) if dut.used.value.is_resolvable else self.width
            adds = self.added < self.required and room + int(dut.add.value) < self.width
            dut.add.value = int(adds)
            dut.orders_ready.value = not self.stall()
            due = [ack for ack in self.acks if ack[0] <= self.now]
            dut.ack_valid.value = bool(due)
            if due:
                self.acks.remove(due[0])
                word = {"place": 0, "base": due[0][1], "bitmap": due[0][2]}
                dut.ack.value = pack(self.params.link_ack, word)
            await self.edge
            self.now += 1
            self.nonsense += int(dut.nonsense.value)
            # What is acknowledged stays so, whatever an earlier ACK says.
            assert used is None or int(dut.used.value) <= used
            used = (
                int(dut.used.value) + adds if dut.rst.value == 0 and not dut.clear.value else None
            )
            if adds:
                assert int(dut.following.value) == self.added
                self.added += 1
            for beat in self.orders.beats[seen:]:
                seen += 1
                self.order(beat)

    def order(self, beat):
        """Note an order that leaves: its seq is the one kept in that slot."""
        slot, again = beat["slot"], beat["again"]
        newest = self.added - 1
        seq = newest - (newest - slot) % self.width
        if again:  # what waited since its PARTIAL was acknowledged sends the next one in its slot
            assert seq < self.begun or 0 <= seq - self.width < self.begun, (seq, self.left)
        else:
            assert seq == self.begun, (seq, self.left)
            self.begun += 1
        self.left.append((self.now, seq, bool(again)))
        if random.random() >= self.loss:
            self.far = self.far.marked(seq)
        if random.random() >= self.loss:
            base = self.far.base
            low = max(0, base - random.randrange(3)) if self.late else base
            bitmap = self.far.arrived >> low & (1 << self.width) - 1
            self.acks.append((self.now + self.latency + random.randrange(3), low, bitmap))

    def acknowledge(self, base, bitmap):
        """Acknowledge all below a base, and what the bitmap says."""
        self.acks.append((self.now, base, bitmap))

    async def idle(self, cycles):
        for _ in range(cycles):
            await self.edge

    def again(self):
        """Return what was ordered again."""
        return [seq for _, seq, again in self.left if again]

    async def until(self, count, most=20_000):
        """Run until all of ``count`` PARTIALs are added and acknowledged."""
        self.required = count
        for _ in range(most):
            await self.edge
            if self.added == count and not self.dut.used.value and not self.dut.add.value:
                break
        assert self.far.base == count
        assert self.dut.used.value == 0


async def begin(dut, **options):
    for name in ("clear", "add", "ack_valid", "ack", "orders_ready", "timeout"):
        getattr(dut, name).value = 0
    await start(dut)
    return LinkWindowBench(dut, **options)


@cocotb.test()
async def orders_each_once_in_order(dut):
    """A good link repeats nothing, and an order comes two cycles after its add."""
    bench = await begin(dut)
    count = bench.params.slots * bench.params.banks
    await bench.until(count)
    assert [(seq, again) for _, seq, again in bench.left] == [(k, False) for k in range(count)]
    assert bench.left[0][0] <= 4 + LinkWindow.latency
    assert not bench.nonsense


@cocotb.test()
async def repeats_until_all_is_acknowledged(dut):
    for stall in (never, rarely, often):
        for late in (False, True):
            bench = await begin(dut, loss=0.3, stall=stall, late=late)
            await bench.until(80)
            bench.running.cancel()
            assert not bench.nonsense
            assert {seq for _, seq, _ in bench.left} == set(range(80))
            last = {}
            for at, seq, again in bench.left:
                if again:
                    waited = at - last.get(seq, 0)
                    assert waited >= TIMEOUT or stall is not never, f"{seq} too early"
                last[seq] = at


async def full(dut):
    """Fill a window of which nothing has been acknowledged."""
    bench = await begin(dut, loss=1.0)
    bench.required = bench.width
    await bench.idle(bench.width + 6)
    assert len(bench.left) == bench.width
    return bench


@cocotb.test()
async def what_is_acknowledged_is_not_repeated(dut):
    """The first frame of a full window is lost, and others: only those leave again.

    The first round is that of the frame that the timer began with.
    """
    for lost in [1, *(random.getrandbits(32) | 1 for _ in range(8))]:
        bench = await full(dut)
        lost &= (1 << bench.width) - 1
        arrived = (1 << bench.width) - 1 ^ lost
        some = random.getrandbits(bench.width)
        for part in random.sample((arrived & some, arrived & ~some), 2):
            bench.acknowledge(0, part)
        await bench.idle(2 * TIMEOUT + bench.width + 16)
        bench.running.cancel()
        golden = [seq for seq in range(bench.width) if lost >> seq & 1]
        assert bench.again() == [0, *golden]
        assert dut.used.value == bench.width


@cocotb.test()
async def a_bitmap_frees_room_up_to_the_first_that_is_lost(dut):
    for lost in range(1, 9):
        bench = await full(dut)
        lost = min(lost, bench.width - 1)
        bench.acknowledge(0, (1 << bench.width) - 1 ^ 1 << lost)
        await bench.idle(bench.width + 6)
        bench.running.cancel()
        assert dut.used.value == bench.width - lost


@cocotb.test()
async def what_leaves_later_is_repeated_later(dut):
    """The timer is that of the frames that had left when it began."""
    for first in (1, 2, 3):
        bench = await begin(dut, loss=1.0, required=first)
        await bench.idle(TIMEOUT + 20)
        bench.required = 4
        await bench.idle(2 * TIMEOUT + 25)
        bench.running.cancel()
        assert bench.again() == [0, *range(first), *range(4)]


@cocotb.test()
async def the_timer_has_all_bits(dut):
    drawn = random.getrandbits(32)
    for _ in range(8):
        drawn ^= (1 << 32) - 1
        for timeout in (drawn, drawn ^ random.getrandbits(31)):
            timeout = max(timeout, 200)
            bench = await begin(dut, loss=1.0)
            dut.timeout.value = timeout
            bench.required = 1
            await bench.idle(10)
            dut.timer.value = timeout - 80
            await bench.idle(75)
            assert not bench.again()
            await bench.idle(25)
            bench.running.cancel()
            assert bench.again() == [0]


@cocotb.test()
async def a_cleared_window_begins_with_seq_0(dut):
    bench = await begin(dut, loss=1.0, required=3)
    await bench.idle(TIMEOUT + 20)
    dut.clear.value = 1
    await bench.edge
    dut.clear.value = 0
    await bench.edge
    await bench.edge
    assert dut.used.value == 0
    assert dut.following.value == 0
    count = len(bench.left)
    await bench.idle(3 * TIMEOUT)
    assert len(bench.left) == count, "nothing of before is ordered"


@cocotb.test()
async def an_ack_beside_a_clear(dut):
    """Up to the cycle of clear it is of the turn before; nothing of the new turn has arrived."""
    for base, bitmap, distance in pairs((0, 1), (0b10, 0b111)):
        bench = await begin(dut, loss=1.0, required=3)
        await bench.idle(10)
        bench.running.cancel()
        if distance > 0:
            base = 4  # nothing is under way that it can be about
        said = {"place": 0, "base": base, "bitmap": bitmap}
        dut.ack.value = pack(bench.params.link_ack, said)
        await apart(dut, pulse(dut, "clear"), pulse(dut, "ack_valid"), distance)
        await RisingEdge(dut.clk)
        assert dut.nonsense.value == (distance > 0)
        dut.add.value = 1
        await bench.idle(3)
        dut.add.value = 0
        bench.orders.beats.clear()
        await bench.idle(2 * TIMEOUT + 20)
        assert dut.used.value == 3
        again = [beat["slot"] for beat in bench.orders.beats if beat["again"]]
        assert again == [0, 0, 1, 2]


@cocotb.test()
async def an_ack_of_what_was_never_sent_has_no_effect(dut):
    bench = await begin(dut, loss=1.0, required=2)
    await bench.idle(10)
    for bit in range(32):
        base = max(3, 1 << bit | random.randrange(3))
        before = bench.nonsense
        bench.acknowledge(base, random.getrandbits(bench.width))
        await bench.idle(5)
        assert bench.nonsense == before + 1
        assert dut.used.value == 2
