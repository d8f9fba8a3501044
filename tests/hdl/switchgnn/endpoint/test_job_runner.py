"""Runs a job of one endpoint step by step; numbers and places in memory are drawn."""

import random
from collections import Counter as Counts
from collections import deque
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from hdl.common.axi import Burst, Response
from hdl.switchgnn.endpoint.endpoint import Endpoint
from hdl.switchgnn.endpoint.memory_layouts import ALIGNMENT, SendRecord, SourceRecord, TurnRecord
from hdl.switchgnn.endpoint.params import PRESETS, EndpointParams
from hdl.switchgnn.endpoint.registers import IDENTITY, VERSION, Counter, endpoint_registers
from hdl.switchgnn.protocol import CONTROL_BYTES
from hdl.switchgnn.protocol import Kind as HardwareKind
from sim.harness.axi_streams import AxiSource, PacketSink, beats_of
from sim.harness.payloads import pack
from sim.harness.register_driver import RegisterDriver
from sim.harness.streams import crossed, edges, start, started
from sim.harness.verilator import params_in_simulator, simulate
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.wire import Addresses, judge, to_octets
from tests.hdl.common.register_pace import registers_at_any_pace

BEAT = 64  #: bytes
TURNS, SENDS = 4, 3
WHOLE = 1 << 64  #: bytes of memory
NUMBERS = ("lo", "next", "loading", "beginning")  #: of turns, in Progress
OWN, SWITCH = (bytes([2, *random.Random(k).randbytes(5)]) for k in range(2))
BUSES = {"tables": "TABLES", "features": "FEATURES", "sums": "SUMS"}  #: with causes


def test_job_runner():
    params = replace(PRESETS["tiny"], lanes=32, address_bits=64)
    simulate(Endpoint(params), __name__, registers=[*NUMBERS, "count"])


class Memory:
    """Holds beats, of any content wherever nothing was written."""

    def __init__(self, dut):
        self.dut, self.beats, self.bad, self.written = dut, {}, set(), {}
        self.response = Response.SLVERR  # to what is bad
        self.mute = set()  # buses that answer nothing
        self.due = {name: deque() for name in ("tables", "features")}
        self.aw, self.w, self.b = deque(), deque(), deque()
        for name in ("tables", "features"):
            self.set(name, arready=1, rvalid=0)
        self.set("sums", awready=1, wready=1, bvalid=0)
        cocotb.start_soon(self.run())

    def set(self, name, **values):
        for signal, value in values.items():
            getattr(self.dut, f"m_axi_{name}_{signal}").value = value

    def get(self, name, *signals):
        result = [int(getattr(self.dut, f"m_axi_{name}_{signal}").value) for signal in signals]
        return result if len(result) > 1 else result[0]

    def read(self, at):
        """Return the beat at a multiple of its size."""
        return self.beats.get(at % WHOLE, random.Random(at % WHOLE).randbytes(BEAT))

    def lay(self, at, content):
        """Write bytes from the first byte of a beat on."""
        for k in range(0, len(content), BEAT):
            self.beats[(at + k) % WHOLE] = content[k : k + BEAT].ljust(BEAT, b"\0")

    async def run(self):
        edge = RisingEdge(self.dut.clk)
        while True:
            await edge
            if self.dut.rst.value:
                continue
            assert self.get("sums", "bready")
            for name, due in self.due.items():
                assert self.get(name, "rready")
                if self.get(name, "arvalid") and self.get(name, "arready"):
                    at, length, *form = self.get(name, "araddr", "arlen", "arsize", "arburst")
                    assert form == [6, Burst.INCR.value]
                    due.extend((at + BEAT * k, k == length) for k in range(length + 1))
                self.set(name, arready=random.random() < 0.6)
                failed = due and (name, due[0][0]) in self.bad
                waits = name in self.mute or (failed and random.random() < 0.9)
                at, last = due.popleft() if due and not waits else (None, 0)
                content = 0 if at is None else int.from_bytes(self.read(at), "little")
                response = self.response.value if failed else 0
                self.set(name, rvalid=at is not None, rdata=content, rresp=response, rlast=last)
            if self.get("sums", "awvalid") and self.get("sums", "awready"):
                at, *form = self.get("sums", "awaddr", "awlen", "awsize", "awburst")
                assert form == [0, 6, Burst.INCR.value]
                self.aw.append(at)
            if self.get("sums", "wvalid") and self.get("sums", "wready"):
                self.w.append(self.get("sums", "wdata", "wstrb"))
            ready = (random.random() < 0.6 for _ in range(2))
            self.set("sums", bvalid=0, awready=next(ready), wready=next(ready))
            if self.aw and self.w and "sums" not in self.mute:
                at, (content, strobes) = self.aw.popleft(), self.w.popleft()
                failed = ("sums", at) in self.bad
                self.set("sums", bvalid=1, bresp=self.response.value if failed else 0)
                for k, byte in enumerate(content.to_bytes(BEAT, "little")):
                    if strobes >> k & 1:
                        assert (at + k) % WHOLE not in self.written
                        self.written[(at + k) % WHOLE] = byte


def place():
    """Return where a payload is."""
    return random.getrandbits(32)


class Turn:
    """A turn's tables at random places, or at address 0, and what they say."""

    def __init__(self, memory, params, *, first=False):
        names = ("list", "features", "sums", "copies", "required", "sources")
        for name in names:
            address = ALIGNMENT * random.getrandbits(params.base_bits)
            setattr(self, name, 0 if first and name in ("list", "features", "sums") else address)
        record = {name: getattr(self, name) for name in names} | {"sends": SENDS}
        self.record = pack(TurnRecord, record).to_bytes(BEAT, "little")
        self.records = [self.some_record() for _ in range(SENDS)]
        if first:
            self.records[0] |= {"kind": HardwareKind.PARTIAL, "place": 0}
        content = b"".join(pack(SendRecord, item).to_bytes(32, "little") for item in self.records)
        memory.lay(self.list, content)
        self.get = sorted([0, *random.sample(range(1, params.aggregators), 2)])
        #: one of each place in a beat
        self.own = {k + 8 * random.randrange(params.copies // 8): place() for k in range(8)}
        others = sorted({*range(params.copies)} - {*self.own})
        self.get_copies = sorted(random.sample(others, 3))
        self.taken = set()  # sums that have come
        bits = sum(1 << k for k in self.get)
        bits |= sum(1 << 32 * params.sum_words + k for k in self.get_copies)
        memory.lay(self.required, bits.to_bytes(BEAT, "little"))
        self.ports = {k: random.randrange(32) for k in self.get_copies}
        table = [self.others_record(self.ports.get(k)) for k in range(params.copies)]
        for source, number in self.own.items():
            table[source] = {"own": 1, "place": number, "port": random.randrange(32)}
        content = b"".join(pack(SourceRecord, item).to_bytes(8, "little") for item in table)
        memory.lay(self.sources, content)

    def others_record(self, port):
        """Return the record of a source that another worker has."""
        port = random.randrange(32) if port is None else port
        return {"own": 0, "port": port, "place": random.getrandbits(32)}

    def some_record(self):
        record = {name: random.getrandbits(32) for name in ("list", "source", "raw", "place")}
        kind = random.choice([HardwareKind.FEATURE, HardwareKind.PARTIAL])
        return record | {"kind": kind, "rows": random.getrandbits(16)}


class Bench:
    """Plays the host, the memories and the switch of an endpoint."""

    def __init__(self, dut):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(EndpointParams)
        self.memory = Memory(dut)
        self.host = RegisterDriver(dut, "s_axil", endpoint_registers(self.params))
        for channel in (self.host.axil.read_if.r_channel, self.host.axil.write_if.b_channel):
            channel.set_pause_generator(random.getrandbits(1) for _ in iter(int, 1))
        self.frames, self.seen = [], 0
        self.source = AxiSource(dut, "s_axis", stall=lambda: random.random() < 0.2)
        self.eager = 0.6
        stall = lambda: random.random() > self.eager  # noqa: E731
        PacketSink(dut, "m_axis", stall=stall, reported=self.take)
        self.job = {"job": random.getrandbits(16), "epoch": random.getrandbits(16)}
        self.job["worker"] = 1 << random.randrange(32)
        self.acks = self.broken = 0

    def take(self, packet):
        self.eager = random.choice((0.2, 0.6, 1.0))
        if packet.corrupt:
            assert self.memory.bad
            self.broken += 1
            return
        assert len(packet.octets) % BEAT in (0, CONTROL_BYTES)
        assert packet.octets[6:12] == OWN
        frame = judge(packet.octets, self.params.lanes, SWITCH)
        assert isinstance(frame, Frame)
        assert (frame.bm, frame.job, frame.epoch) == tuple(
            self.job[name] for name in ("worker", "job", "epoch")
        )
        self.frames.append(frame)

    async def send(self, kind, *, corrupt=False, **fields):
        """Send a frame of the switch."""
        signed = {"bm": self.job["worker"], "job": self.job["job"], "epoch": self.job["epoch"]}
        frame = Frame(kind=kind, **signed, **fields)
        octets = to_octets(frame, self.params.lanes, Addresses(OWN, SWITCH))
        await self.source.send_all(beats_of(octets, corrupt=corrupt))

    async def next(self, count=1, within=3000):
        """Return this many frames, as they come."""
        for _ in range(within):
            if len(self.frames) >= self.seen + count:
                break
            await self.edge
        result = self.frames[self.seen :][:count]
        assert len(result) == count
        self.seen += count
        return result

    async def nothing(self, cycles):
        """Check that no frame leaves."""
        await edges(self.dut.clk, cycles)
        assert len(self.frames) == self.seen

    def lay_out(self):
        """Write a job of some turns to memory."""
        self.turns = [Turn(self.memory, self.params, first=not k) for k in range(TURNS)]
        program = BEAT * random.getrandbits(self.params.beat_address_bits)
        self.memory.lay(program, b"".join(turn.record for turn in self.turns))
        return program

    async def start(self, *, first=0, **settings):
        """Start the job, with ``first`` as its first turn."""
        program = self.lay_out() if "program" not in settings else settings.pop("program")
        await self.host.write_wide(
            own_address=int.from_bytes(OWN, "little"),
            switch_address=int.from_bytes(SWITCH, "little"),
            program=(program - BEAT * first) % WHOLE,
        )
        times = {"send_timeout": 250, "fetch_timeout": 1500, "fetch_gap": 9, "done_timeout": 350}
        provided = {"turns": first + TURNS, "ready_turns": first + TURNS, "two_open": 0}
        await self.host.write(**(self.job | times | provided | settings))
        written = cocotb.start_soon(self.host.write(start=1))
        while not self.dut.busy.value:
            await self.edge
        await self.edge  # the job's reset has ended, and nothing is loaded yet
        if first:
            for name in NUMBERS:
                getattr(self.dut.job.progress, name).value = first + (name == "next")
        await written

    async def ends(self):
        while self.dut.busy.value:
            await self.edge
        state = await self.host.read("state")
        return state.name, (await self.host.read("cause")).name

    async def count(self, name):
        await self.host.write(counter=Counter[name.upper()])
        return await self.host.read("count")


FIRSTS = []  #: numbers that were drawn


def first_turn():
    """Draw a multiple of the slots; every second one has the bits of the one before inverted."""
    drawn = FIRSTS[-1] ^ (1 << 32) - 4 if FIRSTS else random.randrange(4, (1 << 32) - 4) & -4
    FIRSTS.append(drawn)
    return drawn


def check_payload(frame, bits, content):
    """Check that a frame has these bytes as its lanes."""
    expected = np.frombuffer(content, f"<i{bits // 8}")[: len(frame.payload)]
    assert frame.payload.tolist() == expected.tolist()


@crossed(two_open=[0, 1])
async def a_job_from_start_to_end(dut, two_open):
    bench = await started(Bench(dut))
    most = random.randrange(1 << 14, 1 << 16)
    rate = {"rate_control": 1, "rate_most": most, "rate_least": random.randrange(1 << 12)}
    rate |= {"rate_step": 0, "burst": 40, "round_trip": random.getrandbits(24) | 1 << 23}
    first = first_turn() + 2 * two_open
    await bench.start(first=first, two_open=two_open, ready_turns=first, **rate)
    await bench.nothing(500)
    assert await bench.host.read("rate") == most
    for number, turn in enumerate(bench.turns, first):
        await bench.host.write(ready_turns=number + 1)
        await sends_its_list(bench, turn, number, marks=number == first)
        assert await bench.host.read("sending") == number
        await answers(bench, turn, number)
        await fetches_what_is_missing(bench, turn, number)
        if number + 1 < first + TURNS:  # it may come for the next turn, too, if that is open
            after = bench.turns[number + 1 - first]
            early = after.get[0]
            await writes_what_comes(bench, after, number + 1, early, written=bool(two_open))
            after.taken = {early} if two_open else set()
        await writes_what_comes(bench, turn, number)
        for frame in await bench.next(2):
            assert (frame.kind, frame.turn) == (Kind.DONE, number)
        assert await bench.host.read("lo") == number
        assert await bench.host.read("rate") == max(rate["rate_least"], most // 2)
        await bench.send(Kind.ADVANCE, turn=number + 1, corrupt=True)
        await bench.send(Kind.ADVANCE, turn=number + 1)
    assert await bench.ends() == ("FINISHED", "NONE")
    counts = {
        "turns": TURNS,
        "sent_again": TURNS,
        "sent_raw": 8 * TURNS,
        "sent_done": sum(frame.kind is Kind.DONE for frame in bench.frames),
        "sent_fetch": 3 * TURNS - two_open * (TURNS - 1),
        "taken_closed": 0 if two_open else TURNS - 1,
        "sent_rawfetch": 3 * TURNS,
        "taken_sum": 3 * TURNS,
        "taken_feature": 3 * TURNS,
        "taken_acknowledged": bench.acks,
        "taken_advanced": TURNS,
        "taken_asked": 9 * TURNS,
        "not_own": TURNS,
        "marks": 1,
        "halvings": 1,
        "taken_corrupt": TURNS,
    }
    result = {item.name.lower(): await bench.count(item.name) for item in Counter}
    lists = result.pop("sent_feature") + result.pop("sent_partial")
    assert lists == TURNS * (SENDS + 1)
    for name in ("stall_features", "cycles"):
        assert result[name] > 400
    assert 10 < result["stall_tables"] < 400  # at the beginning
    # Nothing else has come or left, but what has waited.
    others = {name for name in result if name.startswith("stall_")} | {"cycles"}
    assert {name: n for name, n in result.items() if n and name not in others} == +Counts(counts)
    await bench.host.write(clear_counters=1)
    assert await bench.count("cycles") == 0


@crossed(two_open=[0, 1])
async def a_turn_begins_when_all_before_is_acknowledged(dut, two_open):
    """It begins then, if it is open."""
    bench = await started(Bench(dut))
    await bench.start(two_open=two_open, send_timeout=1 << 20, fetch_timeout=1 << 20)
    for turn in range(1 + two_open):
        frames = await bench.next(SENDS)
        assert [frame.turn for frame in frames] == [turn] * SENDS
        await bench.nothing(300)
        await bench.send(Kind.ACK, turn=turn, seq=SENDS)
    await bench.nothing(300)
    await bench.host.write(stop=1)
    assert await bench.ends() == ("IDLE", "NONE")


@crossed(slot=range(4))
async def what_comes_puts_off_what_is_requested(dut, slot):
    bench = await started(Bench(dut))
    first = first_turn() + slot
    await bench.start(first=first, ready_turns=first, fetch_timeout=400)
    turn = bench.turns[0]
    payload = np.zeros(bench.params.lanes, int)
    for item in turn.get:
        await bench.nothing(300)
        await bench.send(Kind.RESULT, turn=first, list=item, payload=payload)
    for item in turn.get_copies[1:]:
        await bench.nothing(300)
        await bench.send(Kind.RAW, turn=first, source=item, payload=payload)
    await bench.nothing(300)
    (frame,) = await bench.next(within=150)
    assert (frame.kind, frame.source) == (Kind.RAWFETCH, turn.get_copies[0])


async def sends_its_list(bench, turn, number, *, marks):
    """All frames leave, then the one that is not acknowledged leaves again."""
    frames = await bench.next(SENDS)

    def check(frame, seq):
        record = turn.records[seq]
        assert (frame.kind.name, frame.turn, frame.seq) == (record["kind"].name, number, seq)
        for name in ("list", "source", "raw", "rows"):
            assert getattr(frame, name) == record[name]
        is_sum = record["kind"] is HardwareKind.PARTIAL
        size = 2 if is_sum else 1
        at = turn.features + BEAT * size * record["place"]
        beats = [bench.memory.read((at + BEAT * k) % WHOLE) for k in range(size)]
        check_payload(frame, 32 if is_sum else 16, b"".join(beats))

    for seq, frame in enumerate(frames):
        check(frame, seq)
    for bitmap, base in ((0b10, 1), (0, SENDS)):
        await bench.send(Kind.ACK, turn=number, seq=base, bitmap=bitmap, ecn=marks and base == 1)
        bench.acks += 1
        if base == 1:
            (again,) = await bench.next()
            check(again, 1)
    await bench.nothing(300 - 250)


async def answers(bench, turn, number):
    """It answers a request with a feature of its own, and with nothing to others."""
    port = 1 << random.randrange(32)
    await bench.send(Kind.RAWFETCH, turn=number, source=turn.get_copies[0], raw=port)
    for source, number_of_payload in turn.own.items():
        await bench.send(Kind.RAWFETCH, turn=number, source=source, raw=port)
        (frame,) = await bench.next()
        assert (frame.kind, frame.turn, frame.source) == (Kind.RAW, number, source)
        assert (frame.raw, frame.list, frame.rows, frame.seq) == (port, 0, 0, 0)
        at = (turn.features + BEAT * number_of_payload) % WHOLE
        check_payload(frame, 16, bench.memory.read(at))


async def fetches_what_is_missing(bench, turn, number):
    """Each missing sum and copy is asked for once."""
    frames = await bench.next(len(turn.get) + len(turn.get_copies) - len(turn.taken))
    requested = [(frame.kind, frame.turn, frame.list, frame.source, frame.raw) for frame in frames]
    sums = [(Kind.FETCH, number, k, 0, 0) for k in turn.get if k not in turn.taken]
    copies = [(Kind.RAWFETCH, number, 0, k, 1 << turn.ports[k]) for k in turn.get_copies]
    assert sorted(requested) == sorted(sums + copies)


async def writes_what_comes(bench, turn, number, only=None, *, written=True):
    """Every sum and copy goes to its place, and nothing else; a sum only if its turn is open."""
    lanes, expected = bench.params.lanes, {}
    required = [
        (Kind.RESULT, k) for k in turn.get if k not in turn.taken and (only is None or k == only)
    ]
    required += [(Kind.RAW, k) for k in turn.get_copies if only is None]
    for kind, item in random.sample(required, len(required)):
        bits, base = (32, turn.sums) if kind is Kind.RESULT else (16, turn.copies)
        half = 1 << bits - 1
        payload = np.array([random.randrange(-half, half) for _ in range(lanes)])
        name = "list" if kind is Kind.RESULT else "source"
        await bench.send(kind, turn=number, payload=payload, **{name: item})
        at = base + lanes * bits // 8 * item
        content = payload.astype(f"<i{bits // 8}").tobytes()
        expected |= {(at + k) % WHOLE: byte for k, byte in enumerate(content)}
    await edges(bench.dut.clk, 30)
    assert bench.memory.written == (expected if written else {})
    bench.memory.written.clear()


@crossed(bus=[*BUSES])
async def a_bus_that_fails_ends_the_job(dut, bus):
    """The host reads which bus it was."""
    bench = await started(Bench(dut))
    program = bench.lay_out()
    turn = bench.turns[0]
    # Of the first payload the second beat, when the first one has left.
    places = {"tables": program, "features": turn.features + BEAT, "sums": turn.sums}
    bench.memory.bad = {(bus, places[bus])}
    for bench.memory.response in (Response.SLVERR, Response.DECERR, Response.EXOKAY):
        bench.seen = len(bench.frames)
        await bench.start(program=program)
        if bus == "sums":
            await bench.next(SENDS)
            payload = np.zeros(bench.params.lanes, int)
            await bench.send(Kind.RESULT, turn=0, list=0, payload=payload)
        assert await bench.ends() == ("FAILED", BUSES[bus])
        bench.memory.written.clear()
    assert bench.broken == 3 * (bus == "features")


@crossed(bus=[*BUSES])
async def a_bus_that_is_mute_ends_the_job(dut, bus):
    """It ends after the timeout, whatever its bits; then the host may use the bus again."""
    bench = await started(Bench(dut))
    for bit in random.sample(range(10, 32), 5):
        timeout = random.getrandbits(32) & (1 << bit) - 1 | 1 << bit
        bench.memory.mute = {bus}
        bench.seen = len(bench.frames)
        program = bench.lay_out()
        dut.memory.timer.count.value = 0
        await bench.start(program=program, memory_timeout=timeout, send_timeout=1 << 20)
        if bus == "sums":
            await bench.next(SENDS)
            payload = np.zeros(bench.params.lanes, int)
            await bench.send(Kind.RESULT, turn=0, list=bench.turns[0].get[0], payload=payload)
        for left in (timeout - (1 << bit), timeout - 3, timeout - 3):
            await edges(dut.clk, 60)
            assert dut.busy.value
            dut.memory.timer.count.value = left
        assert await bench.ends() == ("FAILED", BUSES[bus])
        bench.memory.written.clear()
        for name in BUSES:
            for flag in ("broken", "silent", "owes"):
                assert await bench.host.read(f"{name}_{flag}") == (name == bus)
        bench.memory.mute = set()
        await edges(dut.clk, 50)
        await bench.host.write(revive_buses=1)
        await edges(dut.clk, 5)
        assert not await bench.host.read(f"{bus}_broken")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def records_that_are_none_end_the_job(dut):
    bench = await started(Bench(dut))
    program = bench.lay_out()
    good = bench.memory.read(program)
    bench.memory.lay(program, bytes([good[0] ^ 1]) + good[1:])
    await bench.start(program=program)
    assert await bench.ends() == ("FAILED", "PROGRAM")
    bench.memory.lay(program, good)
    at = bench.turns[0].list
    bench.memory.lay(at, bytes([6]) + bench.memory.read(at)[1:])
    await bench.start(program=program)
    assert await bench.ends() == ("FAILED", "LIST")
    await bench.start()
    await bench.next(1)
    await bench.host.write(stop=1)
    assert await bench.ends() == ("IDLE", "NONE")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_stop_waits_for_memory(dut):
    bench = await started(Bench(dut))
    bench.memory.mute = {"features"}
    await bench.start()
    await bench.nothing(200)
    assert (await bench.host.read("state")).name == "RUNNING"
    await bench.host.write(stop=1)
    await bench.nothing(100)
    assert (await bench.host.read("state")).name == "STOPPING"
    bench.memory.mute = set()
    assert await bench.ends() == ("IDLE", "NONE")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_keep_up(dut):
    for name in ("s_axis_tvalid", "m_axi_tables_rvalid", "m_axi_features_rvalid"):
        getattr(dut, name).value = 0
    dut.m_axi_sums_bvalid.value = 0
    await start(dut)
    await registers_at_any_pace(dut, endpoint_registers(params_in_simulator(EndpointParams)))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_hold_what_is_written(dut):
    bench = await started(Bench(dut))
    assert await bench.host.read("identity") == IDENTITY
    assert await bench.host.read("version") == VERSION
    for name in ("lanes", "window", "copies"):
        assert await bench.host.read(name) == getattr(bench.params, name)
    assert await bench.host.read("aggregators") == bench.params.aggregators
    fields = {}
    for register in endpoint_registers(bench.params).describe()["registers"]:
        for field in register["fields"]:
            if field["access"] == "rw":
                fields[field["name"]] = field["bits"]
    for _ in range(4):
        values = {name: random.getrandbits(bits) for name, bits in fields.items()}
        await bench.host.write(**values)
        assert {name: await bench.host.read(name) for name in fields} == values
