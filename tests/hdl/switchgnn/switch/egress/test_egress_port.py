"""Tests a port on the way out, at any pace of claims, control frames and the link."""

import random
from dataclasses import replace

import cocotb
import pytest

from hdl.switchgnn.switch.egress.egress_port import EgressPort
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, Source, crossed, never, often, start
from sim.harness.verilator import params_in_simulator
from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.wire import from_octets
from tests.hdl.switchgnn.switch.egress.egress_frames import (
    frame_of_control,
    frame_of_delivery,
    same,
    some_control_frame,
    some_delivery,
)
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=3, lanes=2, window=4, egress_depth=30),
    GnnSwitchParams(ports=3, lanes=16, window=128, egress_depth=16),
    GnnSwitchParams(ports=8, lanes=32, window=32, egress_depth=3),
    GnnSwitchParams(ports=8, lanes=128, window=128, egress_depth=64),
]
BEAT_BYTES = 64
BEHIND = 2  # beats that wait behind the queue when nothing leaves

test_egress_port = simulated(
    EgressPort, SIZES, __name__, ids=lambda params: f"{params.lanes}x{params.egress_depth}"
)


def test_rejects():
    message = "egress_depth must be a whole number from 9 to 65536: 8"
    with pytest.raises(ValueError, match=message):
        GnnSwitchParams(egress_depth=8)


class EgressPortBench(Bench):
    """Claims room and delivers, and looks at what leaves."""

    def __init__(self, dut, *, link=never):
        super().__init__(dut)
        self.link = link
        self.cycle, self.was_open = 0, False
        self.claims = []  # cycles
        self.promised = {}  # by cycle: what comes in it, None for nothing
        self.delivered, self.expected = [], []  # cycle and beats of each delivery; its frame
        self.controls = []  # frames
        self.leaving, self.moved = [], []  # octets of the frame that leaves; cycles of data beats
        self.heads, self.data, self.other = [], [], []  # cycles; frames that left, by way
        self.counts = dict.fromkeys(("sent_results", "sent_raws", "marks"), 0)
        self.urgent_cycles = 0
        self.control = Source(dut, "control")
        for name in ("destination", "source"):
            getattr(dut, name).value = random.getrandbits(48)
        self.bit = 1 << random.randrange(32)
        dut.port_bit.value = self.bit

    async def start(self, mark_level=0):
        self.mark_level = self.dut.mark_level.value = mark_level
        await start(self.dut)
        return self

    def send_control(self):
        fields = some_control_frame(self.params)
        self.controls.append(frame_of_control(fields, self.bit))
        self.control.append(fields)

    async def step(self, *, claims=False, delivery=None):
        """Play a cycle, with a claim if it ``claims`` and may; return whether there was one."""
        dut, params = self.dut, self.params
        claims = claims and self.was_open
        if claims:
            self.claims.append(self.cycle)
            self.promised[self.cycle + EgressPort.delay] = delivery
        arrival = self.promised.pop(self.cycle, None)
        dut.claim.value = int(claims)
        dut.deliver.value = int(arrival is not None)
        bits = (
            pack(params.delivery, arrival) if arrival else random.getrandbits(params.delivery.size)
        )
        dut.delivery.value = bits
        dut.axis_tready.value = int(not self.link())
        await self.edge
        self.watch_urgent()
        self.watch_level()
        self.watch_axis()
        if arrival:
            beats = params.raw_beats if arrival["raw"] else params.result_beats
            self.delivered.append((self.cycle, beats))
            self.expected.append((frame_of_delivery(arrival, self.bit), self.levels()))
        self.was_open = bool(dut.open.value) and not claims
        self.cycle += 1
        return claims

    def levels(self):
        """Return the least and most beats that waited in the queue in the cycle before."""
        since = self.cycle - 2
        entered = sum(min(max(since + 1 - at, 0), beats) for at, beats in self.delivered)
        most = entered - sum(at <= since for at in self.moved)
        return max(0, most - BEHIND), most

    def watch_urgent(self):
        """Check ``urgent``, which tells of the cycle before, when beats may have been past the
        queue.
        """
        urgent = bool(self.dut.urgent.value)
        self.urgent_cycles += urgent
        open_claims = any(
            at < self.cycle <= at + EgressPort.delay + 1 for at in self.claims[-EgressPort.delay :]
        )
        entering = any(at + beats >= self.cycle > at for at, beats in self.delivered[-2:])
        least, most = self.levels()
        if urgent:
            assert not open_claims
            assert not entering
            assert least == 0
        else:
            assert self.cycle < 2 or open_claims or entering or most

    def watch_level(self):
        """Check ``congested``, wherever it is known how many beats waited."""
        least, most = self.levels()
        congested = {0 < self.mark_level < waiting for waiting in (least, most)}
        assert bool(self.dut.congested.value) in congested

    def watch_axis(self):
        dut = self.dut
        for name in self.counts:
            self.counts[name] += int(getattr(dut, name).value)
        if not (dut.axis_tvalid.value and dut.axis_tready.value):
            return
        count = int(dut.axis_tkeep.value).bit_count()
        assert int(dut.axis_tkeep.value) == (1 << count) - 1
        assert not dut.axis_tuser.value
        octets = int(dut.axis_tdata.value).to_bytes(BEAT_BYTES, "little")[:count]
        if not self.leaving:
            self.heads.append(self.cycle)
        self.leaving.append(octets)
        is_data = len(self.leaving[0]) == BEAT_BYTES
        if is_data:
            self.moved.append(self.cycle)
        if dut.axis_tlast.value:
            octets = b"".join(self.leaving)
            for at, name in ((0, "destination"), (6, "source")):
                address = int.from_bytes(octets[at : at + 6], "little")
                assert address == int(getattr(dut, name).value)
            frame = from_octets(octets, self.params.lanes)
            (self.data if is_data else self.other).append(frame)
            self.leaving = []

    async def finish(self):
        """Let all leave; it is what it should be, and it has been counted."""
        self.link = never
        frames = len(self.expected) + len(self.promised) + len(self.controls)
        for _ in range(frames * (self.params.result_beats + 1) + 40):
            await self.step()
        assert not self.promised
        assert not self.leaving
        assert len(self.data) == len(self.expected)
        for frame, (golden, (least, most)) in zip(self.data, self.expected, strict=True):
            if not least <= self.mark_level < most or not self.mark_level:
                assert frame.ecn == bool(self.mark_level and most > self.mark_level)
            assert same(frame, replace(golden, ecn=frame.ecn))
        assert all(same(*pair) for pair in zip(self.other, self.controls, strict=True))
        kinds = [frame.kind for frame in self.data]
        marks = sum(frame.ecn for frame in (*self.data, *self.other))
        golden = (kinds.count(Kind.RESULT), kinds.count(Kind.RAW), marks)
        assert tuple(self.counts.values()) == golden
        return golden


def deep_enough(params):
    """Whether room comes back in time for the next claim at full rate."""
    return params.egress_depth >= params.result_beats + 2 * (EgressPort.delay + 6)


def some(params, *, void=0.1, raw=0.3):
    """Draw what comes after a claim."""
    return None if random.random() < void else some_delivery(params, raw=random.random() < raw)


@crossed(stalls=STALLS)
async def everything_leaves_in_order(dut, stalls):
    """RESULTs, RAWs and control frames leave, whatever is claimed between and never comes."""
    source, link = stalls
    params = params_in_simulator(GnnSwitchParams)
    bench = await EgressPortBench(dut, link=link).start(
        mark_level=random.randint(1, params.egress_depth // 2)
    )
    for _ in range(1500):
        if not source() and random.random() < 0.1:
            bench.send_control()
        await bench.step(claims=not source(), delivery=some(params))
    results, raws, marks = await bench.finish()
    assert min(results, raws) > 10
    assert marks  # of few frames: most ACKs are not congested, and a queue may never be long
    assert len(bench.claims) > results + raws
    assert bench.urgent_cycles


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def results_follow_each_other(dut):
    """Claims are as far apart as a RESULT is long; frames leave without a gap, RAWs with theirs."""
    params = params_in_simulator(GnnSwitchParams)
    beats = params.result_beats
    for raw in (0, 1):
        bench = await EgressPortBench(dut).start()
        for _ in range(30 * beats):
            await bench.step(claims=True, delivery=some_delivery(params, raw=raw))
        await bench.finish()
        latency = EgressPort(params).latency
        first = bench.claims[0] + EgressPort.delay + latency
        assert bench.heads[0] == first
        if deep_enough(params):
            assert bench.claims == [bench.claims[0] + k * beats for k in range(len(bench.claims))]
            assert bench.heads == [first + k * beats for k in range(len(bench.heads))]
            assert len(bench.heads) >= 29


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def room_is_what_there_is(dut):
    """If the link takes nothing, frames fit as there is room; beyond the level, marks show."""
    params = params_in_simulator(GnnSwitchParams)
    beats = params.result_beats
    for raw, void in ((0, False), (1, False), (0, True)):
        level = random.randint(1, params.egress_depth)
        bench = await EgressPortBench(dut, link=lambda: True).start(mark_level=level)
        for k in range((beats + 6) * (params.egress_depth + 9)):
            delivery = None if void else some_delivery(params, raw=raw)
            claims = k % (beats + 6) == 0  # the frame before is in the queue by then
            await bench.step(claims=claims, delivery=delivery)
        size = params.raw_beats if raw else beats
        fit = (params.egress_depth + BEHIND - beats) // size + 1
        assert void or len(bench.claims) == fit
        assert not void or len(bench.claims) > fit
        assert void or not bench.was_open
        await bench.finish()
        waited = [max(0, k * size - BEHIND) for k in range(fit)]
        assert void or [frame.ecn for frame in bench.data] == [beats > level for beats in waited]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def control_frames_pass(dut):
    """One is sent between two RESULTs of a row of them; alone it leaves at once."""
    params = params_in_simulator(GnnSwitchParams)
    bench = await EgressPortBench(dut).start()
    for _ in range(40 * params.result_beats):
        bench.send_control()
        await bench.step(claims=True, delivery=some_delivery(params, raw=0))
    assert len(bench.other) >= len(bench.data)
    if deep_enough(params):
        assert len(bench.other) - len(bench.data) <= EgressPort.delay + 10
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_empties_it(dut):
    params = params_in_simulator(GnnSwitchParams)
    for _ in range(10):
        bench = await EgressPortBench(dut, link=often).start()
        for _ in range(random.randint(1, 100)):
            await bench.step(claims=True, delivery=some(params))
    bench = await EgressPortBench(dut, link=often).start()
    for _ in range(100):
        await bench.step(claims=True, delivery=some(params))
    await bench.finish()
