"""The sending half: orders become frames, others' jobs too, exactly as lists and memory say."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.bundles import ACKNOWLEDGEMENT
from hdl.switchgnn.endpoint.memory_layouts import SendRecord
from hdl.switchgnn.endpoint.params import PRESETS, EndpointParams
from hdl.switchgnn.endpoint.sender import Sender
from hdl.switchgnn.protocol import Kind, payload_bytes
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, Sink, Source, cycle, never, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.switchgnn.wire import judge

OWN, SWITCH = bytes.fromhex("020000000001"), bytes.fromhex("0200000000ff")
TURN = 0x8765_4321
#: of the list and of features, in units of 512 bytes
LIST, FEATURES = 3, 100


@pytest.mark.parametrize("preset", ["tiny", "small", "full"])
def test_sender(preset):
    simulate(Sender(PRESETS[preset]), __name__)


class Bench:
    """Memories, and the host's tables in them."""

    def __init__(self, dut, *, source=never, sink=never, latency=8):
        self.dut, self.edge, self.latency = dut, RisingEdge(dut.clk), latency
        self.params, self.sink = params_in_simulator(EndpointParams), sink
        self.records, self.fail = [], set()
        self.requests = Sink(dut, "request", stall=source)
        self.bursts = Sink(dut, "bursts", stall=source)
        self.others = [Source(dut, f"others_{k}") for k in range(3)]
        self.frames, self.cycles, self.ends, self.broken = [], [], [], []
        for name in ("begin", "end", "ack", "congested", "beat", "given", "stop"):
            getattr(dut, name).value = 0
        settings = {
            "address": int.from_bytes(OWN, "little"),
            "switch_address": int.from_bytes(SWITCH, "little"),
            "worker": 1 << 31,
            "job": 0xABCD,
            "epoch": 0xFFFF,
            "send_timeout": 1 << 20,
        }
        dut.settings.value = pack(self.params.settings, settings)
        cocotb.start_soon(self.serve())
        cocotb.start_soon(self.take())

    def beat(self, number):
        """What memory holds there: another content in each beat."""
        return random.Random(number).getrandbits(8 * BEAT_BYTES)

    async def serve(self):
        dut, asked, burst_count = self.dut, 0, 0
        tables, payloads = [], []
        port = self.params.payload_port_beat
        while True:
            await self.edge
            for number in self.requests.beats[asked:]:
                tables.append((cycle() + self.latency, number))
            asked = len(self.requests.beats)
            for burst in self.bursts.beats[burst_count:]:
                first = burst["address"] // BEAT_BYTES
                for k in range(burst["length"] + 1):
                    payloads.append((cycle() + self.latency, first + k))
            burst_count = len(self.bursts.beats)
            dut.beat.value = dut.given.value = 0
            if tables and tables[0][0] <= cycle():
                at = (tables.pop(0)[1] - 8 * LIST) * 2
                pair = [*self.records[at : at + 2], {}][:2]
                word = sum(pack(SendRecord, one) << 256 * k for k, one in enumerate(pair))
                dut.beat.value = 1 | word << 2
            if payloads and payloads[0][0] <= cycle():
                number = payloads.pop(0)[1]
                given = {"valid": 1, "data": self.beat(number), "failed": number in self.fail}
                dut.given.value = pack(port, given)

    async def take(self):
        dut, octets, first = self.dut, b"", 0
        while True:
            stalls = self.sink()
            dut.axis_tready.value = not stalls
            await self.edge
            if stalls or not dut.axis_tvalid.value:
                continue
            first = first if octets else cycle()
            size = int(dut.axis_tkeep.value).bit_count()
            octets += int(dut.axis_tdata.value).to_bytes(BEAT_BYTES, "little")[:size]
            if dut.axis_tlast.value:
                self.broken.append(bool(dut.axis_tuser.value))
                self.frames.append(octets)
                self.cycles.append(first)
                self.ends.append(cycle())
                octets = b""

    def some_records(self, count):
        for _ in range(count):
            numbers = {name: random.getrandbits(32) for name in ("list", "source", "raw")}
            kind = random.choice([Kind.FEATURE, Kind.PARTIAL])
            place = random.randrange(200)
            rows = random.getrandbits(16)
            self.records.append(numbers | {"kind": kind, "place": place, "rows": rows})

    async def begin(self):
        context = {"list": LIST, "features": FEATURES, "sends": len(self.records)}
        self.dut.context.value = pack(self.params.context, context)
        self.dut.turn.value, self.dut.begin.value = TURN, 1
        await self.edge
        self.dut.begin.value, self.dut.context.value, self.dut.turn.value = 0, 0, 0

    async def wait_for(self, count):
        while len(self.frames) < count:
            await self.edge

    async def acknowledge(self, base):
        self.dut.ack.value = pack(ACKNOWLEDGEMENT, {"valid": 1, "base": base})
        await self.edge
        self.dut.ack.value = 0

    def payload(self, kind, first):
        """Lanes of a payload, of which only those of the frame count."""
        lane = 4 if kind is Kind.PARTIAL else 2
        size = payload_bytes(kind, self.params.lanes)
        beats = range(first, first + size // BEAT_BYTES)
        octets = b"".join(self.beat(k).to_bytes(BEAT_BYTES, "little") for k in beats)
        return octets[: self.params.lanes * lane] + bytes(size - self.params.lanes * lane)

    def check(self, octets, kind, payload, **fields):
        """A frame with these fields, and with no others."""
        frame = judge(octets, self.params.lanes, SWITCH)
        assert octets[6:12] == OWN
        assert (frame.bm, frame.job, frame.epoch) == (1 << 31, 0xABCD, 0xFFFF)
        assert frame.kind.name == kind.name
        for name in ("turn", "seq", "list", "source", "raw", "rows"):
            assert getattr(frame, name) == fields.get(name, 0), name
        assert octets[BEAT_BYTES:] == payload

    def check_listed(self, octets, seq):
        record = dict(self.records[seq])
        kind, place = record.pop("kind"), record.pop("place")
        size = payload_bytes(kind, self.params.lanes) // BEAT_BYTES
        payload = self.payload(kind, 8 * FEATURES + size * place)
        self.check(octets, kind, payload, turn=TURN, seq=seq, **record)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def frames_are_as_the_list_has_them(dut, stalls):
    source, sink = stalls
    bench = Bench(dut, source=source, sink=sink)
    await start(dut)
    width = bench.params.window
    bench.some_records(3 * width + 1)
    await bench.begin()
    for base in range(0, 3 * width + 1, width):
        count = min(base + width, len(bench.records))
        await bench.wait_for(count)
        for _ in range(50):
            await bench.edge
        assert len(bench.frames) == count  # no further than the window reaches
        await bench.acknowledge(count)
    for seq, octets in enumerate(bench.frames):
        bench.check_listed(octets, seq)
    for _ in range(5):
        await bench.edge
    assert dut.free.value
    assert int(dut.sending.value) == TURN
    assert not any(bench.broken)
    if stalls.none:
        for turn in range(3):
            sent = slice(turn * width, turn * width + width)
            ends, begins = bench.ends[sent][:-1], bench.cycles[sent][1:]
            late = [b - a - 1 for a, b in zip(ends, begins, strict=True)]
            assert sum(late) <= bench.latency * 2  # only where a long payload comes behind short


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def others_take_their_turns(dut):
    """Control frames between those of the list; a RAW with its payload."""
    bench = Bench(dut)
    await start(dut)
    bench.some_records(bench.params.window)
    await bench.begin()
    jobs = []
    for k, kind in enumerate((Kind.FETCH, Kind.DONE, Kind.RAW)):
        job = {"kind": kind, "turn": 7 + k, "list": 5 * k, "source": 9 + k, "raw": 3 << k}
        job["beat"] = 16 * bench.params.feature_beats if kind is Kind.RAW else 0
        jobs.append(job)
        bench.others[k].append(job)
    await bench.wait_for(bench.params.window + 3)
    for job in jobs:
        kind = job["kind"]
        (octets,) = [octets for octets in bench.frames if octets[15] == kind.value]
        payload = bench.payload(Kind.RAW, job["beat"]) if kind is Kind.RAW else b""
        fields = {name: value for name, value in job.items() if name not in ("kind", "beat")}
        bench.check(octets, kind, payload, **fields)
        assert len(octets) == (60 if not payload else BEAT_BYTES + len(payload))
    assert bench.frames.index(octets) < bench.params.window + 2  # not behind all of the list


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_read_that_fails_breaks_its_frame(dut):
    """Nobody takes a frame with ``tuser``; the others are whole."""
    bench = Bench(dut)
    await start(dut)
    bench.some_records(bench.params.window)
    for number, record in enumerate(bench.records):
        record["place"] = number
    record = bench.records[1]
    size = payload_bytes(record["kind"], bench.params.lanes) // BEAT_BYTES
    bench.fail = {8 * FEATURES + size + random.randrange(size)}
    for record in bench.records[:1] + bench.records[2:]:
        record["kind"], record["place"] = Kind.FEATURE, 90
    await bench.begin()
    await bench.wait_for(bench.params.window)
    assert [k for k, broken in enumerate(bench.broken) if broken] == [1]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_stop_cuts_no_frame(dut):
    bench = Bench(dut, sink=lambda: random.random() < 0.5)
    await start(dut)
    bench.some_records(bench.params.window)
    await bench.begin()
    await bench.wait_for(1)
    dut.stop.value = 1
    await bench.edge
    await bench.edge
    while dut.inside.value:
        await bench.edge
    count = len(bench.frames)
    for _ in range(200):
        await bench.edge
    assert not dut.axis_tvalid.value
    assert len(bench.frames) <= count + 1 < bench.params.window
    for seq, octets in enumerate(bench.frames):
        bench.check_listed(octets, seq)
