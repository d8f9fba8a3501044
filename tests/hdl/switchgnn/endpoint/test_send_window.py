"""Tests the window of the turn that is sent, with frames and ACKs that are lost or late."""

import random
from collections import deque
from dataclasses import replace

import cocotb

from hdl.switchgnn.endpoint.bundles import ACKNOWLEDGEMENT, UNDER_WAY
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.send_window import SendWindow
from sim.harness.bench import Bench
from sim.harness.coincidences import apart, pairs, pulse
from sim.harness.payloads import pack
from sim.harness.streams import Monitor, crossed, cycle, never, often, rarely, start, started
from sim.switchgnn.golden.window import Window
from tests.simulated import simulated

TIMEOUT = 60
ACK_LAG = 4  # cycles from an ACK to the first order that knows of it


COUNTS = ("base", "following", "sent", "mark")  #: registers with numbers of frames


SIZES = {str(width): replace(PRESETS["tiny"], window=width) for width in (4, 127, 128)}

test_send_window = simulated(SendWindow, SIZES, __name__, registers=[*COUNTS, "timer"])


class SendWindowBench(Bench):
    """Plays the rest of the sender, a network and a switch: frames are lost, ACKs late or lost."""

    def __init__(self, dut, *, loss=0, stall=never, latency=5, late=False, answers=True):
        super().__init__(dut, timeout=TIMEOUT)
        self.width = self.params.window
        self.loss, self.stall, self.latency = loss, stall, latency
        self.late = late  # the base of an ACK is behind what its bitmap says
        self.orders = Monitor(dut, "orders")
        self.leaving = deque()  # orders that were taken, and when they leave
        self.acks = []  # when they come, and what they say
        self.window = Window()  # the switch's
        self.reported = Window()  # by the ACKs that have come
        self.answers, self.manual = answers, []  # ACKs that are not the switch's
        self.by_hand = False  # a test drives the ACKs
        self.under_way, self.hold = 0, False  # orders that have not left; none leaves
        self.offered = None  # cycle from which on an order is there
        self.first = 0  # seq that a turn begins with, of which others count from
        self.left = []  # cycle, seq, again
        self.nonsense = 0  # ACKs that were said to be no switch's
        cocotb.start_soon(self.run())

    async def run(self):
        dut, seen = self.dut, 0
        while True:
            dut.orders_ready.value = not self.stall()
            await self.edge
            if dut.rst.value:
                continue
            ordered = bool(dut.orders_valid.value)
            if not ordered or self.offered is None:
                self.offered = cycle() if ordered else None
            assert dut.idle.value == (not ordered and not self.under_way)
            self.nonsense += bool(dut.nonsense.value)
            self.under_way += ordered and bool(dut.orders_ready.value)
            self.under_way -= bool(dut.left.value)
            for order in self.orders.beats[seen:]:
                order = order | {"seq": order["seq"] - self.first}
                self.judge(**order)
                self.offered = None
                self.leaving.append((cycle() + random.choice([1, 3]), order))
            seen = len(self.orders.beats)
            dut.left.value = 0
            if self.leaving and self.leaving[0][0] <= cycle() and not self.hold:
                order = self.leaving.popleft()[1]
                dut.left.value, dut.left_again.value = 1, order["again"]
                self.arrives(order["seq"])
                self.left.append((cycle(), order["seq"], order["again"]))
                self.last[order["seq"]] = cycle()
            self.acknowledge()

    def judge(self, seq, again):
        """Check that what is ordered now may be ordered.

        It is ordered again a timeout after it left, unless an ACK has told that it is there.
        """
        if again:
            assert seq in self.ordered
            if self.dut.timeout.value == TIMEOUT:  # else a test has set the timer, too
                assert self.offered - self.last[seq] >= TIMEOUT
            reported = self.known.get(seq, self.offered)
            assert self.late or self.offered - reported <= ACK_LAG
        else:
            assert seq == len(self.ordered)
            assert self.reported.holds(seq, self.width)
            self.ordered.append(seq)

    def arrives(self, seq):
        if random.random() >= self.loss and self.window.holds(seq, self.width):
            self.window = self.window.marked(seq)
        due = cycle() + self.latency + random.randrange(3 * self.latency)
        if random.random() >= self.loss:
            self.acks.append((due, self.window))

    def acknowledge(self):
        """Give any of the ACKs that are due; older ones may come after newer ones."""
        if self.by_hand:
            return
        self.dut.ack.value = 0
        if self.manual:
            base, bitmap = self.manual.pop(0)
            said = {"valid": 1, "base": base, "bitmap": bitmap}
            self.dut.ack.value = pack(ACKNOWLEDGEMENT, said)
            return
        if not self.answers:
            return
        if due := [ack for ack in self.acks if ack[0] <= cycle()]:
            ack = random.choice(due)
            self.acks.remove(ack)
            window = ack[1]
            room = min(window.base, self.width - window.ahead.bit_length())
            base = window.base - random.randint(0, min(2, room)) * self.late
            bitmap = window.arrived >> base & (1 << 128) - 1
            said = {"valid": 1, "base": self.first + base, "bitmap": bitmap}
            self.dut.ack.value = pack(ACKNOWLEDGEMENT, said)
            self.reported = self.reported.acknowledged(window.base, window.ahead)
            self.known |= {
                k: cycle() for k in self.ordered if self.reported.has(k) > (k in self.known)
            }

    async def begin(self, sends, first=0):
        self.window = self.reported = Window()
        self.ordered, self.acks, self.last, self.known = [], [], {}, {}
        self.left.clear()
        self.first = first
        self.dut.sends.value, self.dut.begin.value = first + sends, 1
        await self.edge
        if first:
            for name in COUNTS:
                getattr(self.dut, name).value = first
        self.dut.begin.value, self.dut.sends.value = 0, random.getrandbits(32)
        self.began = cycle()
        await self.edge

    async def sent(self, count):
        """Wait until so many frames of the turn have left."""
        while len(self.left) < count:
            await self.edge

    async def ends(self):
        while not (self.dut.acknowledged.value and self.dut.idle.value):
            await self.edge
        assert not self.under_way


@crossed(loss=[0, 0.1, 0.4], stall=[never, often], late=[False, True])
async def all_frames_arrive(dut, loss, stall, late):
    """ACKs are lost, old, or of a base that lags; those that no switch sends have no effect."""
    bench = await started(SendWindowBench(dut, loss=loss, stall=stall, late=late))
    wrong = 0
    for sends in (1, 0, 3, bench.width, 5 * bench.width):
        await bench.begin(sends)
        for base in random.sample((sends + 1, 1 << 31, (1 << 32) - 1), random.randrange(4)):
            bench.manual.append((base, random.getrandbits(128)))
            wrong += 1
            await bench.wait(random.choice((6, TIMEOUT)))
        await bench.ends()
        assert len(bench.ordered) == sends
        assert bench.window.base == sends
        assert not dut.full.value
        if loss == 0 and not late:
            assert not any(again for _, _, again in bench.left)
    assert bench.nonsense == wrong


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def frames_are_counted_in_every_bit(dut):
    """Sends the last few frames of turns of any length, often near a power of two."""
    bench = await started(SendWindowBench(dut, loss=0.3))
    firsts = [(1 << bit) - random.randrange(1, 6) for bit in range(3, 32)]
    firsts += [random.randrange(1 << 32) - 50 for _ in range(5)]
    for first in firsts:
        await bench.begin(sends := random.randrange(8, 20), first)
        await bench.ends()
        assert bench.window.base == sends
        # That more has come than was ordered, as no switch says, changes nothing.
        bench.manual.append((first + sends, 1))
        await bench.wait(6)
        assert dut.acknowledged.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_a_bitmap_says_counts_at_any_base(dut):
    bench = await started(SendWindowBench(dut, answers=False))
    for first in [*((1 << bit) - 5 for bit in range(3, 33)), 0xAAAAAAA0, 0x55555550]:
        await bench.begin(4, first)
        await bench.sent(4)
        bench.manual.append((first, 0b1010))
        await bench.wait(6)
        bench.left.clear()
        await bench.wait(4 * TIMEOUT)  # once frame 0, which the timer began with, then both
        assert {seq for _, seq, _ in bench.left} == {0, 2}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def repeats_after_the_timeout(dut):
    """It repeats to the cycle, whatever the bits of the timeout are."""
    bench = await started(SendWindowBench(dut, answers=False))
    await bench.begin(1)
    await bench.sent(1)
    delays = set()
    for bit in range(6, 32):
        for timeout in (1 << bit, random.getrandbits(32) & (1 << bit) - 1 | 1 << bit):
            await bench.until("idle", 1)
            dut.timeout.value, dut.timer.value = timeout, timeout - (1 << bit)
            ordered = len(bench.orders.beats)
            await bench.wait(20)
            assert len(bench.orders.beats) == ordered
            dut.timer.value, began = timeout - 5, cycle()
            await bench.wait(20)
            assert bench.orders.beats[ordered:] == [{"seq": 0, "again": 1}]
            delays.add(bench.orders.cycles[-1] - began)
    assert len(delays) == 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def orders_a_frame_a_cycle(dut):
    bench = await started(SendWindowBench(dut))
    await bench.begin(bench.width)
    await bench.ends()
    first = bench.began + SendWindow.latency
    assert bench.orders.cycles == list(range(first, first + bench.width))


@cocotb.test(timeout_time=100, timeout_unit="us")
async def the_window_fills_and_is_repeated(dut):
    """Unanswered, it orders nothing new, but the first frame again, then all once a timeout."""
    bench = await started(SendWindowBench(dut, answers=False))
    await bench.begin(2 * bench.width)
    await bench.wait(6 * TIMEOUT + 10 * bench.width)
    assert dut.full.value
    seqs = [(seq, again) for _, seq, again in bench.left]
    once = [(seq, 0) for seq in range(bench.width)]
    again = [(seq, 1) for seq in range(bench.width)]
    news = [seq for seq in seqs if not seq[1]]
    assert news == once
    repeats = [seq for seq in seqs if seq[1]]
    assert repeats[: 1 + bench.width] == again[:1] + again
    assert set(repeats) == set(again)
    when = [moment for moment, _, again in bench.left if again]
    # The timer runs from the first frame's leaving, then from the last of a round.
    assert TIMEOUT < when[0] - bench.left[0][0] < TIMEOUT + bench.width + 10
    assert TIMEOUT < when[1] - when[0] < TIMEOUT + 10
    assert when[bench.width] - when[1] < 3 * bench.width
    bench.answers = True
    await bench.ends()
    assert bench.window.base == 2 * bench.width


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_end_abandons(dut):
    """Nothing new is ordered after an end; the next turn begins at seq 0."""
    bench = await started(SendWindowBench(dut, stall=rarely, answers=False))
    for _ in range(20):
        await bench.begin(10 * bench.width)
        await bench.wait(random.randrange(3 * TIMEOUT))
        await bench.strobe(end=1)
        ordered = len(bench.orders.beats)
        await bench.until("idle", 1)
        assert len(bench.orders.beats) <= ordered + 2
        await bench.wait(2 * TIMEOUT)
        assert not dut.orders_valid.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_ack_beside_a_begin(dut):
    """Up to the cycle of begin it is of the turn before, and changes nothing of the new one."""
    bench = await started(SendWindowBench(dut))
    await bench.begin(1)  # before the first turn no ACK is about one
    await bench.ends()
    for base, bitmap, distance in pairs((0, 1), (0b10, 0b111)):
        bench.answers, bench.by_hand = False, True
        said = {"valid": 1, "base": base, "bitmap": bitmap}
        if distance > 0:  # nothing is under way that it can be about
            said = {"valid": 1, "base": 3, "bitmap": 0}
        ack = pulse(dut, "ack", pack(ACKNOWLEDGEMENT, said))
        before = bench.nonsense
        await apart(dut, lambda: cocotb.start_soon(bench.begin(3)), ack, distance)
        await bench.sent(6)
        assert [seq for _, seq, _ in bench.left] == [0, 1, 2, 0, 0, 1]
        assert bench.nonsense - before == (distance > 0)
        bench.answers, bench.by_hand = True, False
        await bench.ends()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_ack_beside_a_lookup(dut):
    """At any distance, each frame that it leaves missing is ordered again in that round, once."""
    bench = await started(SendWindowBench(dut, answers=False))
    bench.by_hand, dut.timeout.value = True, TIMEOUT + 1
    ack = pulse(dut, "ack", pack(ACKNOWLEDGEMENT, {"valid": 1, "base": 1, "bitmap": 0b10}))
    for distance in range(1, 12):  # the frames are looked up from 2 cycles on, one in two cycles
        await bench.begin(4)
        await bench.sent(5)  # the first one again: the others had not left
        await bench.wait(10)
        ordered = len(bench.orders.beats)
        await apart(dut, lambda: setattr(dut.timer, "value", TIMEOUT + 1), ack, distance)
        await bench.wait(TIMEOUT // 2)
        again = [order["seq"] for order in bench.orders.beats[ordered:]]
        assert [seq for seq in again if seq in (1, 3)] == [1, 3]
        await bench.strobe(end=1)
        await bench.until("idle", 1)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_base_that_moves_puts_it_off(dut):
    """The base moves frame by frame, with less than a timeout between."""
    bench = await started(SendWindowBench(dut, answers=False))
    await bench.begin(count := min(bench.width, 10))
    await bench.sent(count)
    for base in range(1, count):
        bench.manual.append((base, 0))
        await bench.wait(TIMEOUT - 3)
    assert len(bench.left) == count
    await bench.wait(20)
    assert len(bench.left) == count + 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def repeats_are_waited_for(dut):
    """While repeats are under way nothing is repeated again, however many there are."""
    bench = await started(SendWindowBench(dut, answers=False))
    await bench.begin(bench.width)
    await bench.sent(bench.width + 1)  # the oldest one again: the others had not left
    missing = set(range(bench.width))
    for count in sorted((1 << bits for bits in range(bench.width.bit_length())), reverse=True):
        missing = {0, *random.sample(sorted(missing - {0}), count - 1)}
        bench.manual.append((0, sum(1 << seq for seq in range(bench.width) if seq not in missing)))
        while not dut.idle.value or bench.manual:
            await bench.edge
        bench.hold, ordered = True, len(bench.orders.beats)
        await bench.wait(3 * TIMEOUT + 4 * bench.width)
        again = [{"seq": seq, "again": 1} for seq in sorted(missing)]
        assert bench.orders.beats[ordered:] == again
        bench.hold = False


@cocotb.test(timeout_time=100, timeout_unit="us")
async def any_number_may_be_under_way(dut):
    """Frames are even acknowledged before they have left, as no switch does."""
    bench = SendWindowBench(dut, answers=False)
    bench.hold = True
    await start(dut)
    most = 4 * bench.width + 4 * UNDER_WAY - 1
    await bench.begin(most)
    while len(bench.ordered) < most:
        bench.reported = bench.reported.acknowledged(len(bench.ordered), 0)
        bench.manual.append((len(bench.ordered), 0))
        await bench.wait(bench.width)
    bench.manual.append((most, 0))
    bench.hold = False
    await bench.ends()
