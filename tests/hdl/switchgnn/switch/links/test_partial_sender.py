"""Tests sums for another switch, from claims to frames, kept, numbered and repeated, at a port."""

import random
from dataclasses import replace
from itertools import product

import cocotb
import numpy as np
import pytest
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.switch.egress.egress_port import EgressPort
from hdl.switchgnn.switch.links.partial_sender import PartialSender
from hdl.switchgnn.switch.sizes import DELIVERY_CYCLES
from sim.harness.bench import Bench
from sim.harness.coincidences import DISTANCES
from sim.harness.payloads import pack
from sim.harness.streams import never, often, rarely, start
from sim.harness.verilator import simulate
from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.window import Window
from sim.switchgnn.wire import from_octets
from tests.hdl.switchgnn.switch.egress.egress_frames import some_sum
from tests.hdl.switchgnn.switch.sizes import TINY

TIMEOUT = 150
FAR = 3  #: port of the other switch


class LinkOut(Component):
    """Connects a sender and its port, as the switch does."""

    def __init__(self, params):
        members = PartialSender(params).signature.members
        outer = {name: member for name, member in members.items() if not name.startswith("port_")}
        super().__init__(params, **outer, axis=Out(params.frames.axis))
        self.outer = outer

    def build(self, m):
        m.submodules.sender = sender = PartialSender(self.params)
        m.submodules.port = port = EgressPort(self.params)
        connect(m, port.axis, flipped(self.axis))
        for name, member in self.outer.items():
            own, reference = getattr(self, name), getattr(sender, name)
            pairs = zip(own, reference, strict=True) if name == "turns" else [(own, reference)]
            for first, second in pairs:
                m.d.comb += second.eq(first) if member.flow is In else first.eq(second)
        m.d.comb += [
            port.port_bit.eq(1 << FAR),
            port.mark_level.eq(1),  # PARTIALs are not marked, however many wait
            sender.port_open.eq(port.open),
            port.claim.eq(sender.port_claim),
            port.deliver.eq(sender.port_deliver),
            port.delivery.eq(sender.port_delivery),
        ]


@pytest.mark.parametrize(("lanes", "window", "queued"), [(2, 4, 1), (32, 16, 8)])
def test_partial_sender(lanes, window, queued):
    """The port has room for fewer frames than are kept."""
    params = replace(TINY, links=1, lanes=lanes, window=window, slots=64)
    params = replace(params, egress_depth=queued * params.result_beats)
    simulate(LinkOut(params), __name__, registers=["timer"])


class PartialSenderBench(Bench):
    """Delivers sums of open turns as the switch does, and acknowledges as another switch."""

    def __init__(self, dut, *, loss=0.0, stall=never, void=0.0, claims=0.7):
        super().__init__(dut)
        self.loss, self.stall, self.void, self.claims = loss, stall, void, claims
        self.lo = random.getrandbits(31) << 1  # the open turns, as the port is told of them
        self.after, self.two = self.lo + 1, 1
        self.job = random.randrange(self.params.jobs)
        self.epoch = random.getrandbits(16)
        self.oldest = self.lo  # in truth
        self.required = [[], []]  # deliveries that wait, of each place
        self.delivered = {}  # what was, by turn and list
        self.pipeline = [None] * DELIVERY_CYCLES
        self.windows = {}  # of the other switch, by turn
        self.got = {}  # sums by turn and seq
        self.acks, self.frames, self.octets, self.now = [], [], b"", 0
        self.claimed = self.open = False
        self.again = self.voided = 0
        self.seen = set()  # turn and seq of frames that have left
        self.quiet = DELIVERY_CYCLES + 1  # cycles behind the last claim

    @property
    def turns(self):
        """Return the turns at both places, as the judge has them."""
        odd = self.lo % 2
        return self.after if self.two and odd else self.lo, self.lo if odd else self.after

    async def end(self):
        """End the oldest turn: ``clear`` comes a cycle later, the next turn two, its next three."""
        place = self.lo % 2 if self.two else 0
        self.required[place] = []
        self.oldest += 1
        self.acks = [ack for ack in self.acks if ack[1]["place"] != place]
        await self.step()
        self.dut.clear.value = 1 << place
        await self.step()
        self.dut.clear.value = 0
        self.lo += 1
        await self.step()
        self.after += 1

    async def step(self):
        """Play a cycle."""
        dut = self.dut
        # As the schedule of reads: open in the cycle before, in which there was no other claim.
        claim = (
            self.open and not self.claimed and any(self.required) and random.random() < self.claims
        )
        self.pipeline.append(self.read() if claim else None)
        delivery = self.pipeline.pop(0)
        dut.claim.value = int(claim)
        dut.deliver.value = int(delivery is not None)
        if delivery is not None:
            dut.delivery.value = pack(self.params.delivery, delivery)
        (dut.turns_0.value, dut.turns_1.value), dut.two.value = self.turns, self.two
        dut.axis_tready.value = int(not self.stall())
        due = next((ack for ack in self.acks if ack[0] <= self.now), None)
        dut.ack_valid.value = int(due is not None)
        if due is not None:
            self.acks.remove(due)
            dut.ack.value = pack(self.params.link_ack, due[1])
        await self.edge
        self.now += 1
        self.check_urgent()
        self.open, self.claimed = bool(dut.open.value), claim
        self.quiet = 0 if claim else self.quiet + 1
        self.again += int(dut.again.value)
        assert not dut.nonsense.value
        if dut.axis_tvalid.value and dut.axis_tready.value:
            self.octets += int(dut.axis_tdata.value).to_bytes(BEAT_BYTES, "little")
            if dut.axis_tlast.value:
                self.left(from_octets(self.octets, self.params.lanes))
                self.octets = b""

    def check_urgent(self):
        """If nothing is claimed for, all that is kept has left or is about to."""
        left = all((turn, lists) in self.seen for turn, lists in self.delivered)
        if self.quiet <= DELIVERY_CYCLES:
            assert not self.dut.urgent.value
        elif self.quiet > DELIVERY_CYCLES + 2 and left:
            assert self.dut.urgent.value

    def read(self):
        """Return what a claim is for: a sum, nothing, or a sum of a turn that is not open."""
        place = random.choice([k for k in range(2) if self.required[k]])
        if random.random() < self.void:
            self.voided += 1
            other = self.required[place][0]["turn"] ^ 1 << random.randrange(1, 32)
            return random.choice((None, self.required[place][0] | {"turn": other}))
        delivery = self.required[place].pop(0)
        self.delivered[delivery["turn"], delivery["list"]] = delivery
        return delivery

    def need(self, place, count):
        """Complete sums of the turn at a place."""
        params = self.params
        for _ in range(count):
            named = {"raw": 0, "job": self.job, "epoch": self.epoch, "turn": self.turns[place]}
            named["list"] = random.getrandbits(32)
            sums = [some_sum() for _ in range(params.lanes)]
            rest = {"source": 0, "sums": sums, "partial": 0, "seq": 0}
            self.required[place].append(named | rest)

    def left(self, frame):
        """A frame has left: it says what one delivery did, whenever and however often it comes."""
        assert frame.kind is Kind.PARTIAL
        named = (frame.bm, frame.job, frame.epoch, frame.ecn)
        assert named == (1 << FAR, self.job, self.epoch, False)
        self.frames.append(frame)
        self.seen.add((frame.turn, frame.list))
        right = self.delivered[frame.turn, frame.list]
        assert np.array_equal(frame.payload, np.array(right["sums"], "<i4"))
        if random.random() < self.loss:
            return
        window = self.windows.get(frame.turn, Window())
        assert window.holds(frame.seq, self.params.link_window)
        before = self.got.setdefault((frame.turn, frame.seq), frame.list)
        assert before == frame.list, "a seq is one sum's"
        self.windows[frame.turn] = window = window.marked(frame.seq)
        if random.random() >= self.loss and frame.turn >= self.oldest:
            place = frame.turn % 2 if self.two else 0
            bitmap = window.ahead & (1 << self.params.link_window) - 1
            ack = {"place": place, "base": window.base, "bitmap": bitmap}
            self.acks.append((self.now + random.randrange(4, 20), ack))

    async def until_all(self, most=30_000):
        """Run until all that is wanted of the open turns has arrived, once each."""
        for _ in range(most):
            await self.step()
            of = [lists for (turn, lists) in self.delivered if turn in self.turns]
            got = [lists for (turn, _), lists in self.got.items() if turn in self.turns]
            if not any(self.required) and not any(self.pipeline) and sorted(got) == sorted(of):
                for turn in self.turns:  # no sum of another turn has taken a number of this one
                    seqs = sorted(seq for of_turn, seq in self.got if of_turn == turn)
                    assert seqs == list(range(len(seqs)))
                return
        raise AssertionError(f"{len(self.got)} of {len(self.delivered)} have arrived")

    async def idle(self, cycles):
        """Let some cycles pass."""
        for _ in range(cycles):
            await self.step()


def always():
    """Stall always: the port takes nothing."""
    return True


async def begin(dut, **options):
    bench = PartialSenderBench(dut, **options)
    dut.axis_tready.value = 1
    await start(dut)
    bench.set(active=1, timeout=TIMEOUT)
    await bench.idle(12)
    return bench


@cocotb.test()
async def all_arrive_once_on_a_good_link(dut):
    bench = await begin(dut, claims=1.0)
    bench.need(0, 40)
    began = bench.now
    await bench.until_all()
    frames = [frame.seq for frame in bench.frames]
    assert frames == list(range(40))
    assert not bench.again
    beats = bench.params.result_beats
    if bench.params.link_window > 12:  # covers the way there and back
        assert bench.now - began <= 40 * beats + 60


@cocotb.test()
async def all_arrive_once_on_bad_links(dut):
    for stall in (never, rarely, often):
        bench = await begin(dut, loss=0.3, stall=stall, void=0.2)
        bench.need(0, 60)
        bench.need(1, 60)
        await bench.until_all()
        assert bench.again
        assert bench.voided


@cocotb.test()
async def turns_end_and_others_follow(dut):
    """What was kept of a turn that ends is not sent under the name of the next one at its place.

    Sums of the other turn go on being delivered meanwhile, and none of them is lost.
    """
    for two in (1, 0):
        bench = await begin(dut, loss=0.3, void=0.1, stall=often)
        bench.two = two
        for _ in range(16):
            oldest = bench.lo % 2 if two else 0
            bench.need(oldest, random.randrange(20))
            await bench.until_all()
            bench.need(oldest, 3)  # some are delivered when their turn is over
            if two:
                bench.need(1 - oldest, 20)
            await bench.idle(random.randrange(12))
            await bench.end()
            if two:
                await bench.until_all()
            await bench.idle(12)


@cocotb.test()
async def nothing_is_kept_without_a_job(dut):
    for place in (0, 1):
        bench = await begin(dut, loss=1.0)
        bench.need(place, 3)
        await bench.idle(60)
        assert bench.frames
        dut.active.value = 0
        await bench.idle(60)
        count = len(bench.frames)
        await bench.idle(4 * TIMEOUT)
        assert len(bench.frames) == count


@cocotb.test()
async def a_turn_that_ends_makes_room(dut):
    """The room is there three cycles later, at either place."""
    for place in (0, 1):
        bench = await begin(dut, loss=1.0)
        bench.need(place, bench.params.link_window)
        await bench.idle(12 * bench.params.link_window)
        assert not any(bench.required)
        assert not dut.open.value
        dut.clear.value = 1 << place
        await bench.step()
        dut.clear.value = 0
        for _ in range(3):
            assert not bench.open
            await bench.step()
        assert bench.open


@cocotb.test()
async def a_turn_ends_beside_a_claim_and_an_ack(dut):
    """All three come in one cycle, or a cycle before or behind each other.

    An ACK of the turn that ended acknowledges no sum of the next one, and a claim of the other
    turn counts.
    """
    for place, claimed, acked in product((0, 1), DISTANCES, DISTANCES):
        bench = await begin(dut, loss=1.0, claims=1.0)
        bench.lo, bench.after, bench.oldest = (n + place for n in (bench.lo, bench.after, bench.lo))
        bench.need(place, 3)
        await bench.idle(60)
        base = random.choice((0, 3))
        ack = {"place": place, "base": base, "bitmap": 0b111 if base == 0 else 0}
        bench.oldest += 1
        for now in range(-1, 3):
            dut.clear.value = (now == 0) << place
            if now == claimed:
                bench.need(1 - place, 1)
            if now == acked:
                bench.acks.append((bench.now, ack))
            await bench.step()
            assert now != claimed or bench.claimed
            bench.lo += now == 0
            bench.after += now == 1
        bench.need(place, 3)
        await bench.idle(60)
        bench.loss = 0.0
        await bench.until_all(4 * TIMEOUT)
        await bench.idle(60)
        bench.loss, window = 1.0, bench.params.link_window
        bench.need(1 - place, window + 2)
        await bench.idle(12 * window)
        assert len(bench.required[1 - place]) == 2


@cocotb.test()
async def opens_while_both_windows_have_room(dut):
    """Both have room for one more than all that is kept and claimed for.

    A claim counts for both until a cycle after its sum is kept. Resets come amid claims, too.
    """
    for steps in [300, random.randrange(60)] * 8:
        bench = await begin(dut, loss=1.0)
        dut.timeout.value = (1 << 32) - 1
        for place in random.choice([(0,), (1,), (0, 1)]):
            bench.need(place, 20)
        claims, stored, before, golden = [0] * (DELIVERY_CYCLES + 1), {}, 0, True
        for _ in range(steps):
            coming = bench.pipeline[0]
            await bench.step()
            assert bench.open == golden
            claims = [int(bench.claimed), *claims[: DELIVERY_CYCLES + 1]]
            golden = before + sum(claims) < bench.params.link_window
            before = max(stored.values(), default=0)
            if coming is not None:
                stored[coming["turn"]] = stored.get(coming["turn"], 0) + 1
        assert steps < 300 or max(stored.values()) == bench.params.link_window


@cocotb.test()
async def turns_take_turns(dut):
    """When a full port opens, sums of both turns that wait leave in turn."""
    for first in (0, 1):
        bench = await begin(dut, loss=1.0, stall=always)
        dut.timeout.value = (1 << 32) - 1
        count = bench.params.link_window - 1
        for place in (first, 1 - first):
            bench.need(place, count)
            await bench.idle(24 * count)
            assert not any(bench.required)
        assert not bench.frames
        for _ in range(DELIVERY_CYCLES):
            assert not dut.urgent.value, "some have not been ordered yet"
            await bench.step()
        bench.stall = never
        await bench.idle(4 * count * bench.params.result_beats + 60)
        result = [frame.turn % 2 for frame in bench.frames]
        queued = result.index(1 - first)  # by the port, before there was another turn's
        assert queued < count
        golden = queued * [first] + (count - queued) * [1 - first, first] + queued * [1 - first]
        assert result == golden


@cocotb.test()
async def the_time_until_a_repeat_has_all_bits(dut):
    for place in (0, 1):
        bits = random.getrandbits(32)
        for timeout in (bits, bits ^ (1 << 32) - 1):
            timeout = max(timeout, 300)
            bench = await begin(dut, loss=1.0)
            dut.timeout.value = timeout
            bench.need(place, 1)
            await bench.idle(40)
            getattr(dut.sender, f"window_{place}").timer.value = timeout - 130
            await bench.idle(120)
            assert len(bench.frames) == 1
            await bench.idle(40)
            assert len(bench.frames) == 2
            assert bench.again == 1


@cocotb.test()
async def an_ack_of_what_was_never_sent_is_nonsense(dut):
    bench = await begin(dut, loss=1.0)
    for place in (0, 1):
        bench.need(place, 2)
    await bench.idle(60)
    for _ in range(40):
        place, sent = random.getrandbits(1), random.getrandbits(1)
        base = 0 if sent else max(3, 1 << random.randrange(32))
        dut.ack.value = pack(bench.params.link_ack, {"place": place, "base": base, "bitmap": 0})
        dut.ack_valid.value = 1
        await bench.edge
        dut.ack_valid.value = 0
        said = 0
        for _ in range(4):
            await bench.edge
            said += int(dut.nonsense.value)
        assert said == 1 - sent


@cocotb.test()
async def a_link_that_acknowledges_nothing_closes_the_port(dut):
    """The window fills, and other complete sums wait for it; then all arrive."""
    bench = await begin(dut, loss=1.0)
    bench.need(1, bench.params.link_window + 10)
    await bench.idle(3 * TIMEOUT)
    assert len(bench.required[1]) == 10
    assert not dut.open.value
    bench.loss = 0.0
    await bench.until_all()
