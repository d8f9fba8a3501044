import random
from functools import partial

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi import Response
from hdl.common.axi_read_port import AxiPortParams, AxiReadPort
from hdl.common.bus_watch import WATCH
from sim.harness.coincidences import DISTANCES, apart, pulse
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, crossed, never, often
from tests.hdl.common.port_bench import BEAT, LAST_PAGE, QUIET, PortBench
from tests.simulated import simulated

SIZE = AxiPortParams(address_bits=20, data_bits=8 * BEAT, length_bits=8, tag_bits=6, outstanding=8)

test_axi_read_port = simulated(AxiReadPort, [SIZE], __name__)


def reply(data, response, last):
    return {"data": data, "resp": response, "last": int(last)}


class Bench(PortBench):
    """Has a memory whose beats may be given by hand, and what the master and the host see."""

    requests, answering, results = "axi_ar", "axi_r", "beats"
    unrequested = reply(0, Response.OKAY.value, 1)

    def __init__(self, dut, stalls=(never, never)):
        super().__init__(dut, stalls)
        self.axi_ar.add_callback(self.taken)

    def taken(self, burst):
        if self.replies_itself:
            self.answer((burst["addr"], burst["len"]))

    def answer(self, *bursts):
        """Give the beats of bursts."""
        self.replies.extend([beat for burst in bursts for beat in self.beats_of(*burst)])

    def beats_of(self, address, length):
        """Return the beats of a burst, each with its address all over its data."""
        ats = self.addresses(address, length)
        return [reply(self.content(at), self.response(at), at == ats[-1]) for at in ats]

    def expected(self, tag, address, length):
        """Return what the master gets of it."""
        return [
            (tag, int(beat["resp"] != Response.OKAY.value), beat["last"], beat["data"])
            for beat in self.beats_of(address, length)
        ]

    def addresses(self, address, length):
        """Return the addresses of the beats of a burst."""
        return range(address, address + BEAT * (length + 1), BEAT)

    def content(self, at):
        """Return the address, of 20 bits, over and over."""
        return sum(at << 20 * k for k in range(7)) % (1 << 8 * BEAT)

    @property
    def got(self):
        """Return what the master got: tag, whether it failed, whether it is the last, data."""
        result = (beat for beat, _ in self.provided.result)
        return [(beat["tag"], beat["failed"], beat["last"], beat["data"]) for beat in result]

    def issue(self, count, first=0, okay=False):
        """Give bursts; return what is to come of them."""
        expected = []
        for number in range(first, first + count):
            length = 0 if okay else random.randrange(4)
            address = 4 * BEAT * random.randrange(1 << 14) if okay else self.place(length)
            expected.append(self.request_for(number % 64, address, length))
        return expected

    def request_for(self, tag, address, length):
        """Give a burst; return what is to come of it."""
        self.bursts.append({"address": address, "length": length, "tag": tag})
        return self.expected(tag, address, length)

    def all_failed(self, bursts):
        """Whether ``bursts`` are answered by beats that all failed, with their tags."""
        expected = [(tag, 1, last) for burst in bursts for tag, _, last, _ in burst]
        return [beat[:3] for beat in self.got] == expected

    def check(self, provided, *, fails):
        expected = [beat for burst in provided for beat in burst]
        if fails:
            assert self.all_failed(provided)
        else:
            assert self.got == expected
        assert len(self.requested) == len(provided) * (not fails)


@crossed(stalls=STALLS, us=100)
async def every_beat_with_its_burst(dut, stalls):
    """Bursts have any length, tags and all four responses, of which only OKAY is no failure."""
    bench = await Bench(dut, stalls).begin()
    bursts = bench.issue(100)
    lengths = (8, 16, 32, 64, 127, 128, 255)
    bursts += [bench.request_for(length % 64, LAST_PAGE, length) for length in lengths]
    bursts += bench.issue(100, 100)
    await bench.settle(20)
    bench.check(bursts, fails=False)
    assert {failed for burst in bursts for _, failed, *_ in burst} == {0, 1}
    assert bench.bus == QUIET
    assert bench.dropped == 0
    if stalls.absent:
        moved = bench.replies.cycles
        assert [at for _, at in bench.provided.result] == moved
        assert moved[-1] - moved[0] == len(moved) - 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_burst_and_a_beat_a_cycle(dut):
    bench = await Bench(dut).begin()
    bench.open("axi_ar", False)
    expected = bench.issue(1, okay=True)
    await bench.wait(10)
    taken = bench.bursts.cycles[0]
    assert not bench.requested
    bench.open("axi_ar")
    expected += bench.issue(40, 1, okay=True)
    await bench.wait(60)
    bench.check(expected, fails=False)
    assert bench.replies.cycles[-1] - bench.replies.cycles[0] == 40
    assert bench.bursts.cycles[0] - taken == 0
    assert bench.bursts.cycles[-1] - bench.bursts.cycles[1] == 39


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    (
        ("kind", "length"),
        [
            ("short", 3),
            ("long", 0),
            ("long", 3),
            ("no last", 0),
            ("no last", 3),
            ("unrequested", 0),
        ],
    )
)
async def a_wrong_number_of_beats_breaks_the_bus(dut, kind, length):
    """It is never delivered, all that is asked fails at once, and late beats are not taken."""
    bench = await Bench(dut).begin()
    good = bench.issue(2, okay=True)
    await bench.settle(20)
    bench.check(good, fails=False)
    bench.forget()
    bench.replies_itself = False
    requested = 0 if kind == "unrequested" else 3
    bursts = [bench.request_for(k, 4 * BEAT * k, length) for k in range(requested)]
    await bench.wait(20)
    count = {"short": length, "long": length + 2, "no last": length + 1, "unrequested": 1}[kind]
    for k in range(count):
        last = k == count - 1 and kind != "no last"
        bench.replies.append(reply(BEAT * k, bench.response(BEAT * k), last))
    await bench.wait(20)
    assert bench.bus["broken"]
    assert not bench.bus["silent"]
    due = {"short": length - 1, "long": length, "no last": length, "unrequested": 0}[kind]
    stored = [beat for burst in bursts for beat in burst]
    stored = [beat[:3] if k < due else (beat[0], 1, beat[2]) for k, beat in enumerate(stored)]
    assert [beat[:3] for beat in bench.got] == stored
    assert bench.dropped == count - due
    # What comes now fails at once, without a burst.
    more = bench.issue(12, 20)
    await bench.wait(60)
    assert len(bench.requested) == requested
    assert [beat[:3] for beat in bench.got] == stored + [
        (tag, 1, last) for burst in more for tag, _, last, _ in burst
    ]
    # It owes two bursts yet, which nobody may take for later ones.
    if bursts:
        await bench.watch(revive=1)
        assert bench.bus["owes"]
        assert bench.bus["broken"]
        bench.answer(*((4 * BEAT * number, length) for number in (1, 2)))
        await bench.wait(20)
        assert bench.dropped == count - due + 2 * (length + 1)
        # Beats and RLASTs did not end together, so that only time tells whether more comes.
        await bench.tick()
        await bench.watch(revive=1)
        assert bench.bus["broken"]
        await bench.tick()
        assert not bench.bus["owes"]
    await bench.works_again()


@crossed(bursts=[2, 5], at=[0, 2], us=100)
async def beats_behind_an_rlast_too_many_are_waited_for(dut, bursts, at):
    """A host revives in every cycle, and a memory has given a beat with RLAST too many."""
    bench = await Bench(dut).begin()
    bench.replies_itself = False
    for number in range(bursts):
        bench.request_for(number, 4 * BEAT * number, 3)
    await bench.wait(20)
    replies = [beat for burst in bench.requested for beat in bench.beats_of(*burst)]
    replies.insert(at, bench.unrequested)
    bench.set(watch={"revive": 1})
    for beat in replies:
        bench.replies.append(beat)
        await bench.wait(random.choice((1, 10)))
    await bench.wait(20)
    assert bench.bus == QUIET | {"broken": 1, "owes": 1}
    assert bench.dropped == len(replies) - at
    await bench.tick(2)
    assert not bench.bus["owes"]
    await bench.works_again()


@crossed(kind=["no AR", "no R", "in the middle"], us=100)
async def a_memory_that_does_not_answer_is_abandoned(dut, kind):
    bench = await Bench(dut).begin()
    bench.replies_itself = False
    bench.open("axi_ar", kind != "no AR")
    await bench.tick(5)  # nobody waits
    assert bench.bus == QUIET
    bursts = bench.issue(5, okay=True)
    await bench.wait(20)
    answered = int(kind == "in the middle")
    if answered:
        bench.answer(bench.requested[0])
        await bench.wait(20)
        assert bench.got == bursts.pop(0)
        bench.provided.take()
    await bench.tick()
    assert not bench.bus["broken"]
    await bench.tick()
    assert bench.bus == QUIET | {"broken": 1, "silent": 1, "owes": 1}
    await bench.wait(20)
    assert bench.all_failed(bursts)
    bursts += bench.issue(20, 20)  # of four beats at most
    await bench.wait(100)
    assert bench.all_failed(bursts)
    await bench.watch(revive=1)
    assert bench.bus["broken"]
    assert bench.bus["owes"]
    # It comes to itself: what it was asked is answered late, and counted.
    bench.open("axi_ar")
    await bench.wait(20)
    *late, last = bench.requested[answered:]
    assert len(late) == (0 if kind == "no AR" else len(bursts) - 21)
    bench.answer(*late)
    await bench.wait(20)
    await bench.watch(revive=1)
    assert bench.bus["broken"]
    assert bench.bus["owes"]
    bench.answer(last)
    await bench.wait(20)
    assert bench.dropped == len(late) + 1
    assert bench.all_failed(bursts)
    await bench.works_again()


@crossed(counted=["beats", "RLASTs"], us=200)
async def the_bus_owes_up_to_the_last(dut, counted):
    """The most and longest bursts are under way: without RLASTs, or with nothing else."""
    bench = await Bench(dut, (never, often)).begin()
    most = bench.params.outstanding
    for count in (1, 2, 4, most + 3):
        bench.replies_itself = False
        bursts = [bench.request_for(k, LAST_PAGE, 255) for k in range(count)]
        await bench.wait(4 * count + 20)
        await bench.tick(2)
        assert bench.bus["silent"]
        requested = len(bench.requested)
        assert requested == min(count, most + 1)
        last = int(counted == "RLASTs")
        owed = requested if last else 256 * requested
        bench.replies.extend([reply(0, 0, last)] * owed)
        while bench.dropped < owed:
            assert bench.bus["owes"]
            await RisingEdge(dut.clk)
        await bench.tick()
        assert bench.bus["owes"]
        await bench.tick()
        assert not bench.bus["owes"]
        await bench.wait(256 * count)
        assert bench.all_failed(bursts)
        await bench.works_again()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_late_beat_beside_a_tick(dut):
    """R is idle for a period only from a tick behind the last beat to the next tick."""
    bench = await Bench(dut).begin()
    tick = pulse(dut, "watch", pack(WATCH, {"tick": 1}))
    for distance in range(-3, 4):
        bench.replies_itself = False
        bench.request_for(1, 0, 3)
        await bench.wait(20)
        bench.replies.extend([bench.unrequested] * 2)  # RLAST comes too soon
        await bench.wait(20)
        await bench.tick()
        late = partial(bench.replies.append, bench.unrequested)
        at, _ = await apart(dut, tick, late, distance)
        await bench.wait(20)
        more = 2 - (at > bench.replies.cycles[-1])  # ticks until a period is over
        for _ in range(more):
            assert bench.bus["owes"]
            await bench.tick()
        assert not bench.bus["owes"]
        await bench.works_again()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def as_many_bursts_under_way_as_stated(dut):
    bench = await Bench(dut).begin()
    await bench.fills(bench.params.reads)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def revived_or_reset_at_any_moment(dut):
    bench = await Bench(dut).begin()
    for distance in DISTANCES:
        await bench.revived_beside_a_burst(distance)
    await bench.reset_under_traffic()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def whoever_moves_is_not_abandoned(dut):
    """AR or R moves just before, with or after a tick."""
    bench = await Bench(dut).begin()
    bench.replies_itself = False
    bench.open("axi_ar", False)
    await bench.tick()  # nobody waits
    expected = bench.issue(4)
    await bench.wait(20)
    for _ in range(4):
        await bench.tick()
        bench.open("axi_ar")
        await bench.moves("axi_ar")
        bench.open("axi_ar", False)
        await bench.tick()
    for reply_ in [beat for burst in bench.requested for beat in bench.beats_of(*burst)]:
        await bench.tick()
        bench.replies.append(reply_)
        await bench.moves("axi_r")
        await bench.tick()
    await bench.tick(3)
    bench.check(expected, fails=False)
    assert bench.bus == QUIET
