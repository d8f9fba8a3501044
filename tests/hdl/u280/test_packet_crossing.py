import random

import cocotb
from cocotb.triggers import RisingEdge, Timer

from hdl.common.packets import BEAT
from hdl.u280.packet_crossing import PacketCrossing
from sim.harness.streams import never, often
from sim.harness.verilator import simulate
from tests.hdl.common.crossing.clocks import start
from tests.hdl.u280.packet_bench import until

NUMBER_BITS = 40  #: of a packet and its beat
PERIODS = [(3104, 4000), (4000, 3104), (900, 9002)]


def test_packet_crossing():
    simulate(PacketCrossing(), __name__)


class Writer:
    """Sends packets 1, 2, 3, ... of several beats, each with the packet's number and its own.

    As what is before it in a design, it begins a new packet when its clock's domain was reset.
    """

    def __init__(self, side, dut):
        self.side, self.dut = side, dut
        self.lengths, self.words = {}, {}
        self.stops = False
        self.task = cocotb.start_soon(self.run())

    async def run(self):
        number = 0
        while not self.stops:
            number += 1
            self.lengths[number] = random.choice([1, 1, 2, 5, 20])
            await self.send(number, self.lengths[number], often if number % 7 == 0 else never)
            self.dut.i_valid.value = 0

    async def send(self, number, length, stall):
        """Send as far as no reset comes."""
        for beat in range(length):
            last = beat == length - 1
            keep = (1 << random.randrange(1, 65)) - 1 if last else random.getrandbits(64)
            noise = random.getrandbits(BEAT["data"].width - NUMBER_BITS) << NUMBER_BITS
            word = BEAT.const({"data": noise | number << 8 | beat, "keep": keep, "last": last})
            word = word.as_value().value
            self.words[number, beat] = word
            self.dut.i_payload.value = word
            moves = False
            while not moves:
                offers = not stall()
                self.dut.i_valid.value = offers
                await RisingEdge(self.side.clk)
                if self.side.rst.value:
                    return
                moves = offers and self.dut.i_ready.value


class Reader:
    """Keeps the numbers of packets that it took whole, and how many were cut."""

    def __init__(self, side, dut, words):
        self.side, self.dut, self.words = side, dut, words
        self.whole, self.cut, self.beats = [], 0, []
        self.task = cocotb.start_soon(self.run())

    async def run(self):
        while True:
            self.dut.o_ready.value = random.random() < 0.8
            await RisingEdge(self.side.clk)
            if self.side.rst.value:
                self.beats = []
            elif self.dut.o_valid.value and self.dut.o_ready.value:
                self.take(int(self.dut.o_payload.value))

    def take(self, word):
        beat = BEAT.from_bits(word)
        if beat.last and not beat.keep & 1:
            assert self.beats, "a packet ends that has not begun"
            self.cut, self.beats = self.cut + 1, []
            return
        number, place = beat.data % (1 << NUMBER_BITS) >> 8, beat.data & 0xFF
        assert word == self.words[number, place]
        self.beats.append((number, place))
        assert self.beats == [(number, k) for k in range(place + 1)], "packets are mixed"
        if beat.last:
            self.whole.append((number, place + 1))
            self.beats = []


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS, which=["write", "read", "both"])
async def a_reset_cuts_packets_and_never_mixes_them(dut, periods, which):
    dut.i_valid.value = dut.o_ready.value = 0
    write, read = await start(dut, write=periods[0], read=periods[1])
    writer = Writer(write, dut)
    reader = Reader(read, dut, writer.words)
    events = {"dropped": 0, "left": 0}

    async def count(side, name):
        while True:
            await RisingEdge(side.clk)
            events[name] += int(getattr(dut, name).value)

    counting = [cocotb.start_soon(count(s, n)) for s, n in ((write, "dropped"), (read, "left"))]
    for _ in range(25):
        await Timer(random.randrange(1, 60 * max(periods)), unit="ps")
        sides = {"write": [write], "read": [read], "both": [write, read]}[which]
        for side in sides:
            cocotb.start_soon(side.reset(random.choice([1, 2, 3, 8])))
        await Timer(20 * max(periods), unit="ps")
    await Timer(60 * max(periods), unit="ps")
    settled = len(reader.whole)
    await Timer(300 * max(periods), unit="ps")
    writer.stops = True
    await writer.task
    last = max(writer.lengths)
    await until(read, lambda: reader.whole and reader.whole[-1][0] == last)
    # Each as it was sent, in order; and all of them when resets are over.
    assert all(writer.lengths[number] == length for number, length in reader.whole)
    after = [number for number, _ in reader.whole[settled:]]
    assert after == list(range(after[0], last + 1))
    assert len(after) > 10
    if which == "write":
        assert reader.cut > 3
        assert events["left"] == len(reader.whole)
    if which == "read":
        assert events["dropped"] > 3
    for task in (*counting, reader.task):
        task.cancel()


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(periods=PERIODS[:2])
async def only_what_was_under_way_is_cut(dut, periods):
    """A reset between packets costs none; one within a packet costs that one, told once."""
    dut.i_valid.value = 0
    dut.o_ready.value = 1
    write, read = await start(dut, write=periods[0], read=periods[1])
    dropped = []
    taken = []

    async def count():
        while True:
            await RisingEdge(write.clk)
            if dut.dropped.value:
                dropped.append(1)

    async def take():
        while True:
            await RisingEdge(read.clk)
            if dut.o_valid.value and dut.o_ready.value and not read.rst.value:
                taken.append(BEAT.from_bits(int(dut.o_payload.value)))

    async def offer(*lasts):
        for last in lasts:
            word = BEAT.const({"data": last, "keep": (1 << 64) - 1, "last": last})
            dut.i_payload.value = word.as_value().value
            dut.i_valid.value = 1
            await RisingEdge(write.clk)
            while not dut.i_ready.value:
                await RisingEdge(write.clk)
            dut.i_valid.value = 0
        await read.edges(40)
        beats = [(beat.last, beat.keep & 1) for beat in taken]
        taken.clear()
        return beats

    tasks = [cocotb.start_soon(count()), cocotb.start_soon(take())]
    await read.edges(40)
    for side in (read, write):
        for packets in (1, 2):
            assert await offer(0, 0, 1) == [(0, 1), (0, 1), (1, 1)]
            await side.reset(packets)
            await read.edges(40)
        assert await offer(0, 0) == [(0, 1), (0, 1)]
        await side.reset(1)
        await read.edges(20)
        # Who was reset has forgotten; the other is told the end, or gives the rest.
        rest, comes = ((), [(1, 0)]) if side is write else ((0, 0, 1), [])
        assert await offer(*rest) == comes
        assert len(dropped) == 1  # when the reader was reset
        assert await offer(1) == [(1, 1)]
    # A rest that is awaited, and an end that nobody has taken, are forgotten with a reset.
    for side, other in ((read, write), (write, read)):
        assert await offer(0, 0) == [(0, 1), (0, 1)]
        dut.o_ready.value = side is read
        for item in (side, other):
            await item.reset(1)
            await read.edges(40)
        dut.o_ready.value = 1
        assert await offer() == []
        assert await offer(1) == [(1, 1)]
    assert len(dropped) == 1
    for task in tasks:
        task.cancel()
