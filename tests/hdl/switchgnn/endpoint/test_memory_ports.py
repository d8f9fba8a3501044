"""Checks what is asked of each bus, what comes back, and when all of it has come."""

import random
from collections import deque
from dataclasses import replace

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi import Burst, Response
from hdl.switchgnn.endpoint.memory_ports import BUSES, COUNT_BITS, MemoryPorts
from hdl.switchgnn.endpoint.params import PRESETS, EndpointParams
from sim.harness.payloads import unpack
from sim.harness.streams import STALLS, Source, crossed, never, start, started
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switchgnn.extremes import some_number

BURSTS = 150  #: of each bus
BEAT = 64  #: bytes
READS = {"tables": "table", "features": "payload"}  #: buses, with how streams are called


def test_memory_ports():
    registers = [*(f"{name}_owed" for name in BUSES), "count"]
    simulate(MemoryPorts(replace(PRESETS["tiny"], lanes=64)), __name__, registers=registers)


class Bench:
    """Plays three memories, and notes what they are asked and what the ports say."""

    def __init__(self, dut, *, source=never, sink=never, errors=0.1):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(EndpointParams)
        self.stall, self.errors = sink, errors
        self.mute = set()  # buses that answer nothing
        self.sources = {
            name: Source(dut, f"{name}_bursts", stall=source)
            for name in ("table", "payload", "sum")
        }
        self.beats = Source(dut, "sum_beats", stall=source)
        self.requested = {name: [] for name in BUSES}  # bursts that a memory got
        self.due = {name: deque() for name in BUSES}  # beats, answers that it has to give
        self.replies = {name: None for name in BUSES}  # what it gives now
        self.written = []  # beats of W
        # Beats of bursts: none may be offered before its burst. Where nobody pauses, each comes
        # with it, as SumWriter gives them.
        self.together, self.coming = source is never, deque()
        self.owed = dict.fromkeys(BUSES, 0)
        self.provided = {name: [] for name in BUSES}  # what came back
        self.expected = {name: [] for name in BUSES}  # what should
        self.sent = {name: deque() for name in BUSES}  # tags of bursts, beat by beat
        self.failed = 0  # buses, in the cycle before
        self.checks = True
        for name in READS:
            self.set(name, arready=0, rvalid=0)
        self.set("sums", awready=0, wready=0, bvalid=0)
        dut.stop.value = dut.timeout.value = dut.revive.value = 0
        cocotb.start_soon(self.run())

    def set(self, name, **values):
        for signal, value in values.items():
            getattr(self.dut, f"m_axi_{name}_{signal}").value = value

    def get(self, name, signal):
        return int(getattr(self.dut, f"m_axi_{name}_{signal}").value)

    async def run(self):
        while True:
            await self.edge
            if self.dut.rst.value:
                continue
            if self.checks:
                self.see()
            for name in READS:
                self.read(name)
            self.write()
            bursts = self.sources["sum"].bus
            if bursts.valid.value and bursts.ready.value and self.coming:
                self.beats.append(self.coming.popleft())

    def see(self):
        """Note what the endpoint is given in the cycle of the bus, and whether all has come."""
        dut, params = self.dut, self.params
        assert dut.quiet.value == (not any(self.owed.values()))
        assert int(dut.failed.value) == self.failed
        shapes = {"tables": params.table_port_beat, "features": params.payload_port_beat}
        self.failed = 0
        for k, name in enumerate(BUSES):
            if name == "sums":
                came, failed = bool(dut.sum_answered.value), False
                result = int(dut.sum_answered_slot.value)
                failed = came and self.get(name, "bresp") != Response.OKAY.value
            else:
                result = unpack(shapes[name], int(getattr(dut, f"{READS[name]}_provided").value))
                came, failed = bool(result["valid"]), result["valid"] and result["failed"]
            self.failed |= bool(failed) << k
            if came:
                self.provided[name].append(result)
            self.owed[name] -= came
        for name, stream in (*READS.items(), ("sums", "sum")):
            source = self.sources[stream]
            if source.bus.valid.value and source.bus.ready.value:
                burst = unpack(source.shape, int(source.bus.payload.value))
                self.owed[name] += burst.get("length", 0) + 1

    def read(self, name):
        """Play a cycle of a memory that is read."""
        if self.get(name, "arvalid") and self.get(name, "arready"):
            assert self.get(name, "arsize") == 6
            assert self.get(name, "arburst") == Burst.INCR.value
            length = self.get(name, "arlen")
            self.requested[name].append((self.get(name, "araddr"), length))
            self.due[name].extend(k == length for k in range(length + 1))
        if self.get(name, "rready") and self.replies[name]:
            self.replies[name] = None
        if not self.replies[name] and self.due[name] and not self.stall() and name not in self.mute:
            last, data = self.due[name].popleft(), random.getrandbits(8 * BEAT)
            bad = random.random() < self.errors
            response = random.choice([Response.SLVERR, Response.DECERR, Response.EXOKAY])
            self.replies[name] = (response if bad else Response.OKAY).value, last, data
            tag = self.sent[name].popleft()
            self.expected[name].append(
                {"valid": 1, "failed": bad, "last": last, "tag": tag, "data": data}
            )
        response, last, data = self.replies[name] or (
            random.getrandbits(2),
            random.getrandbits(1),
            random.getrandbits(8 * BEAT),
        )
        self.set(name, rvalid=bool(self.replies[name]), rresp=response, rlast=last, rdata=data)
        self.set(name, arready=not self.stall())

    def write(self):
        """Play a cycle of the memory that is written."""
        name = "sums"
        if self.get(name, "awvalid") and self.get(name, "awready"):
            assert (self.get(name, "awlen"), self.get(name, "awsize")) == (0, 6)
            assert self.get(name, "awburst") == Burst.INCR.value
            self.requested[name].append((self.get(name, "awaddr"), 0))
        if self.get(name, "wvalid") and self.get(name, "wready"):
            assert self.get(name, "wlast")
            self.written.append((self.get(name, "wdata"), self.get(name, "wstrb")))
        if self.replies[name] is not None and self.get(name, "bready"):
            self.replies[name] = None
        answered = len(self.expected[name])
        whole = min(len(self.requested[name]), len(self.written))
        may = answered < whole and name not in self.mute and not self.stall()
        if self.replies[name] is None and may:
            bad = random.random() < self.errors
            response = random.choice([Response.SLVERR, Response.DECERR, Response.EXOKAY])
            self.replies[name] = (response if bad else Response.OKAY).value
            self.expected[name].append(self.sent[name].popleft())
        reply = self.replies[name]
        self.set(name, bvalid=reply is not None, bresp=reply or 0)
        self.set(name, awready=not self.stall(), wready=not self.stall())

    def issue(self, name):
        """Ask for a burst on a bus; for one that is written, give its beat, too."""
        stream = READS.get(name, "sum")
        source = self.sources[stream]
        burst = {key: some_number(field.width) for key, field in source.shape}
        length = burst.get("length", 0)
        burst["address"] &= -BEAT * (1 << length.bit_length())
        self.sent[name].extend([burst["tag"]] * (length + 1))
        source.append(burst)
        if name == "sums":
            beat = {"data": random.getrandbits(8 * BEAT), "strobes": some_number(BEAT)}
            (self.beats if self.together else self.coming).append(beat | {"last": 1})
            return burst["address"], 0, beat
        return burst["address"], length, None

    async def step(self, cycles):
        for _ in range(cycles):
            await self.edge

    def bus(self, name):
        return unpack(MemoryPorts(self.params).buses.shape(), int(self.dut.buses.value))[name]


@crossed(stalls=STALLS, us=100)
async def buses_bring_what_is_requested(dut, stalls):
    source, sink = stalls
    bench = await started(Bench(dut, source=source, sink=sink))
    requested = {name: [bench.issue(name) for _ in range(BURSTS)] for name in BUSES}
    beats = {name: sum(length + 1 for _, length, _ in requested[name]) for name in BUSES}
    while any(len(bench.provided[name]) < beats[name] for name in BUSES):
        await bench.edge
    await bench.step(10)
    for name in BUSES:
        assert bench.requested[name] == [
            (address, length) for address, length, _ in requested[name]
        ]
        assert bench.provided[name] == bench.expected[name]
    assert bench.written == [(beat["data"], beat["strobes"]) for _, _, beat in requested["sums"]]
    assert dut.quiet.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_stop_begins_no_read(dut):
    """Reads that have begun are answered, and writes go on."""
    bench = await started(Bench(dut))
    for _ in range(5):
        dut.stop.value = 1
        before = {name: len(bench.requested[name]) for name in BUSES}
        for name in BUSES:
            for _ in range(5):
                bench.issue(name)
        await bench.step(40)
        for name in READS:
            assert len(bench.requested[name]) == before[name]
        assert len(bench.requested["sums"]) == before["sums"] + 5
        assert dut.quiet.value
        dut.stop.value = 0
        await bench.step(60)
        assert dut.quiet.value
        assert all(len(bench.requested[name]) == before[name] + 5 for name in BUSES)


@crossed(name=BUSES, us=100)
async def a_bus_that_is_mute_is_abandoned(dut, name):
    """It alone is given up, after the timeout, whatever its bits are; then it is used again."""
    bench = Bench(dut, errors=0)
    bench.checks = False
    await start(dut)
    for bit in range(7, 32):
        timeout = random.getrandbits(32) & (1 << bit) - 1 | 1 << bit
        dut.timeout.value, dut.timer.count.value = timeout, 0
        bench.mute = {name}
        bench.issue(name)
        await bench.step(20)
        assert not dut.quiet.value
        for _ in range(2):
            dut.timer.count.value = timeout - (1 << bit)
            await bench.step(10)
        assert not any(bench.bus(item)["broken"] for item in BUSES)
        failed = 0
        for _ in range(2):
            dut.timer.count.value = timeout - 3
            for _ in range(15):
                await bench.edge
                failed |= int(dut.failed.value)
        assert failed == 1 << BUSES.index(name)
        for item in BUSES:
            bus = bench.bus(item)
            assert (bus["broken"], bus["silent"], bus["owes"]) == (
                (1, 1, 1) if item == name else (0, 0, 0)
            )
        assert dut.quiet.value
        bench.mute = set()
        await bench.step(20)
        assert not bench.bus(name)["owes"]
        dut.revive.value = 1
        await bench.edge
        dut.revive.value = 0
        await bench.step(5)
        assert not bench.bus(name)["broken"]


@crossed(name=BUSES, us=100)
async def what_is_owed_is_counted_in_every_bit(dut, name):
    """Counts begin from presets, as it takes long to owe that many."""
    bench = Bench(dut)
    bench.checks = False
    await start(dut)
    owed = getattr(dut, f"{name}_owed")
    for bit in range(COUNT_BITS):
        for number in (1 << bit, (1 << bit) - 1):
            await bench.step(1)
            owed.value = number
            for _ in range(3):
                await bench.edge
                assert int(owed.value) == number
                assert dut.quiet.value == (not number)
            bench.issue(name)
            await bench.step(20)
            assert int(owed.value) == number
