import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi import Burst, Response
from hdl.common.axi_read_port import AxiPortParams
from hdl.common.axi_write_port import AxiWritePort
from hdl.common.bus_watch import BUS
from sim.harness.coincidences import DISTANCES
from sim.harness.payloads import unpack
from sim.harness.streams import STALLS, Source, never, often, start, started
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.port_bench import BEAT, LAST_PAGE, QUIET, PortBench

ALL = (1 << BEAT) - 1  # strobes


def test_axi_write_port():
    params = AxiPortParams(
        address_bits=20, data_bits=8 * BEAT, length_bits=8, tag_bits=6, outstanding=64
    )
    simulate(AxiWritePort(params), __name__)


class Bench(PortBench):
    """Has a memory whose channels are opened and whose answers are given by hand."""

    unasked = Response.OKAY  # an answer that breaks a bus that owes none

    def __init__(self, dut, stalls=(never, never)):
        super().__init__(dut)
        self.params = params_in_simulator(AxiPortParams)
        self.shape = AxiWritePort(self.params).answers.shape()
        self.stall = stalls[1]
        self.open = {"aw": True, "w": True}
        self.asked, self.written = [], []  # what the memory took
        self.replies = deque()  # answers on B
        self.answers, self.bus, self.dropped = [], {}, 0
        self.answers_itself = True
        self.counted = 0
        dut.axi_bvalid.value = 0
        for name in self.open:
            getattr(dut, f"axi_{name}ready").value = 0
        self.bursts = Source(dut, "bursts", stall=stalls[0])
        self.beats = Source(dut, "beats", stall=stalls[0])
        cocotb.start_soon(self.run())

    def taken(self, name, held):
        """Return what moved on a channel; what waits must stay."""
        dut = self.dut
        fields = {"aw": ("addr", "len", "size", "burst"), "w": ("data", "strb", "last")}[name]
        now = None
        if getattr(dut, f"axi_{name}valid").value:
            now = tuple(int(getattr(dut, f"axi_{name}{field}").value) for field in fields)
        assert held.get(name) in (None, now), f"{name} changed or went away while it waited"
        moved = now and getattr(dut, f"axi_{name}ready").value
        held[name] = None if moved else now
        return now if moved else None

    async def run(self):
        dut, edge, held = self.dut, RisingEdge(self.dut.clk), {}
        while True:
            await edge
            if dut.rst.value:
                dut.axi_bvalid.value = 0
                held.clear()
                continue
            self.bus = unpack(BUS, int(dut.bus.value))
            self.dropped += self.bus["dropped"]
            answer = unpack(self.shape, int(dut.answers.value))
            if answer["valid"]:
                self.answers.append((answer["tag"], answer["failed"]))
            assert dut.axi_bready.value
            burst = self.taken("aw", held)
            if burst:
                assert burst[2:] == (4, Burst.INCR.value)
                self.asked.append(burst[:2])
            beat = self.taken("w", held)
            if beat:
                self.written.append(beat)
            whole = min(len(self.asked), sum(last for *_, last in self.written))
            if self.answers_itself and self.counted < whole:
                self.replies.append(self.response(self.asked[self.counted][0]))
                self.counted += 1
            for name, is_open in self.open.items():
                getattr(dut, f"axi_{name}ready").value = is_open and not self.stall()
            reply = self.replies.popleft() if self.replies and not self.stall() else None
            dut.axi_bvalid.value = reply is not None
            dut.axi_bresp.value = (reply or random.choice(list(Response))).value

    def ask(self, count, first=0):
        """Give bursts and their beats; return them as (tag, address, beats)."""
        given = []
        for number in range(first, first + count):
            address = BEAT * random.randrange(1 << 16) + random.randrange(BEAT)
            given.append(self.ask_for(number % 64, address, random.randint(1, 4)))
        return given

    def ask_for(self, tag, address, count):
        """Give a burst of ``count`` beats, of which the first has no strobe and the last all."""
        strobes = [random.getrandbits(BEAT) for _ in range(count)]
        strobes[0], strobes[-1] = 0, ALL
        beats = [(random.getrandbits(8 * BEAT), strobe) for strobe in strobes]
        self.bursts.append({"address": address, "length": count - 1, "tag": tag})
        for k, (word, strobe) in enumerate(beats):
            self.beats.append({"data": word, "strobes": strobe, "last": k == count - 1})
        return tag, address, beats

    def answers_to(self, given):
        return [(tag, int(self.response(at) != Response.OKAY)) for tag, at, _ in given]

    def failures_of(self, given):
        return [(tag, 1) for tag, *_ in given]

    def beats_of(self, given):
        return [
            (word, strobes, int(k == len(data) - 1))
            for _, _, data in given
            for k, (word, strobes) in enumerate(data)
        ]

    def check(self, given, *, fails):
        assert self.answers == (self.failures_of if fails else self.answers_to)(given)
        sent = [] if fails else given
        assert self.asked == [(at, len(data) - 1) for _, at, data in sent]
        assert self.written == self.beats_of(sent)

    def forget(self):
        for seen in (self.answers, self.asked, self.written, self.replies):
            seen.clear()
        self.counted, self.answers_itself = 0, True

    async def works_again(self):
        """Check that, after a revival, bursts have their own answers and no others."""
        await self.watch(revive=1)
        assert self.bus == QUIET
        self.forget()
        given = self.ask(8, 50)
        await self.settle_when(lambda: len(self.answers) >= len(given))
        self.check(given, fails=False)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def every_burst_has_its_answer(dut, stalls):
    """Lengths go up to the longest; of the four responses only OKAY is no failure."""
    bench = await started(Bench(dut, stalls.value))
    given = bench.ask(100)
    given += [bench.ask_for(count % 64, LAST_PAGE, count) for count in (128, 129, 256)]
    given += bench.ask(100, 100)
    while len(bench.answers) < len(given):
        await RisingEdge(dut.clk)
    await bench.settle()
    bench.check(given, fails=False)
    assert bench.bus == QUIET
    assert bench.dropped == 0
    if stalls.none:
        cycles = bench.beats.cycles
        assert cycles[-1] - cycles[0] <= len(bench.written)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(kind=["no burst", "before AW", "before W"])
async def an_answer_that_nobody_waits_for_breaks_the_bus(dut, kind):
    bench = await started(Bench(dut))
    given = bench.ask(5)
    await bench.settle(60)
    assert bench.answers == bench.answers_to(given)
    bench.answers.clear()
    bench.answers_itself = False
    bench.open = {"aw": kind != "before AW", "w": kind != "before W"}
    given = [] if kind == "no burst" else bench.ask(3)
    await bench.settle()
    bench.replies.append(Response.OKAY)
    await bench.settle()
    assert bench.bus["broken"]
    assert not bench.bus["silent"]
    assert bench.dropped == 1
    asked = len(bench.asked)
    given += bench.ask(20, 20)
    await bench.settle(100)
    assert bench.answers == bench.failures_of(given)
    assert len(bench.asked) == asked
    bench.bursts.append({"address": 0, "length": 1, "tag": 1})
    for last in (0, 1):  # it has its answer when the master has given all of it
        assert bench.answers == bench.failures_of(given)
        bench.beats.append({"data": 0, "strobes": ALL, "last": last})
        await bench.settle()
    assert bench.answers == [*bench.failures_of(given), (1, 1)]
    await bench.watch(revive=1)
    assert bench.bus["owes"] == (kind != "no burst")
    assert bench.bus["broken"] == (kind != "no burst")
    bench.open = {"aw": True, "w": True}
    await bench.settle()
    bench.replies.extend([Response.OKAY] * (len(bench.asked) - 5))  # late
    await bench.settle()
    assert bench.dropped == 1 + len(bench.asked) - 5
    await bench.works_again()


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(kind=["no AW", "no W", "W stops", "no B"])
async def a_memory_that_does_not_answer_is_given_up(dut, kind):
    """It gets what was promised, without a strobe; what it answers late is dropped."""
    bench = Bench(dut)
    bench.open = {"aw": kind != "no AW", "w": kind in ("no AW", "no B", "W stops")}
    bench.answers_itself = False
    await start(dut)
    await bench.tick(5)  # nobody waits
    assert bench.bus == QUIET
    given = bench.ask(6)
    if kind == "W stops":
        while len(bench.written) < 3:
            await RisingEdge(dut.clk)
        bench.open["w"] = False
    await bench.settle(40)
    await bench.tick()
    assert not bench.bus["broken"]
    kept = len(bench.written)
    await bench.tick()
    assert bench.bus == {"broken": 1, "silent": 1, "owes": 1, "dropped": 0}
    await bench.settle(40)
    assert bench.answers == bench.failures_of(given)
    more = bench.ask(20, 20)
    await bench.settle(100)
    assert bench.answers == bench.failures_of(given + more)
    await bench.watch(revive=1)
    assert bench.bus == {"broken": 1, "silent": 1, "owes": 1, "dropped": 0}
    # It comes to itself: whole bursts, of which those given up write nothing.
    bench.open = {"aw": True, "w": True}
    await bench.settle(40)
    promised = given if kind != "no AW" else given[:1]
    assert bench.asked == [(at, len(data) - 1) for _, at, data in promised]
    wanted = bench.beats_of(promised)
    assert [last for *_, last in bench.written] == [last for *_, last in wanted]
    offered = kept + (kind in ("no W", "W stops"))  # a beat that waits may not change
    assert bench.written[:offered] == wanted[:offered]
    assert {strobes for _, strobes, _ in bench.written[offered:]} <= {0}
    bench.replies.extend([Response.OKAY] * (len(promised) - 1))
    await bench.settle()
    await bench.watch(revive=1)
    assert bench.bus["broken"]
    bench.replies.append(Response.OKAY)
    await bench.settle()
    assert bench.dropped == len(promised)
    await bench.works_again()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def the_bus_owes_up_to_the_last_answer(dut):
    """As many bursts are under way as can be, or fewer by each power of two."""
    bench = await started(Bench(dut, (never, often)))
    most = bench.params.outstanding
    for count in (*(1 << k for k in range(most.bit_length() - 1)), most + 3):
        bench.answers_itself = False
        bench.answers.clear()
        bench.asked.clear()
        before = bench.dropped
        given = [bench.ask_for(k % 64, LAST_PAGE, 1) for k in range(count)]
        await bench.settle(4 * count + 20)
        await bench.tick(2)
        assert bench.bus["silent"]
        await bench.settle(count + 20)
        assert bench.answers == bench.failures_of(given)
        owed = len(bench.asked)
        assert owed == min(count, most)
        bench.replies.extend([Response.OKAY] * owed)
        while bench.dropped < before + owed:
            assert bench.bus["owes"]
            await RisingEdge(dut.clk)
        assert not bench.bus["owes"]
        await bench.works_again()
    # All was counted: an answer between the next burst's AW and W is one too many.
    bench.open["w"] = False
    bench.ask(1)
    await bench.settle()
    bench.replies.append(Response.OKAY)
    await bench.settle()
    assert bench.bus["broken"]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def revived_or_reset_at_any_moment(dut):
    bench = await started(Bench(dut))
    for distance in DISTANCES:
        await bench.revived_beside_a_burst(distance)
    await bench.reset_under_traffic(bench.bursts, bench.beats)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def whoever_moves_is_not_given_up(dut):
    """AW, W or B moves just before, with or after a tick; a slow master is not the bus's fault."""
    bench = Bench(dut)
    bench.open = {"aw": False, "w": False}
    bench.answers_itself = False
    await start(dut)
    await bench.tick()  # nobody waits
    given = bench.ask(4)
    await bench.settle()
    for name, count in (("aw", 4), ("w", len(bench.beats_of(given)))):
        for _ in range(count):
            await bench.tick()
            bench.open[name] = True
            await bench.moves(name)
            bench.open[name] = False
            await bench.tick()
    for _, at, _ in given:
        await bench.tick()
        bench.replies.append(bench.response(at))
        await bench.moves("b")
        await bench.tick()
    await bench.tick(3)
    assert bench.answers == bench.answers_to(given)
    bench.answers.clear()
    bench.open = {"aw": True, "w": True}
    bench.bursts.append({"address": 0, "length": 1, "tag": 1})
    bench.beats.append({"data": 1, "strobes": ALL, "last": 0})
    await bench.settle()
    await bench.tick(5)
    assert bench.bus == QUIET | {"owes": 1}
    bench.open["w"] = False
    bench.beats.append({"data": 2, "strobes": ALL, "last": 1})
    await bench.settle()
    await bench.tick()
    bench.open["w"] = True
    await bench.settle()
    bench.replies.append(Response.OKAY)
    await bench.settle()
    assert bench.answers == [(1, 0)]
    assert bench.bus == QUIET
