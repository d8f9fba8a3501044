"""Compares the receiving half with the golden worker, for any frames."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import cocotb
import numpy as np

from hdl.common.packets import BEAT_BYTES
from hdl.switch.frame_filter import Quality as HardwareQuality
from hdl.switchgnn.endpoint.bundles import SLOTS, Verdict
from hdl.switchgnn.endpoint.memory_layouts import ALIGNMENT
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.receiver import Receiver
from sim.golden.job_table import Stranger
from sim.harness.axi_streams import beats_of
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed, cycle, never
from sim.switchgnn.golden.frames import Frame, Kind, Quality
from sim.switchgnn.golden.worker import WorkerModel
from sim.switchgnn.golden.worker_rule import Contribution, Copy, Share, Taken, WorkerSetup
from sim.switchgnn.wire import Addresses, judge, to_octets
from tests.hdl.switchgnn.extremes import some_number
from tests.simulated import simulated

JOB, EPOCH, PORT, TURNS_OF_JOB = 3, 8, 4, 12
OWN = bytes.fromhex("02aabbccdd01")
SIZES = {
    "tiny": PRESETS["tiny"],
    "part of a beat": replace(PRESETS["tiny"], lanes=16, depth=16, copies=32),
    "small": replace(PRESETS["small"], depth=16, copies=64),
    "long": replace(PRESETS["tiny"], lanes=128),
}
NAMES = {
    **{taken: taken.name for taken in Taken},
    Taken.ANSWERED: "ASKED",
    **{stranger: stranger.name for stranger in Stranger},
    **{quality: quality.name for quality in Quality},
}


def to_us():
    """Return our address, and any for the sender."""
    return Addresses(OWN, random.randbytes(6))


test_receiver = simulated(Receiver, SIZES, __name__)


BENCHES = itertools.count()  #: each begins with another slot


class ReceivingBench(Bench):
    """Surrounds the receiver with turns, a memory and a link; a golden worker gets the same."""

    def __init__(self, dut, *, open_turns=2, source=never, sink=never, loses=False):
        settings = {"address": int.from_bytes(OWN, "little"), "worker": 1 << PORT}
        super().__init__(dut, (never, sink), settings=settings | {"job": JOB, "epoch": EPOCH})
        self.axis.stall, self.lookups.stall, self.open_turns = source, never, open_turns
        self.shares = [self.share() for _ in range(TURNS_OF_JOB)]
        setup = WorkerSetup(
            turns=TURNS_OF_JOB,
            window=4,
            open_turns=open_turns,
            share=self.shares.__getitem__,
            payload=lambda turn, seq: np.zeros(self.params.lanes, np.int32),
        )
        self.golden = WorkerModel(setup, PORT, JOB, EPOCH, ready=TURNS_OF_JOB)
        self.expected, self.result = Counter(), Counter()
        self.acks, self.advances, self.news = [], 0, 0
        self.expected_acks, self.expected_lookups = [], []
        #: what turns count from on the wire, where that of the golden worker's job is 0
        self.first = (random.getrandbits(30) << 2) + next(BENCHES) % SLOTS
        self.answered = self.ecn_acks = 0
        self.loses = loses  # frames, for want of room
        self.context = {name: some_number(field.width) for name, field in self.params.context}

    def share(self):
        """Return half of all sums and copies, the first and the last ones among them."""
        aggregators, copies = self.params.aggregators, self.params.copies
        sums = {0, aggregators - 1, *random.sample(range(aggregators), aggregators // 3)}
        sources = {0, copies - 1, *random.sample(range(copies), copies // 3)}
        own = sorted(set(range(copies)) - sources)
        sends = [Contribution(Kind.FEATURE, 0, 1, source) for source in own]
        return Share(sends, sorted(sums), [Copy(source, 1) for source in sorted(sources)])

    async def begin(self):
        await super().begin()
        self.golden.send()  # begins what may begin
        self.say_turns()
        for turn in range(SLOTS - 1):
            await self.load(turn)
        cocotb.start_soon(self.watch())
        return self

    async def missing(self, turn):
        """Return all that is missing of a turn, as one number."""
        bits = 0
        for number in range(self.params.words):
            await self.scan.send_all([number | self.slot(turn) << self.params.word_bits])
            await self.edge
            bits |= int(self.dut.word.value) << 32 * number
        return bits

    def required(self, turn):
        """Return all of a turn, as one number."""
        share, behind = self.shares[turn], 32 * self.params.sum_words
        bits = sum(1 << k for k in share.sums)
        return bits | sum(1 << behind + copy.source for copy in share.copies)

    async def load(self, turn):
        """Give the bitmap of a turn, as the loader does."""
        bits, slot = self.required(turn), self.slot(turn)
        words = [
            {"place": k | slot << self.params.word_bits, "word": bits >> 32 * k & 0xFFFFFFFF}
            for k in range(self.params.words)
        ]
        await self.words.send_all(words)
        await self.strobe(set=1, set_slot=slot, set_missing=bits.bit_count())

    def on_wire(self, turn):
        """Return the number on the wire of a turn of the golden worker's."""
        return (self.first + turn) % (1 << 32)

    def slot(self, turn):
        """Return where a turn's tables are."""
        return self.on_wire(turn) % SLOTS

    def say_turns(self, **changes):
        state = self.golden.state
        begun = max(state.begun - state.lo, 0)
        sending = self.on_wire(max(state.begun - 1, 0))
        turns = {
            "lo": self.slot(state.lo),
            "sending": sending % SLOTS,
            "is_open": sum(
                (state.lo + ahead < TURNS_OF_JOB) << ahead for ahead in range(self.open_turns)
            ),
            "is_loaded": 3,
            "has_begun": (1 << begun) - 1,
            "may_advance": 1,
        }
        lo, following = self.on_wire(state.lo), self.on_wire(state.lo + 1)
        self.set(lo=lo, next=following, sending=sending, turns=turns | changes)
        self.set(context=self.context)

    async def watch(self):
        dut = self.dut
        while True:
            await self.edge
            dut.answered.value = 0
            if self.answered < len(self.beats.beats) and random.random() < 0.3:
                dut.answered.value = 1
                dut.answered_slot.value = self.bursts.beats[self.answered]["tag"]
                self.answered += 1
            events = self.value("events")
            if events["verdict"] is not Verdict.NONE:
                self.result[events["verdict"].name] += 1
            if events["judged"] and events["quality"] is not HardwareQuality.GOOD:
                self.result[events["quality"].name] += 1
            self.result["marks"] += events["marked"]
            self.result["lost"] += events["lost"]
            assert self.loses or not events["lost"]
            self.result["congested"] += int(dut.congested.value)
            self.result["writes wait"] += events["writes_wait"]
            complete = int(dut.complete.value)
            assert not complete & ~int(dut.empty.value)
            for burst in self.bursts.beats[self.answered :]:
                assert not complete >> burst["tag"] & 1
            ack = self.value("ack")
            if ack["valid"]:
                self.acks.append((ack["base"], ack["bitmap"]))
            self.advances += int(dut.advance.value)
            self.news += int(dut.news.value)

    async def send(self, octets, corrupt=False):
        """Send a packet, beat by beat, with its turn as the wire has it."""
        turn = self.on_wire(int.from_bytes(octets[24:28], "little")).to_bytes(4, "little")
        octets = octets[:24] + turn[: len(octets[24:28])] + octets[28:]
        await self.axis.send_all(beats_of(octets, corrupt=corrupt))

    def own(self, kind, turn=0, **fields):
        """Return a frame for the worker under test; sums and features are 0 unless given."""
        if kind in (Kind.RESULT, Kind.RAW):
            fields = {"payload": np.zeros(self.params.lanes, np.int32)} | fields
        return Frame(kind=kind, turn=turn, bm=1 << PORT, job=JOB, epoch=EPOCH, **fields)

    async def send_frames(self, *frames):
        for frame in frames:
            await self.send(to_octets(frame, self.params.lanes, to_us()))

    async def give(self, octets, corrupt=False):
        """Give a packet to both; the golden worker says what becomes of it."""
        arrival = judge(octets, self.params.lanes, OWN, corrupt=corrupt)
        if isinstance(arrival, Frame) and arrival.kind is Kind.ACK and arrival.ecn:
            own = (arrival.job, arrival.epoch, arrival.bm) == (JOB, EPOCH, 1 << PORT)
            self.ecn_acks += own
        before = self.golden.state
        if isinstance(arrival, Frame) and self.is_no_news(arrival):
            self.expected["CLOSED"] += 1
            self.expected["marks"] += arrival.ecn
        else:
            counted = Counter(self.golden.counters)
            self.golden.take(arrival)
            (what,) = self.golden.counters - counted
            name = self.name(what, arrival)
            self.expected[name] += 1
            self.expect(name, arrival, before)
            marked = isinstance(arrival, Frame) and arrival.ecn and not isinstance(what, Stranger)
            self.expected["marks"] += marked
        await self.send(octets, corrupt)
        if self.golden.state.lo != before.lo:  # turns are told a little later, as in the endpoint
            await self.settle()
            self.golden.send()
            self.say_turns()
            if (coming := self.golden.state.lo + SLOTS - 2) < TURNS_OF_JOB:
                await self.load(coming)

    def expect(self, name, frame, before):
        """Note what else a frame causes."""
        if name == "ACKNOWLEDGED" and frame.turn == max(before.begun - 1, 0):
            self.expected_acks.append((frame.seq, frame.bitmap))
        if name == "ASKED":
            lookup = {"answer": 1, "turn": self.on_wire(frame.turn)}
            self.expected_lookups.append(lookup | {"source": frame.source, "raw": frame.raw})

    def is_no_news(self, frame):
        """Whether it is an ADVANCE by several turns, which no switch sends unasked."""
        own = (frame.job, frame.epoch, frame.bm) == (JOB, EPOCH, 1 << PORT)
        return own and frame.kind is Kind.ADVANCE and frame.turn > self.golden.state.lo + 1

    def name(self, what, arrival):
        """Return what the hardware counts it by; never wanted is counted as no longer wanted."""
        params = self.params
        if what is Taken.UNWANTED:
            known = arrival.list < params.aggregators
            if arrival.kind is Kind.RAW or arrival.kind is Kind.RAWFETCH:
                known = arrival.source < params.copies
            if known and arrival.kind in (Kind.RESULT, Kind.RAW):
                return "REPEATED"
            if known and arrival.kind is Kind.RAWFETCH:
                return "ASKED"
        return NAMES[what]

    async def settle(self, cycles=40):
        await super().settle(cycles)

    def some_frame(self):
        """Draw a frame that is ours, or nearly."""
        params, state = self.params, self.golden.state
        kind = random.choice([Kind.RESULT, Kind.RAW] * 5 + [*Kind])
        turn = max(0, state.lo + random.choice([-1, 0, 0, 0, 0, 0, 1, 1, 2]))
        if kind is Kind.ADVANCE:
            turn = state.lo + random.choice([0, 0, 0, 0, 1, 2, 5])
        if random.random() < 0.05:
            turn ^= 1 << random.randrange(32)
        frame, rng = self.own(kind, turn), np.random.default_rng(random.getrandbits(32))
        sums, features = (Kind.RESULT, Kind.PARTIAL), (Kind.RAW, Kind.FEATURE)
        for kinds, half in ((sums, 1 << 31), (features, 1 << 15)):
            if kind in kinds:
                frame = replace(frame, payload=rng.integers(-half, half, params.lanes))
        if kind is Kind.ACK:
            frame = replace(frame, seq=random.randrange(5), bitmap=random.getrandbits(128))
        else:
            odd = random.choice([params.aggregators, 1 << 31, params.copies, (1 << 32) - 1])
            item = random.choice([random.randrange(params.aggregators)] * 9 + [odd])
            source = random.choice([random.randrange(params.copies)] * 9 + [odd])
            frame = replace(frame, list=item, source=source, raw=random.getrandbits(32))
        frame = replace(frame, ecn=random.random() < 0.1)
        if random.random() < 0.1:
            wrong = random.choice([{"job": 2}, {"bm": 1}, {"bm": 3 << PORT}, {"epoch": 7}])
            frame = replace(frame, **wrong)
        return frame

    def some_packet(self):
        octets = to_octets(self.some_frame(), self.params.lanes, to_us())
        kind = random.random()
        if kind < 0.03:
            octets = octets + random.randbytes(random.choice([1, 4, 64, 700]))
        elif kind < 0.06:
            octets = octets[: random.randrange(1, len(octets))]
        elif kind < 0.12:
            at = random.randrange(len(octets))
            octets = octets[:at] + bytes([octets[at] ^ 1 << random.randrange(8)]) + octets[at + 1 :]
        return octets

    def memory(self):
        """Return what was written, by turn's slot and byte."""
        written = {}
        for burst, beat in zip(self.bursts.beats, self.beats.beats, strict=True):
            content = beat["data"].to_bytes(BEAT_BYTES, "little")
            for k in range(BEAT_BYTES):
                if beat["strobes"] >> k & 1:
                    written[burst["tag"], burst["address"] + k] = content[k]
        return written


@crossed(stalls=STALLS, open_turns=[1, 2])
async def takes_what_the_golden_worker_takes(dut, stalls, open_turns):
    source, sink = stalls
    bench = await ReceivingBench(dut, open_turns=open_turns, source=source, sink=sink).begin()
    for _ in range(700):
        await bench.give(bench.some_packet(), random.random() < 0.03)
        if sink is not never:  # the port's buffer holds less than all
            await bench.settle(15)
    await bench.settle()
    waits, congested = bench.result.pop("writes wait"), bench.result.pop("congested")
    assert +bench.result == +bench.expected
    assert bench.acks == bench.expected_acks
    assert bench.lookups.beats == bench.expected_lookups
    assert congested == bench.ecn_acks
    assert not waits or sink is not never
    assert dut.complete.value == dut.empty.value
    assert bench.advances == bench.golden.state.lo
    assert bench.news == len(bench.golden.sums) + len(bench.golden.copies)


@crossed(stalls=STALLS)
async def writes_every_sum_to_its_place(dut, stalls):
    """A turn's sums come in any order, with repeats; it is complete when memory has answered."""
    _, sink = stalls
    bench = ReceivingBench(dut, sink=sink)
    params, rng = bench.params, np.random.default_rng(random.getrandbits(32))
    origin = 1 << params.address_bits - 1  # of the sums; the copies are lower down
    bench.context |= {"sums": origin // ALIGNMENT, "copies": (1 << 14) // ALIGNMENT}
    await bench.begin()
    frames, expected = [], {}
    for turn in range(2):
        places = {}
        for item in bench.shares[turn].sums:
            payload = rng.integers(-(1 << 31), 1 << 31, params.lanes)
            frames.append(bench.own(Kind.RESULT, turn, list=item, payload=payload))
            places[origin + 4 * params.lanes * item] = payload.astype("<i4").tobytes()
        for copy in bench.shares[turn].copies:
            payload = rng.integers(-(1 << 15), 1 << 15, params.lanes)
            frames.append(bench.own(Kind.RAW, turn, source=copy.source, payload=payload))
            at = (1 << 14) + 2 * params.lanes * copy.source
            places[at] = payload.astype("<i2").tobytes()
        for at, content in places.items():
            expected |= {(bench.slot(turn), at + k): byte for k, byte in enumerate(content)}
    random.shuffle(frames)
    left = Counter(frame.turn for frame in frames)
    for frame in frames:
        for turn in +left:
            assert not int(dut.complete.value) >> bench.slot(turn) & 1
        left[frame.turn] -= 1
        await bench.send_frames(*[frame] * random.choice([1, 1, 2]))
        if sink is not never:
            await bench.settle(5)
    await bench.settle()
    both = sum(1 << bench.slot(turn) for turn in range(2))
    while int(dut.complete.value) & both != both:
        await bench.edge
    await bench.edge
    assert bench.answered == len(bench.beats.beats)
    assert bench.result["SUM"] + bench.result["FEATURE"] == len(frames)
    assert bench.memory() == expected


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def nothing_else_is_written(dut):
    """Nothing else is written, though it be as long as a sum."""
    bench = await ReceivingBench(dut).begin()
    for kind in {*Kind} - {Kind.RESULT, Kind.RAW}:
        payload = None
        if kind in (Kind.FEATURE, Kind.PARTIAL):
            payload = np.ones(bench.params.lanes, np.int32)
        frame = bench.own(kind, turn=int(kind is Kind.ADVANCE), payload=payload)
        octets = to_octets(frame, bench.params.lanes, to_us())
        for beats in range(2, 2 + bench.params.sum_beats):
            await bench.send(octets.ljust(BEAT_BYTES * beats, b"\0"))
    await bench.settle()
    assert not bench.bursts.beats
    assert not bench.advances


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_a_beat_every_cycle(dut):
    """Frames come back to back and all are written: memory gets every beat of a payload."""
    bench = await ReceivingBench(dut).begin()
    params, share = bench.params, bench.shares[0]
    payload = np.arange(params.lanes)
    frames = [bench.own(Kind.RESULT, list=k, payload=payload) for k in share.sums]
    await bench.send_frames(*frames)
    ended = cycle()
    await bench.settle()
    assert len(bench.beats.beats) == params.sum_beats * len(frames)
    steps = {b - a for a, b in zip(bench.beats.cycles, bench.beats.cycles[1:], strict=False)}
    assert steps == ({2} if params.sum_beats == 1 else {1, 2})
    assert bench.beats.cycles[-1] - ended < 20


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def memory_holds_frames_up(dut):
    """It is told that memory holds frames up, and nothing is lost."""
    held = True
    bench = await ReceivingBench(dut, sink=lambda: held).begin()
    *items, later = bench.shares[0].sums[:5]
    await bench.send_frames(*(bench.own(Kind.RESULT, list=k) for k in items))
    for _ in range(30):
        await bench.edge
    assert bench.result["writes wait"] >= 20
    held = False
    await bench.settle()
    assert bench.result["SUM"] == len(items)
    assert len(bench.beats.beats) == len(items) * bench.params.sum_beats
    dut.stop.value = 1
    await bench.send_frames(bench.own(Kind.RESULT, list=later))
    await bench.settle()
    assert len(bench.bursts.beats) == len(items) * bench.params.sum_beats
    dut.stop.value = 0
    await bench.settle()
    assert len(bench.beats.beats) == (len(items) + 1) * bench.params.sum_beats


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_frame_without_room_is_lost(dut):
    """It is told that a frame was lost, and all others are taken as they come."""
    held = True
    bench = await ReceivingBench(dut, sink=lambda: held, loses=True).begin()
    items, count = bench.shares[0].sums[:4], bench.params.ingress_beats // 2 + 10
    await bench.send_frames(*(bench.own(Kind.RESULT, list=k) for k in (items * count)[:count]))
    held = False
    await bench.settle(2 * bench.params.ingress_beats)
    assert bench.result["lost"]
    assert bench.result["SUM"] == len(items)
    assert bench.result["REPEATED"] == count - len(items) - bench.result["lost"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def nothing_is_taken_of_a_turn_that_is_not_loaded(dut):
    """A frame comes again when the tables of its turn are there."""
    bench = await ReceivingBench(dut).begin()
    bench.say_turns(is_loaded=2)
    frames = [
        bench.own(Kind.RESULT, list=bench.shares[0].sums[0]),
        bench.own(Kind.RAW, source=bench.shares[0].copies[0].source),
    ]
    for loaded in range(2):
        await bench.send_frames(*frames)
        await bench.settle()
        assert +bench.result == +Counter(UNLOADED=2, SUM=loaded, FEATURE=loaded)
        bench.say_turns()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def tables_wait_for_frames(dut):
    """Words are loaded and scanned while sums and control frames come back to back."""
    bench = ReceivingBench(dut)
    bench.first = 0
    await bench.begin()
    demands, others = bench.own(Kind.RAWFETCH, source=1), bench.own(Kind.ACK, turn=1)
    sums = [bench.own(Kind.RESULT, list=k) for k in bench.shares[0].sums]
    sending = cocotb.start_soon(bench.send_frames(*sums, *[demands, demands, others] * 5))
    for share in itertools.cycle([Share([], [], []), bench.shares[1]]):
        bench.shares[2] = share
        await bench.load(2)
        assert await bench.missing(2) == bench.required(2)
        if sending.done():
            break
    await bench.settle()
    assert bench.result["SUM"] == len(bench.shares[0].sums)
    dut.lookups_ready.value = 0
    bench.lookups.stop()
    await bench.send_frames(demands)
    await bench.settle()
    assert (bench.result["ASKED"], bench.result["UNSENT"]) == (10, 1)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_malformed_result_is_still_missing(dut):
    """Whatever it wrote, the sum is missing, and a later frame takes its place."""
    bench = await ReceivingBench(dut).begin()
    params = bench.params
    item = bench.shares[0].sums[-1]
    frame = bench.own(Kind.RESULT, list=item, payload=np.full(params.lanes, 7))
    octets = to_octets(frame, params.lanes, to_us())
    for length in range(1, len(octets)):
        if length % 8 in (0, 1):
            await bench.send(octets[:length])
    await bench.settle()
    assert {*+bench.result} == {"MALFORMED"}
    for turn in range(SLOTS - 1):
        assert await bench.missing(turn) == bench.required(turn)
    await bench.send(octets)
    await bench.settle()
    assert bench.result["SUM"] == 1
    written = bench.memory()
    assert await bench.missing(0) == bench.required(0) ^ 1 << item
    at = ALIGNMENT * bench.context["sums"] + 4 * params.lanes * item
    slot, whole = bench.slot(0), 1 << params.address_bits
    assert all(
        written[slot, (at + k) % whole] == (7, 0, 0, 0)[k % 4] for k in range(4 * params.lanes)
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_turn_is_over_for_the_very_next_frame(dut):
    """This holds though the frame was compared before the turns moved on."""
    bench = await ReceivingBench(dut).begin()
    over = bench.own(Kind.ADVANCE, turn=1)
    old, new = (bench.own(Kind.RESULT, turn, list=0) for turn in (0, 1))

    async def move_on():
        while not dut.advance.value:
            await bench.edge
        bench.golden.take(over)
        bench.say_turns()

    moved = cocotb.start_soon(move_on())
    demands = bench.own(Kind.RAWFETCH, source=1)
    await bench.send_frames(over, demands, over, old, over, new, old)
    await bench.settle()
    await moved
    assert +bench.result == Counter({"ADVANCED": 1, "CLOSED": 5, "SUM": 1})
    assert bench.advances == 1
