"""Tests the sending half: orders become frames, others' jobs too, as lists and memory say."""

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import cocotb
import pytest

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.bundles import ACKNOWLEDGEMENT
from hdl.switchgnn.endpoint.memory_layouts import SendRecord
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.sender import SENDER_EVENTS, Sender
from hdl.switchgnn.protocol import Kind, payload_bytes
from sim.harness.axi_streams import PacketSink
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.records import Recorder
from sim.harness.streams import (
    STALLS,
    Stalls,
    crossed,
    cycle,
    edges,
    never,
    often,
    start,
    started,
)
from sim.harness.verilator import simulate
from sim.switchgnn.wire import judge
from tests.hdl.switchgnn.extremes import some_number

ALIGNED = 8  #: beats that the addresses of a context count


@pytest.mark.parametrize(("size", "bits"), [("tiny", 20), ("small", 64), ("full", 34)])
def test_sender(size, bits):
    simulate(Sender(replace(PRESETS[size], address_bits=bits)), __name__)


#: What was drawn last, by name: the next bench has all of its bits inverted.
DRAWN = {}


def draw(name, bits):
    """Draw a number of this many bits: the last one of that name, inverted, if there was one."""
    DRAWN[name] = ~DRAWN.get(name, random.getrandbits(bits)) & (1 << bits) - 1
    return DRAWN[name]


class SendingBench(Bench):
    """Plays memories that hold the host's tables."""

    def __init__(self, dut, *, source=never, sink=never, latency=8, timeout=1 << 20, rate=None):
        super().__init__(dut, (often, source))
        self.latency = latency
        self.records, self.fail = [], set()
        self.pause = source  # between beats of payloads, those of a frame too
        self.whole = 1 << self.params.beat_address_bits
        self.context = {name: draw(name, field.width) for name, field in self.params.context}
        self.turn = draw("turn", 32)
        self.own, self.switch = (draw(name, 48).to_bytes(6, "little") for name in ("own", "switch"))
        self.signed = {"worker": draw("worker", 32)}
        self.signed |= {name: draw(name, 16) for name in ("job", "epoch")}
        self.link = PacketSink(dut, "axis", stall=sink)
        self.shown = Recorder(dut, "", dict.fromkeys(("events", "axis_tvalid", "axis_tready")))
        self.connect()
        settings = {
            "address": int.from_bytes(self.own, "little"),
            "switch_address": int.from_bytes(self.switch, "little"),
            **self.signed,
            "send_timeout": timeout,
            "rate": rate or {},
        }
        self.set(settings=settings)
        cocotb.start_soon(self.serve())

    def beat(self, number):
        """Return what memory holds there: another content in each beat."""
        return random.Random(number % self.whole).getrandbits(8 * BEAT_BYTES)

    async def serve(self):
        dut, requested, burst_count = self.dut, 0, 0
        tables, payloads = [], []
        port = self.params.payload_port_beat
        while True:
            await self.edge
            for number in self.request.beats[requested:]:
                tables.append((cycle() + self.latency, number))
            requested = len(self.request.beats)
            for burst in self.bursts.beats[burst_count:]:
                first = burst["address"] // BEAT_BYTES
                for k in range(burst["length"] + 1):
                    payloads.append((cycle() + self.latency, first + k))
            burst_count = len(self.bursts.beats)
            dut.beat.value = dut.provided.value = 0
            if tables and tables[0][0] <= cycle():
                at = (tables.pop(0)[1] - ALIGNED * self.context["list"]) % self.whole * 2
                pair = [*self.records[at : at + 2], {}][:2]
                word = sum(pack(SendRecord, item) << 256 * k for k, item in enumerate(pair))
                dut.beat.value = 1 | word << 2
            if payloads and payloads[0][0] <= cycle() and not self.pause():
                number = payloads.pop(0)[1]
                failed = number % self.whole in self.fail
                provided = {"valid": 1, "data": self.beat(number), "failed": failed}
                dut.provided.value = pack(port, provided)

    @property
    def frames(self):
        return [packet.octets for packet in self.link.packets]

    def reported(self):
        """Return the frames of which it is told that they leave."""
        bits = (item["events"] for item in list.__iter__(self.shown.beats))
        result = [unpack(SENDER_EVENTS, item)["leaving"] for item in bits if item & 1]
        return [(item["kind"], item["again"]) for item in result]

    def marks(self):
        """Count what holds frames up; the link does when it is told so."""
        offsets = {name: field.offset for name, field in SENDER_EVENTS if name != "leaving"}
        marks = Counter()
        for item in list.__iter__(self.shown.beats):
            events = {name: item["events"] >> offset & 1 for name, offset in offsets.items()}
            assert events["link"] == (item["axis_tvalid"] and not item["axis_tready"])
            marks.update(events)
        return marks

    def some_records(self, count):
        for _ in range(count):
            numbers = {name: random.getrandbits(32) for name in ("list", "source", "raw")}
            kind = random.choice([Kind.FEATURE, Kind.PARTIAL])
            place = random.getrandbits(32)
            rows = random.getrandbits(16)
            self.records.append(numbers | {"kind": kind, "place": place, "rows": rows})

    def some_job(self):
        """Draw a job of what is sent beside a list."""
        kind = random.choice([Kind.FETCH, Kind.RAWFETCH, Kind.DONE, Kind.RAW])
        job = {"kind": kind, "turn": random.getrandbits(32)}
        job |= {name: some_number() for name in ("list", "source", "raw", "seq")}
        job["beat"] = some_number(self.params.beat_address_bits)
        job["beat"] &= -self.params.feature_beats
        return job | {"rows": some_number(16)}

    async def begin(self):
        context = self.context | {"sends": len(self.records)}
        self.dut.context.value = pack(self.params.context, context)
        self.dut.turn.value, self.dut.begin.value = self.turn, 1
        await self.edge
        self.dut.begin.value, self.dut.context.value, self.dut.turn.value = 0, 0, 0

    async def wait_for(self, count):
        while len(self.link.packets) < count:
            await self.edge

    async def acknowledge(self, base):
        self.dut.ack.value = pack(ACKNOWLEDGEMENT, {"valid": 1, "base": base})
        await self.edge
        self.dut.ack.value = 0

    def payload(self, kind, first):
        """Return the lanes of a payload, of which only those of the frame count."""
        lane = 4 if kind is Kind.PARTIAL else 2
        size = payload_bytes(kind, self.params.lanes)
        beats = range(first, first + size // BEAT_BYTES)
        octets = b"".join(self.beat(k).to_bytes(BEAT_BYTES, "little") for k in beats)
        return octets[: self.params.lanes * lane] + bytes(size - self.params.lanes * lane)

    def check(self, octets, kind, payload, **fields):
        """Check that a frame has these fields, and no others."""
        frame = judge(octets, self.params.lanes, self.switch)
        assert octets[6:12] == self.own
        assert (frame.bm, frame.job, frame.epoch) == (*self.signed.values(),)
        assert frame.kind.name == kind.name
        for name in ("turn", "seq", "list", "source", "raw", "rows"):
            assert getattr(frame, name) == fields.get(name, 0), name
        assert octets[BEAT_BYTES:] == payload

    def check_listed(self, octets, seq):
        record = dict(self.records[seq])
        kind, place = record.pop("kind"), record.pop("place")
        size = payload_bytes(kind, self.params.lanes) // BEAT_BYTES
        payload = self.payload(kind, ALIGNED * self.context["features"] + size * place)
        self.check(octets, kind, payload, turn=self.turn, seq=seq, **record)


@crossed(stalls=STALLS)
async def frames_are_as_the_list_has_them(dut, stalls):
    source, sink = stalls
    bench = SendingBench(dut, source=source, sink=sink)
    if stalls.absent:  # from the first beat of memory
        bench.context |= {"list": 0, "features": 0}
    elif stalls is Stalls.BUSY_SOURCE:  # from just before the last one, and on to the first
        bench.context["list"] = (1 << bench.params.base_bits) - 1
    await start(dut)
    width = bench.params.window
    bench.some_records(3 * width + 1)
    bench.records[0]["place"] = 0
    await bench.begin()
    for base in range(0, 3 * width + 1, width):
        count = min(base + width, len(bench.records))
        await bench.wait_for(count)
        await edges(dut.clk, 50)
        assert len(bench.frames) == count  # no further than the window reaches
        await bench.acknowledge(count)
    for seq, octets in enumerate(bench.frames):
        bench.check_listed(octets, seq)
    await edges(dut.clk, 5)
    assert dut.free.value
    assert int(dut.sending.value) == bench.turn
    assert not any(packet.corrupt for packet in bench.link.packets)
    assert bench.reported() == [(record["kind"], 0) for record in bench.records]
    marks = bench.marks()
    assert marks["full"] > 50  # between a turn's windows
    assert not marks["slow"] + marks["halved"] + marks["nonsense"]
    assert marks["late_list"]
    assert marks["late_payload"]
    if stalls.absent:
        for turn in range(3):
            sent = slice(turn * width, turn * width + width)
            packets = pairwise(packet.cycles for packet in bench.link.packets[sent])
            late = [after[0] - before[-1] - 1 for before, after in packets]
            assert sum(late) <= bench.latency * 2  # only where a long payload comes behind short


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def others_take_their_turns(dut):
    """Control frames are sent between those of the list; a RAW has its payload."""
    bench = SendingBench(dut, sink=lambda: cycle() < began + 200 or often())
    began = cycle()
    await start(dut)
    bench.some_records(bench.params.window)
    await bench.begin()
    jobs = [[bench.some_job() for _ in range(20 + 5 * k)] for k in range(3)]
    jobs[0][0]["turn"] = 0
    for other, own in zip(bench.others, jobs, strict=True):
        for job in own:
            other.append(job)
    await bench.wait_for(bench.params.window + sum(map(len, jobs)))
    last = 0
    for place, octets in enumerate(bench.frames):
        turn = int.from_bytes(octets[24:28], "little")
        if octets[15] in (Kind.FEATURE.value, Kind.PARTIAL.value):
            last = place
            continue
        (own,) = [own for own in jobs if own and own[0]["turn"] == turn]
        job = own.pop(0)
        payload = bench.payload(Kind.RAW, job["beat"]) if job["kind"] is Kind.RAW else b""
        fields = {name: value for name, value in job.items() if name not in ("kind", "beat")}
        bench.check(octets, job["kind"], payload, **fields)
        assert len(octets) == (60 if not payload else BEAT_BYTES + len(payload))
    assert not any(jobs)
    assert last >= bench.params.window  # they are not behind all of the list
    bench.marks()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_read_that_fails_breaks_its_frame(dut):
    """Nobody takes a frame with ``tuser`` set; the others are whole."""
    bench = await started(SendingBench(dut))
    bench.some_records(bench.params.window)
    for number, record in enumerate(bench.records):
        record["place"] = number
    record = bench.records[1]
    size = payload_bytes(record["kind"], bench.params.lanes) // BEAT_BYTES
    at = ALIGNED * bench.context["features"] + size + random.randrange(size)
    bench.fail = {at % bench.whole}
    for record in bench.records[:1] + bench.records[2:]:
        record["kind"], record["place"] = Kind.FEATURE, 90
    await bench.begin()
    await bench.wait_for(bench.params.window)
    assert [k for k, packet in enumerate(bench.link.packets) if packet.corrupt] == [1]
    assert not bench.marks()["link"]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_record_of_no_kind_is_reported(dut):
    """It becomes no frame; those before it leave."""
    bench = await started(SendingBench(dut))
    bench.some_records(2)
    bench.records.append({})
    await bench.begin()
    illegal = Recorder(dut, "illegal", {})
    await illegal.wait_for(1)
    await edges(dut.clk, 100)
    assert len(illegal.cycles) == 1
    for seq, octets in enumerate(bench.frames):
        bench.check_listed(octets, seq)
    assert len(bench.frames) == 2
    assert not bench.marks()["link"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_stop_cuts_no_frame(dut):
    bench = await started(SendingBench(dut, sink=lambda: random.random() < 0.5))
    bench.some_records(bench.params.window)
    await bench.begin()
    await bench.wait_for(1)
    dut.stop.value = 1
    await edges(dut.clk, 2)
    while dut.inside.value:
        await bench.edge
    count = len(bench.frames)
    await edges(dut.clk, 200)
    assert not dut.axis_tvalid.value
    assert len(bench.frames) <= count + 1 < bench.params.window
    bench.marks()
    for seq, octets in enumerate(bench.frames):
        bench.check_listed(octets, seq)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_is_not_acknowledged_leaves_again(dut):
    """The same frames leave, and it is told that they have left before."""
    bench = await started(SendingBench(dut, timeout=300))
    bench.some_records(3)
    await bench.begin()
    await bench.wait_for(3 + 1 + 3)
    await bench.acknowledge(2)
    await bench.wait_for(3 + 1 + 3 + 1)
    seqs = [0, 1, 2, 0, 0, 1, 2, 2]
    for seq, octets in zip(seqs, bench.frames, strict=True):
        bench.check_listed(octets, seq)
    again = [0, 0, 0, 1, 1, 1, 1, 1]
    kinds = [bench.records[seq]["kind"] for seq in seqs]
    assert bench.reported() == list(zip(kinds, again, strict=True))
    await bench.acknowledge(4)
    assert not dut.free.value
    dut.end.value = 1
    await bench.edge
    dut.end.value = 0
    await edges(dut.clk, 400)
    assert dut.free.value
    assert len(bench.frames) == len(seqs)
    assert bench.marks()["nonsense"] == 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_rate_holds_frames_up(dut):
    """Half of the rate is left after a report of congestion."""
    rate = {"enabled": 1, "most": (1 << 13) + random.getrandbits(12), "burst": 1}
    bench = await started(SendingBench(dut, rate=rate | {"round_trip": 1 << 20, "step": 1}))
    bench.some_records(bench.params.window)
    await bench.begin()
    await bench.wait_for(3)
    assert bench.marks()["slow"] > 5
    assert int(dut.rate.value) == rate["most"]
    dut.congested.value = 1
    await bench.edge
    dut.congested.value = 0
    await edges(dut.clk, 3)
    assert int(dut.rate.value) == rate["most"] // 2
    assert bench.marks()["halved"] == 1
    began, count = cycle(), len(bench.frames)
    await bench.wait_for(bench.params.window)
    beats = sum(len(octets) // BEAT_BYTES for octets in bench.frames[count + 1 :])
    assert cycle() - began > (beats - 2) * (1 << 16) / rate["most"]
