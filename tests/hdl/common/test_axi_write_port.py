import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi import Response
from hdl.common.axi_read_port import AxiPortParams
from hdl.common.axi_write_port import AxiWritePort
from sim.harness.coincidences import DISTANCES
from sim.harness.streams import STALLS, crossed, never, often
from tests.hdl.common.port_bench import BEAT, LAST_PAGE, QUIET, PortBench
from tests.simulated import simulated

ALL = (1 << BEAT) - 1  # strobes
SIZE = AxiPortParams(address_bits=20, data_bits=8 * BEAT, length_bits=8, tag_bits=6, outstanding=64)

test_axi_write_port = simulated(AxiWritePort, [SIZE], __name__)


class Bench(PortBench):
    """Has a memory whose channels are opened, and whose answers may be given, by hand."""

    requests, answering, results = "axi_aw", "axi_b", "answers"
    unrequested = {"resp": Response.OKAY.value}

    def __init__(self, dut, stalls=(never, never)):
        super().__init__(dut, stalls)
        self.counted = 0
        for channel in (self.axi_aw, self.axi_w):
            channel.add_callback(self.taken)

    def taken(self, _):
        """Answer the bursts of which all has been taken."""
        whole = min(len(self.requested), sum(beat["last"] for beat in self.axi_w.beats))
        while self.replies_itself and self.counted < whole:
            self.answer(self.response(self.requested[self.counted][0]))
            self.counted += 1

    def answer(self, response=Response.OKAY.value, count=1):
        self.replies.extend([{"resp": response}] * count)

    def open_both(self, aw=True, w=True):
        self.open("axi_aw", aw)
        self.open("axi_w", w)

    def forget(self):
        super().forget()
        self.counted = 0

    @property
    def got(self):
        """Return the tags of what the master was answered, and whether it failed."""
        return [(answer["tag"], answer["failed"]) for answer, _ in self.provided.result]

    @property
    def written(self):
        return [(beat["data"], beat["strb"], beat["last"]) for beat in self.axi_w.beats]

    def issue(self, count, first=0):
        """Give bursts and their beats; return them as (tag, address, beats)."""
        provided = []
        for number in range(first, first + count):
            count = random.randint(1, 4)
            provided.append(self.request_for(number % 64, self.place(count - 1), count))
        return provided

    def request_for(self, tag, address, count):
        """Give a burst of ``count`` beats, of which the first has no strobe and the last all."""
        strobes = [random.getrandbits(BEAT) for _ in range(count)]
        strobes[0], strobes[-1] = 0, ALL
        words = [(random.getrandbits(8 * BEAT), strobe) for strobe in strobes]
        self.bursts.append({"address": address, "length": count - 1, "tag": tag})
        for k, (word, strobe) in enumerate(words):
            self.beats.append({"data": word, "strobes": strobe, "last": k == count - 1})
        return tag, address, words

    def answers_to(self, provided):
        return [(tag, int(self.response(at) != Response.OKAY.value)) for tag, at, _ in provided]

    def failures_of(self, provided):
        return [(tag, 1) for tag, *_ in provided]

    def beats_of(self, provided):
        return [
            (word, strobes, int(k == len(data) - 1))
            for _, _, data in provided
            for k, (word, strobes) in enumerate(data)
        ]

    def check(self, provided, *, fails):
        assert self.got == (self.failures_of if fails else self.answers_to)(provided)
        sent = [] if fails else provided
        assert self.requested == [(at, len(data) - 1) for _, at, data in sent]
        assert self.written == self.beats_of(sent)


@crossed(stalls=STALLS, us=100)
async def every_burst_has_its_answer(dut, stalls):
    """Lengths go up to the longest; of the four responses only OKAY is no failure."""
    bench = await Bench(dut, stalls).begin()
    provided = bench.issue(100)
    provided += [bench.request_for(count % 64, LAST_PAGE, count) for count in (128, 129, 256)]
    provided += bench.issue(100, 100)
    await bench.settle(20)
    bench.check(provided, fails=False)
    assert bench.bus == QUIET
    assert bench.dropped == 0
    if stalls.absent:
        cycles = bench.beats.cycles
        assert cycles[-1] - cycles[0] <= len(bench.written)


@crossed(kind=["no burst", "before AW", "before W"], us=100)
async def an_answer_that_nobody_waits_for_breaks_the_bus(dut, kind):
    bench = await Bench(dut).begin()
    good = bench.issue(5)
    await bench.settle(20)
    bench.check(good, fails=False)
    bench.forget()
    bench.replies_itself = False
    bench.open_both(aw=kind != "before AW", w=kind != "before W")
    provided = [] if kind == "no burst" else bench.issue(3)
    await bench.wait(20)
    bench.answer()
    await bench.wait(20)
    assert bench.bus["broken"]
    assert not bench.bus["silent"]
    assert bench.dropped == 1
    requested = len(bench.requested)
    provided += bench.issue(20, 20)
    await bench.wait(100)
    assert bench.got == bench.failures_of(provided)
    assert len(bench.requested) == requested
    bench.bursts.append({"address": 0, "length": 1, "tag": 1})
    for last in (0, 1):  # it has its answer when the master has given all of it
        assert bench.got == bench.failures_of(provided)
        bench.beats.append({"data": 0, "strobes": ALL, "last": last})
        await bench.wait(20)
    assert bench.got == [*bench.failures_of(provided), (1, 1)]
    await bench.watch(revive=1)
    assert bench.bus["owes"] == (kind != "no burst")
    assert bench.bus["broken"] == (kind != "no burst")
    bench.open_both()
    await bench.wait(20)
    bench.answer(count=len(bench.requested))  # late
    await bench.wait(20)
    assert bench.dropped == 1 + len(bench.requested)
    await bench.works_again()


@crossed(kind=["no AW", "no W", "W stops", "no B"], us=100)
async def a_memory_that_does_not_answer_is_abandoned(dut, kind):
    """It gets what was promised, without a strobe; what it answers late is dropped."""
    bench = await Bench(dut).begin()
    bench.replies_itself = False
    bench.open_both(aw=kind != "no AW", w=kind != "no W")
    await bench.tick(5)  # nobody waits
    assert bench.bus == QUIET
    provided = bench.issue(6)
    if kind == "W stops":
        await bench.axi_w.wait_for(3)
        bench.open("axi_w", False)
    await bench.wait(40)
    await bench.tick()
    assert not bench.bus["broken"]
    stored = len(bench.written)
    await bench.tick()
    assert bench.bus == QUIET | {"broken": 1, "silent": 1, "owes": 1}
    await bench.wait(40)
    assert bench.got == bench.failures_of(provided)
    more = bench.issue(20, 20)
    await bench.wait(100)
    assert bench.got == bench.failures_of(provided + more)
    await bench.watch(revive=1)
    assert bench.bus == QUIET | {"broken": 1, "silent": 1, "owes": 1}
    # It comes to itself: whole bursts, of which those given up write nothing.
    bench.open_both()
    await bench.wait(40)
    promised = provided if kind != "no AW" else provided[:1]
    assert bench.requested == [(at, len(data) - 1) for _, at, data in promised]
    expected = bench.beats_of(promised)
    assert [last for *_, last in bench.written] == [last for *_, last in expected]
    offered = stored + (kind in ("no W", "W stops"))  # a beat that waits may not change
    assert bench.written[:offered] == expected[:offered]
    assert {strobes for _, strobes, _ in bench.written[offered:]} <= {0}
    bench.answer(count=len(promised) - 1)
    await bench.wait(20)
    await bench.watch(revive=1)
    assert bench.bus["broken"]
    bench.answer()
    await bench.wait(20)
    assert bench.dropped == len(promised)
    await bench.works_again()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def the_bus_owes_up_to_the_last_answer(dut):
    """As many bursts are under way as can be, or fewer by each power of two."""
    bench = await Bench(dut, (never, often)).begin()
    most = bench.params.outstanding
    for count in (*(1 << k for k in range(most.bit_length() - 1)), most + 3):
        bench.replies_itself = False
        provided = [bench.request_for(k % 64, LAST_PAGE, 1) for k in range(count)]
        await bench.wait(4 * count + 20)
        await bench.tick(2)
        assert bench.bus["silent"]
        await bench.wait(count + 20)
        assert bench.got == bench.failures_of(provided)
        owed = len(bench.requested)
        assert owed == min(count, most)
        bench.answer(count=owed)
        while bench.dropped < owed:
            assert bench.bus["owes"]
            await RisingEdge(dut.clk)
        assert not bench.bus["owes"]
        await bench.works_again()
    # All was counted: an answer between the next burst's AW and W is one too many.
    bench.open("axi_w", False)
    bench.issue(1)
    await bench.wait(20)
    bench.answer()
    await bench.wait(20)
    assert bench.bus["broken"]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def as_many_bursts_under_way_as_stated(dut):
    bench = await Bench(dut).begin()
    await bench.fills(bench.params.writes)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def revived_or_reset_at_any_moment(dut):
    bench = await Bench(dut).begin()
    for distance in DISTANCES:
        await bench.revived_beside_a_burst(distance)
    await bench.reset_under_traffic()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def whoever_moves_is_not_abandoned(dut):
    """AW, W or B moves just before, with or after a tick; a slow master is not the bus's fault."""
    bench = await Bench(dut).begin()
    bench.replies_itself = False
    bench.open_both(aw=False, w=False)
    await bench.tick()  # nobody waits
    provided = bench.issue(4)
    await bench.wait(20)
    for name, count in (("axi_aw", 4), ("axi_w", len(bench.beats_of(provided)))):
        for _ in range(count):
            await bench.tick()
            bench.open(name)
            await bench.moves(name)
            bench.open(name, False)
            await bench.tick()
    for _, at, _ in provided:
        await bench.tick()
        bench.answer(bench.response(at))
        await bench.moves("axi_b")
        await bench.tick()
    await bench.tick(3)
    bench.check(provided, fails=False)
    assert bench.bus == QUIET
    bench.forget()
    bench.open_both()
    bench.bursts.append({"address": 0, "length": 1, "tag": 1})
    bench.beats.append({"data": 1, "strobes": ALL, "last": 0})
    await bench.wait(20)
    await bench.tick(5)
    assert bench.bus == QUIET | {"owes": 1}
    bench.open("axi_w", False)
    bench.beats.append({"data": 2, "strobes": ALL, "last": 1})
    await bench.wait(20)
    await bench.tick()
    bench.open("axi_w")
    await bench.wait(20)
    bench.answer()
    await bench.wait(20)
    assert bench.got == [(1, 0)]
    assert bench.bus == QUIET
