import random
from collections import deque
from functools import partial

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi import Burst, Response
from hdl.common.axi_read_port import AxiPortParams, AxiReadPort
from hdl.common.bus_watch import BUS, WATCH
from sim.harness.coincidences import DISTANCES, apart, pulse
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS, Source, cycle, never, often, start, started
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.port_bench import BEAT, LAST_PAGE, QUIET, PortBench


def test_axi_read_port():
    params = AxiPortParams(
        address_bits=20, data_bits=8 * BEAT, length_bits=8, tag_bits=6, outstanding=8
    )
    simulate(AxiReadPort(params), __name__)


class Bench(PortBench):
    """Has a memory whose beats are given by hand, and what the master and the host see."""

    unasked = (0, Response.OKAY, 1)  # a beat that breaks a bus that owes none

    def __init__(self, dut, stalls=(never, never)):
        super().__init__(dut)
        self.params = params_in_simulator(AxiPortParams)
        self.shape = AxiReadPort(self.params).beats.shape()
        self.stall = stalls[1]
        self.open = True  # AR is taken
        self.answers = True  # R comes for what was taken
        self.asked, self.cycles = [], []  # bursts that were taken
        self.replies = deque()  # beats of R: (data, response, last), or None for a pause
        self.beats, self.bus, self.dropped = [], {}, 0
        dut.axi_rvalid.value = 0
        dut.axi_arready.value = 0
        self.bursts = Source(dut, "bursts", stall=stalls[0])
        cocotb.start_soon(self.run())

    async def run(self):
        dut, edge, waiting = self.dut, RisingEdge(self.dut.clk), None
        while True:
            await edge
            if dut.rst.value:
                waiting, dut.axi_rvalid.value = None, 0
                continue
            self.bus = unpack(BUS, int(dut.bus.value))
            self.dropped += self.bus["dropped"]
            beat = unpack(self.shape, int(dut.beats.value))
            if beat["valid"]:
                self.beats.append((beat["tag"], beat["failed"], beat["last"], beat["data"]))
                self.cycles.append(cycle())
            assert dut.axi_rready.value
            now = None
            if dut.axi_arvalid.value:
                now = int(dut.axi_araddr.value), int(dut.axi_arlen.value)
                assert 1 << int(dut.axi_arsize.value) == BEAT
                assert int(dut.axi_arburst.value) == Burst.INCR.value
            assert waiting in (None, now), "a waiting burst changed or went away"
            waiting = now
            if now and dut.axi_arready.value:
                self.asked.append(now)
                waiting = None
                if self.answers:
                    self.answer(*now)
            dut.axi_arready.value = self.open and not self.stall()
            reply = self.replies.popleft() if self.replies and not self.stall() else None
            dut.axi_rvalid.value = reply is not None
            if reply is not None:
                self.came = cycle() + 1  # of the newest beat
            nothing = (0, random.choice(list(Response)), random.getrandbits(1))
            data, response, last = reply or nothing
            dut.axi_rdata.value = data
            dut.axi_rresp.value = response.value
            dut.axi_rlast.value = last

    def answer(self, address, length):
        """Return the beats of a burst, each with its address all over its data."""
        ats = self.addresses(address, length)
        self.replies.extend((self.content(at), self.response(at), at == ats[-1]) for at in ats)

    def expected(self, tag, address, length):
        """Return what the master gets of it."""
        ats = self.addresses(address, length)
        return [
            (tag, self.response(at) != Response.OKAY, at == ats[-1], self.content(at)) for at in ats
        ]

    def addresses(self, address, length):
        """Return the addresses of the beats of a burst."""
        return range(address, address + BEAT * (length + 1), BEAT)

    def content(self, at):
        """Return the address, of 20 bits, over and over."""
        return sum(at << 20 * k for k in range(7)) % (1 << 8 * BEAT)

    def ask(self, count, first=0, okay=False):
        """Give bursts; return what is to come of them."""
        wanted = []
        for number in range(first, first + count):
            length = 0 if okay else random.randrange(4)
            address = BEAT * (4 if okay else 1) * random.randrange(1 << 14) + random.randrange(BEAT)
            wanted.append(self.ask_for(number % 64, address, length))
        return wanted

    def ask_for(self, tag, address, length):
        """Give a burst; return what is to come of it."""
        self.bursts.append({"address": address, "length": length, "tag": tag})
        return self.expected(tag, address, length)

    def all_failed(self, bursts):
        """Whether ``bursts`` are answered by beats that all failed, with their tags."""
        wanted = [(tag, 1, last) for burst in bursts for tag, _, last, _ in burst]
        return [beat[:3] for beat in self.beats] == wanted

    def check(self, given, *, fails):
        wanted = [beat for burst in given for beat in burst]
        assert self.all_failed(given) if fails else self.beats == wanted
        assert len(self.asked) == (not fails)

    def forget(self):
        for seen in (self.beats, self.asked, self.replies):
            seen.clear()

    async def works_again(self, first=50):
        """Check that, after a revival, bursts have their own beats and no others."""
        self.open = self.answers = True
        await self.watch(revive=1)
        assert self.bus == QUIET
        self.beats.clear()
        wanted = [beat for burst in self.ask(6, first) for beat in burst]
        await self.settle_when(lambda: len(self.beats) >= len(wanted))
        assert self.beats == wanted


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def every_beat_with_its_burst(dut, stalls):
    """Bursts have any length, tags and all four responses, of which only OKAY is no failure."""
    bench = await started(Bench(dut, stalls.value))
    bursts = bench.ask(100)
    lengths = (8, 16, 32, 64, 127, 128, 255)
    bursts += [bench.ask_for(length % 64, LAST_PAGE, length) for length in lengths]
    wanted = [beat for burst in bursts + bench.ask(100, 100) for beat in burst]
    while len(bench.beats) < len(wanted):
        await RisingEdge(dut.clk)
    await bench.settle()
    assert bench.beats == wanted
    assert {failed for _, failed, *_ in wanted} == {0, 1}
    assert bench.bus == QUIET
    assert bench.dropped == 0
    if stalls.none:
        assert bench.cycles[-1] - bench.cycles[0] == len(wanted) - 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_burst_and_a_beat_a_cycle(dut):
    bench = Bench(dut)
    bench.open = False
    await start(dut)
    wanted = bench.ask(1, okay=True)
    await bench.settle(10)
    taken = bench.bursts.cycles[0]
    bench.open = True
    wanted += bench.ask(40, 1, okay=True)
    await bench.settle(60)
    assert bench.beats == [beat for burst in wanted for beat in burst]
    assert bench.cycles[-1] - bench.cycles[0] == 40
    assert bench.bursts.cycles[0] - taken == 0
    assert bench.bursts.cycles[-1] - bench.bursts.cycles[1] == 39


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    (
        ("kind", "length"),
        [("short", 3), ("long", 0), ("long", 3), ("no last", 0), ("no last", 3), ("unasked", 0)],
    )
)
async def a_wrong_number_of_beats_breaks_the_bus(dut, kind, length):
    """It is never delivered, all that is asked fails at once, and late beats are not taken."""
    bench = Bench(dut)
    bench.answers = False
    await start(dut)
    good = bench.ask(2, okay=True)
    await bench.settle()
    for address, burst_length in bench.asked:
        bench.answer(address, burst_length)
    await bench.settle()
    assert bench.beats == [beat for burst in good for beat in burst]
    bench.beats.clear()
    asked = 0 if kind == "unasked" else 3
    bursts = [bench.ask_for(k, 4 * BEAT * k, length) for k in range(asked)]
    await bench.settle()
    count = {"short": length, "long": length + 2, "no last": length + 1, "unasked": 1}[kind]
    for k in range(count):
        last = k == count - 1 and kind != "no last"
        bench.replies.append((BEAT * k, bench.response(BEAT * k), last))
    await bench.settle()
    assert bench.bus["broken"]
    assert not bench.bus["silent"]
    due = {"short": length - 1, "long": length, "no last": length, "unasked": 0}[kind]
    kept = [beat for burst in bursts for beat in burst]
    kept = [beat if k < due else (*beat[:1], 1, beat[2]) for k, beat in enumerate(kept)]
    assert [beat[:3] for beat in bench.beats] == [beat[:3] for beat in kept]
    assert bench.dropped == count - due
    # What comes now fails at once, without a burst.
    asked, before = len(bench.asked), len(bench.beats)
    more = bench.ask(12, 20)
    await bench.settle(60)
    assert len(bench.asked) == asked
    assert [beat[:3] for beat in bench.beats[before:]] == [
        (tag, 1, last) for burst in more for tag, _, last, _ in burst
    ]
    # It owes two bursts yet, which nobody may take for later ones.
    if bursts:
        await bench.watch(revive=1)
        assert bench.bus["owes"]
        assert bench.bus["broken"]
        for number in (1, 2):
            bench.answer(4 * BEAT * number, length)
        await bench.settle()
        assert bench.dropped == count - due + 2 * (length + 1)
        # Beats and RLASTs did not end together, so that only time tells whether more comes.
        await bench.tick()
        await bench.watch(revive=1)
        assert bench.bus["broken"]
        await bench.tick()
        assert not bench.bus["owes"]
    await bench.works_again()


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(bursts=[2, 5], at=[0, 2])
async def beats_behind_an_rlast_too_many_are_waited_for(dut, bursts, at):
    """A host revives in every cycle, and a memory has given a beat with RLAST too many."""
    bench = Bench(dut)
    bench.answers = False
    await start(dut)
    for number in range(bursts):
        bench.ask_for(number, 4 * BEAT * number, 3)
    await bench.settle()
    for address, length in bench.asked:
        bench.answer(address, length)
    bench.replies.insert(at, (0, Response.OKAY, 1))
    replies, bench.replies = bench.replies, deque()
    dut.watch.value = pack(WATCH, {"revive": 1})
    for reply in replies:
        bench.replies.append(reply)
        await bench.settle(random.choice((1, 10)))
    await bench.settle()
    assert bench.bus == {"broken": 1, "silent": 0, "owes": 1, "dropped": 0}
    assert bench.dropped == len(replies) - at
    await bench.tick(2)
    assert not bench.bus["owes"]
    await bench.works_again()


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(kind=["no AR", "no R", "in the middle"])
async def a_memory_that_does_not_answer_is_given_up(dut, kind):
    bench = Bench(dut)
    bench.open, bench.answers = kind != "no AR", False
    await start(dut)
    await bench.tick(5)  # nobody waits
    assert bench.bus == QUIET
    bursts = bench.ask(5, okay=True)
    await bench.settle()
    if kind == "in the middle":
        bench.answer(*bench.asked[0])
        await bench.settle()
        assert bench.beats == bursts.pop(0)
        bench.beats.clear()
    await bench.tick()
    assert not bench.bus["broken"]
    await bench.tick()
    assert bench.bus == {"broken": 1, "silent": 1, "owes": 1, "dropped": 0}
    await bench.settle()
    assert bench.all_failed(bursts)
    bursts += bench.ask(20, 20)  # of four beats at most
    await bench.settle(100)
    assert bench.all_failed(bursts)
    await bench.watch(revive=1)
    assert bench.bus["broken"]
    assert bench.bus["owes"]
    # It comes to itself: what it was asked is answered late, and counted.
    bench.open = True
    await bench.settle()
    late = bench.asked[kind == "in the middle" :]
    assert len(late) == (1 if kind == "no AR" else len(bursts) - 20)
    for address, length in late[:-1]:
        bench.answer(address, length)
    await bench.settle()
    await bench.watch(revive=1)
    assert bench.bus["broken"]
    assert bench.bus["owes"]
    bench.answer(*late[-1])
    await bench.settle()
    assert bench.dropped == len(late)
    assert bench.all_failed(bursts)
    await bench.works_again()


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(counted=["beats", "RLASTs"])
async def the_bus_owes_up_to_the_last(dut, counted):
    """The most and longest bursts are under way: without RLASTs, or with nothing else."""
    bench = await started(Bench(dut, (never, often)))
    most = bench.params.outstanding
    for count in (1, 2, 4, most + 3):
        bench.answers = False
        before = bench.dropped
        bursts = [bench.ask_for(k, LAST_PAGE, 255) for k in range(count)]
        await bench.settle(4 * count + 20)
        await bench.tick(2)
        assert bench.bus["silent"]
        asked = len(bench.asked)
        assert asked == min(count, most + 1)
        owed, reply = {
            "beats": (256 * asked, (0, Response.OKAY, 0)),
            "RLASTs": (asked, (0, Response.OKAY, 1)),
        }[counted]
        bench.replies.extend([reply] * owed)
        while bench.dropped < before + owed:
            assert bench.bus["owes"]
            await RisingEdge(dut.clk)
        await bench.tick()
        assert bench.bus["owes"]
        await bench.tick()
        assert not bench.bus["owes"]
        await bench.settle(256 * count)
        assert bench.all_failed(bursts)
        await bench.works_again()
        bench.beats.clear()
        bench.asked.clear()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_late_beat_beside_a_tick(dut):
    """R is idle for a period only from a tick behind the last beat to the next tick."""
    bench = await started(Bench(dut))
    tick = pulse(dut, "watch", pack(WATCH, {"tick": 1}))
    for distance in range(-3, 4):
        bench.answers = False
        bench.ask_for(1, 0, 3)
        await bench.settle()
        bench.replies.extend([(0, Response.OKAY, 1)] * 2)  # RLAST comes too soon
        await bench.settle()
        await bench.tick()
        late = partial(bench.replies.append, bench.unasked)
        at, _ = await apart(dut, tick, late, distance)
        await bench.settle()
        more = 2 - (at > bench.came)  # ticks until a period is over
        for _ in range(more):
            assert bench.bus["owes"]
            await bench.tick()
        assert not bench.bus["owes"]
        await bench.works_again()
        bench.forget()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def revived_or_reset_at_any_moment(dut):
    bench = await started(Bench(dut))
    for distance in DISTANCES:
        await bench.revived_beside_a_burst(distance)
    await bench.reset_under_traffic(bench.bursts)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def whoever_moves_is_not_given_up(dut):
    """AR or R moves just before, with or after a tick."""
    bench = Bench(dut)
    bench.open = bench.answers = False
    await start(dut)
    await bench.tick()  # nobody waits
    wanted = [beat for burst in bench.ask(4) for beat in burst]
    await bench.settle()
    for _ in range(4):
        await bench.tick()
        bench.open = True
        await bench.moves("ar")
        bench.open = False
        await bench.tick()
    for address, length in bench.asked:
        bench.answer(address, length)
    replies, bench.replies = bench.replies, deque()
    for reply in replies:
        await bench.tick()
        bench.replies.append(reply)
        await bench.moves("r")
        await bench.tick()
    await bench.tick(3)
    assert bench.beats == wanted
    assert bench.bus == QUIET
