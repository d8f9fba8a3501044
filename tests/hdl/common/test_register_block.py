import random
from itertools import pairwise

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi.axil_channels import (
    AxiLiteARTransaction,
    AxiLiteAWTransaction,
    AxiLiteWTransaction,
)

from hdl.common.axi import Response
from hdl.common.register_block import RegisterBlock
from hdl.common.registers import Field, Register, RegisterMap
from sim.harness.payloads import pack, unpack
from sim.harness.records import Recorder
from sim.harness.streams import crossed, mostly, never, often, start
from sim.harness.upset import start_upset
from sim.harness.verilator import params_in_simulator
from tests.hdl.common.register_pace import Port
from tests.simulated import simulated

MIXED = RegisterMap(
    "mixed",
    (
        Register(
            "run",
            "Pulses beside levels.",
            Field("start", 1, "pulse", ""),
            Field("mode", 3, "rw", "", init=5),
            Field("running", 1, "ro", ""),
            Field("level", 20, "rw", "", init=0xABCDE),  # across all four bytes
            Field("kind", 7, "pulse", ""),
        ),
        Register("size", "A whole word.", Field("beats", 32, "rw", "", init=7)),
        Register("cycles", "Two words.", Field("cycle_count", 64, "ro", "")),
        Register(
            "errors",
            "Fields across the words' border.",
            Field("late", 20, "ro", ""),
            Field("lost", 30, "ro", ""),
        ),
        Register("flag", "One bit.", Field("flag_set", 1, "rw", "")),
    ),
    address_bits=8,
)
ONE = RegisterMap("one", (Register("only", "", Field("it", 32, "rw", "")),), address_bits=3)
READ_ONLY = RegisterMap("read_only", (Register("only", "", Field("it", 33, "ro", "")),))
LARGE = RegisterMap(
    "large",
    tuple(
        Register(f"register_{k}", "", Field(f"field_{k}", 32, "ro" if k % 3 else "rw", ""))
        for k in range(70)
    ),
)

test_register_block = simulated(
    RegisterBlock,
    [MIXED, ONE, READ_ONLY, LARGE],
    __name__,
    each=True,
    ids=lambda params: params.name,
)


def random_status():
    layout = params_in_simulator(RegisterMap).status
    return {name: random.getrandbits(field.width) for name, field in layout}


def set_status(dut, values):
    if values:
        dut.status.value = pack(params_in_simulator(RegisterMap).status, values)


def control_of(dut):
    layout = params_in_simulator(RegisterMap).control
    return unpack(layout, int(dut.control.value)) if layout.size else {}


def fields(*accesses):
    """Return address, shift and field of all fields of these kinds."""
    for address, register in params_in_simulator(RegisterMap).placed:
        for field, offset in zip(register.fields, register.offsets, strict=True):
            if field.access in accesses:
                yield address, offset, field


def expected_words(control, status):
    """Return what every word reads as."""
    words = {}
    for address, register in params_in_simulator(RegisterMap).placed:
        known = {**control, **status}
        known |= {field.name: 0 for field in register.fields if field.access == "pulse"}
        whole = sum(
            known[field.name] << offset
            for field, offset in zip(register.fields, register.offsets, strict=True)
        )
        for word in range(register.words):
            words[address + 4 * word] = whole >> 32 * word & 0xFFFFFFFF
    return words


@cocotb.test(timeout_time=100, timeout_unit="us")
async def starts_at_the_initial_values(dut):
    await start_upset(dut)
    set_status(dut, random_status())
    await RisingEdge(dut.clk)
    assert control_of(dut) == {field.name: field.init for _, _, field in fields("rw", "pulse")}


class Model:
    """Keeps what is written, which pulses that makes, and the high words that are read later."""

    def __init__(self):
        self.control = {field.name: field.init for _, _, field in fields("rw")}
        self.pulses = {field.name: [] for _, _, field in fields("pulse")}
        self.writable = {address for address, _, _ in fields("rw", "pulse")}
        self.stored = {}

    def write(self, address, value, strobes):
        mask = sum(0xFF << 8 * byte for byte in range(4) if strobes >> byte & 1)
        for at, offset, field in fields("rw", "pulse"):
            ones = (1 << field.bits) - 1
            if at == address and field.access == "rw":
                old = self.control[field.name] << offset
                self.control[field.name] = (old & ~mask | value & mask) >> offset & ones
            elif at == address and (pulse := (value & mask) >> offset & ones):
                self.pulses[field.name].append(pulse)
        return Response.OKAY if address in self.writable else Response.SLVERR

    def read(self, address, status):
        """Return the word, None if it may be anything, and the response."""
        words = expected_words(self.control, status)
        if address not in words:
            return 0, Response.SLVERR
        for first, register in params_in_simulator(RegisterMap).placed:
            later = range(first + 4, first + 4 * register.words, 4)
            if address == first:
                self.stored |= {at: words[at] for at in later}
            elif address in later:  # it is of the cycle in which the first one was read
                return self.stored.get(address), Response.OKAY
        return words[address], Response.OKAY


def shuffled(values):
    return random.sample(values, len(values))


def some_access(words):
    """Draw an address, of a word or beside one, and whether it is written."""
    address, params = random.choice(words), params_in_simulator(RegisterMap)
    if random.random() < 0.5:
        near = address ^ 1 << random.randrange(params.address_bits)
        beyond = random.randrange(1 << params.address_bits)
        address = random.choice((near, beyond, random.randrange(4 * params.words)))
    return address, random.random() < 0.5


@crossed(pause=[never, often])
async def follows_the_map(dut, pause):
    """Any bytes are written and read at any address, while what is reported changes."""
    port, model = Port(dut, pause), Model()
    await start(dut)
    await RisingEdge(dut.clk)
    layout = params_in_simulator(RegisterMap).control
    seen = Recorder(dut, "control", {"control": layout}) if layout.size else None
    words = [*expected_words(model.control, random_status())]
    each = [(address, writes) for writes in (True, False) for address in shuffled(words)]
    for address, writes in each + [some_access(words) for _ in range(80)]:
        set_status(dut, status := random_status())
        if writes:
            value, strobes = random.getrandbits(32), random.choice((15, random.getrandbits(4)))
            assert await port.write(address, value, strobes) == model.write(address, value, strobes)
            settled = control_of(dut)
            assert {name: settled[name] for name in model.control} == model.control
        else:
            word, response = await port.read(address)
            expected, okay = model.read(address, status)
            assert (word, response) == (word if expected is None else expected, okay)
    await RisingEdge(dut.clk)
    shown = [item["control"] for item in seen.beats] if seen else []
    assert model.pulses == {n: [item[n] for item in shown if item[n]] for n in model.pulses}


@crossed(pause=[never, often])
async def running_counters_read_whole(dut, pause):
    """Each field changes all its bits every cycle: only one cycle's value is right."""
    port = Port(dut, pause)
    await start(dut)
    layout = params_in_simulator(RegisterMap).status
    history = []

    async def run():
        while True:
            values = {name: random.getrandbits(field.width) for name, field in layout}
            set_status(dut, values)
            history.append(values)
            await RisingEdge(dut.clk)

    running = cocotb.start_soon(run())
    wide = [
        placed for placed in params_in_simulator(RegisterMap).placed if placed.register.words == 2
    ]
    for _ in range(20 if wide else 0):
        address, register = random.choice(wide)
        begin = len(history)
        low, _ = await port.read(address)
        end = len(history)
        other, _ = random.choice(params_in_simulator(RegisterMap).placed)
        if other != address:
            await port.read(other)  # does not disturb the kept word
        await port.read(address + random.choice([1, 2, 3]))  # nor does one that is refused
        high, _ = await port.read(address + 4)
        again, _ = await port.read(address + 4)
        whole = sorted(
            zip(register.offsets, register.fields, strict=True), key=lambda pair: pair[0]
        )
        seen = [
            sum(values[field.name] << offset for offset, field in whole)
            for values in history[max(0, begin - 1) : end + 1]
        ]
        assert high << 32 | low in seen
        assert again == high
    running.cancel()


@crossed(gap=[-5, -1, 0, 1, 5])
async def address_and_data_come_in_any_order(dut, gap):
    writable = sorted({address for address, _, _ in fields("rw")})
    if not writable:
        return
    port = Port(dut)
    await start(dut)
    await RisingEdge(dut.clk)
    address = writable[-1]
    at, offset, field = next(entry for entry in fields("rw") if entry[0] == address)
    word = random.getrandbits(32)
    first, second = (
        (port.aw, AxiLiteAWTransaction(awaddr=at, awprot=0)),
        (port.w, AxiLiteWTransaction(wdata=word, wstrb=15)),
    )[:: -1 if gap < 0 else 1]
    await first[0].send(first[1])
    await ClockCycles(dut.clk, abs(gap))
    assert port.b.empty()
    await second[0].send(second[1])
    await port.b.recv()
    assert control_of(dut)[field.name] == word >> offset & ((1 << field.bits) - 1)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def keeps_its_latency_and_throughput(dut):
    await start(dut)
    dut.axil_bready.value = 1
    dut.axil_rready.value = 1
    for prefix, answer, latency, period in (
        ("ar", "r", RegisterBlock.read_latency, 4),
        ("aw", "b", RegisterBlock.write_latency, 2),
    ):
        for channel in ("ar", "aw", "w"):
            getattr(dut, f"axil_{channel}valid").value = channel in (prefix, prefix[1:])
        moves = Recorder(dut, f"axil_{prefix}valid", {}, taken=f"axil_{prefix}ready")
        answers = Recorder(dut, f"axil_{answer}valid", {})
        await ClockCycles(dut.clk, 40)
        requested, answered = moves.cycles[:], answers.cycles[:]
        assert [late - early for early, late in pairwise(requested)] == [period] * (
            len(requested) - 1
        )
        assert [b - a for a, b in zip(requested, answered, strict=False)] == [latency] * len(
            answered
        )
        getattr(dut, f"axil_{prefix}valid").value = 0
        dut.axil_wvalid.value = 0
        await ClockCycles(dut.clk, 10)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def answers_wait_for_the_master(dut):
    """One answer waits and one more write is held; none is lost."""
    await start(dut)
    for name in ("bready", "rready", "arvalid"):
        getattr(dut, f"axil_{name}").value = 0
    dut.axil_awvalid.value = 1
    dut.axil_wvalid.value = 1
    dut.axil_awaddr.value = 0
    moved = [Recorder(dut, f"axil_{name}ready", {}) for name in ("aw", "w")]
    await ClockCycles(dut.clk, 20)
    assert [len(item.beats) for item in moved] == [2, 2]
    dut.axil_awvalid.value = 0
    dut.axil_wvalid.value = 0
    dut.axil_bready.value = 1
    answers = Recorder(dut, "axil_bvalid", {})
    await ClockCycles(dut.clk, 10)
    assert len(answers.beats) == 2


@crossed(pause=[never, often, mostly])
async def reads_and_writes_pass_each_other(dut, pause):
    """Both queues are full of accesses at once: each is answered as if it were alone."""
    port = Port(dut, pause)
    await start(dut)
    status = random_status()
    set_status(dut, status)
    await RisingEdge(dut.clk)
    writable = {address for address, _, _ in fields("rw", "pulse")}
    words = expected_words(control_of(dut), status)
    params = params_in_simulator(RegisterMap)
    beyond = 4 * params.words
    # A high word is that of the last low one.
    steady = [(address, words[address]) for address, _ in params.placed if address not in writable]
    reads = random.choices([*steady, (beyond, None)], k=60)
    writes = random.choices([*writable, beyond], k=60)
    for (read, _), write in zip(reads, writes, strict=True):
        port.ar.send_nowait(AxiLiteARTransaction(araddr=read, arprot=0))
        port.aw.send_nowait(AxiLiteAWTransaction(awaddr=write, awprot=0))
        port.w.send_nowait(AxiLiteWTransaction(wdata=random.getrandbits(32), wstrb=15))
    answers = [await port.r.recv() for _ in reads]
    for (_, word), answer in zip(reads, answers, strict=True):
        expected = (0, Response.SLVERR) if word is None else (word, Response.OKAY)
        assert (int(answer.rdata), Response(int(answer.rresp))) == expected
    for write in writes:
        expected = Response.OKAY if write in writable else Response.SLVERR
        assert Response(int((await port.b.recv()).bresp)) == expected
