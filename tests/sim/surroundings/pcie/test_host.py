"""Tests a simulated host by requests, and by others' decoders of the block's streams."""

import random
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi.stream import define_stream
from cocotbext.pcie.core.tlp import TlpType
from cocotbext.pcie.xilinx.us.interface import RcSink, RqSource
from cocotbext.pcie.xilinx.us.tlp import Tlp_us

from hdl.pcie.descriptors import ErrorCode, Status
from sim.golden.pcie_link import completion_bytes, cut_at, read_bytes, write_bytes
from sim.golden.pcie_requester import BOUNDARIES, Read, next_ends, some_split
from sim.harness.payloads import pack, unpack
from sim.harness.streams import cycle, started
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.pcie.host import PcieHost
from sim.surroundings.pcie.params import (
    COUNTS,
    HOST_ARRAY,
    PcieHostParams,
    Split,
    host_dump,
    host_file,
    pcie_host_settings,
)
from sim.surroundings.side_port import SidePort

INDEX = 3
SIZE = 1 << 14  #: bytes of host memory
CAUGHT = 100_000  #: nanoseconds within which whatever a test waits for happens
CONTENT = bytearray()  # the host keeps it from one cocotb test to the next
Bus, *_ = define_stream("Pcie", signals=["tvalid", "tready", "tdata", "tkeep", "tlast", "tuser"])


@pytest.mark.parametrize(
    "params",
    [PcieHostParams(address_bits=20), PcieHostParams(data_bits=256)],
    ids=lambda params: params.suffix,
)
def test_pcie_host(params, tmp_path, rng):
    content, dump = tmp_path / "content.bin", tmp_path / "dump.bin"
    content.write_bytes(rng.bytes(SIZE))
    simulate(
        PcieHost(params),
        __name__,
        extra_sources=[HOST_ARRAY],
        plusargs=[host_file(INDEX, content), host_dump(INDEX, dump)],
    )


class Card:
    """Sends requests, and collects what comes of them."""

    def __init__(self, dut, **settings):
        self.dut, self.params = dut, params_in_simulator(PcieHostParams)
        if not CONTENT:
            CONTENT.extend(Path(cocotb.plusargs[f"pcie_host_{INDEX}"]).read_bytes())
        dut.index.value, dut.dump.value, dut.resets.value = INDEX, 0, 0
        self.memory = SidePort(dut, self.params)
        self.rq = RqSource(Bus.from_prefix(dut, "rq"), dut.clk, dut.rst)
        self.rc = RcSink(
            Bus.from_prefix(dut, "rc"), dut.clk, dut.rst, segments=self.params.segments
        )
        self.set(**settings)

    def set(self, **settings):
        usual = {"latency": 0, "seed": random.randrange(1, 1 << 32)} | settings
        self.settings = pcie_host_settings(self.params, **usual)
        self.dut.settings.value = pack(self.params.settings, self.settings)

    async def read(self, tag, read):
        await self.send(TlpType.MEM_READ_64, read.address, read.dwords, read.byte_enables, tag)

    async def write(self, address, payload):
        skip = address % 4
        dwords = -(-(skip + len(payload)) // 4)
        first, last = 0xF << skip & 0xF, 0xF >> -(skip + len(payload)) % 4
        enables = (first & last, 0) if dwords == 1 else (first, last)
        filled = random.randbytes(skip) + payload
        filled += random.randbytes(4 * dwords - len(filled))
        await self.send(TlpType.MEM_WRITE_64, address - skip, dwords, enables, 0, filled)
        if address + len(payload) <= SIZE:
            CONTENT[address : address + len(payload)] = payload

    async def send(self, kind, address, dwords, enables, tag, payload=b""):
        tlp = Tlp_us()
        tlp.fmt_type, tlp.address, tlp.length, tlp.tag = kind, address, dwords, tag
        tlp.first_be, tlp.last_be = enables
        tlp.data = bytearray(payload)
        await self.rq.send(tlp.pack_us_rq())

    async def completion(self):
        result = await with_timeout(self.rc.recv(), CAUGHT, "ns")
        return Tlp_us.unpack_us_rc(result)

    async def answers(self, count):
        """Return the completions of this many reads, by tags, and the tags of all completions."""
        result, order, ended = {}, [], 0
        while ended < count:
            tlp = await self.completion()
            result.setdefault(tlp.tag, []).append(tlp)
            order.append(tlp.tag)
            ended += bool(tlp.request_completed)
        return result, order

    def counts(self):
        return unpack(COUNTS, int(self.dut.counts.value))


def some_read():
    """Draw a read of a place and size near those of boundaries, dwords and pages."""
    size = random.choice([random.randrange(1, 40), random.randrange(1, 600), 64, 128, 512, 4096])
    address = 4 * random.randrange(SIZE // 4)
    return Read(address, min(size, 4096 - address % 4096))


def check(read, parts, settings):
    """Compare an answer with what a host may do, and with how it is set to do it."""
    payload, boundary = 128 << settings["payload"], BOUNDARIES[settings.get("boundary", 0)]
    at, ends = read.address, []
    for tlp in parts:
        assert tlp.error_code == ErrorCode.GOOD.value
        assert tlp.lower_address == at % 4096
        assert tlp.byte_count == read.end - at
        end = min(at + 4 * tlp.length, read.end)
        assert end in next_ends(read, at, payload, boundary)
        assert bytes(tlp.data)[: end - at] == CONTENT[at:end]
        assert len(tlp.data) == 4 * tlp.length
        assert bool(tlp.request_completed) == (tlp is parts[-1])
        ends.append(end)
        at = end
    assert at == read.end
    match Split(settings["split"]):
        case Split.LARGEST:
            split = some_split(read, payload, boundary, max)
            assert ends == [item.address for item in split[1:]] + [read.end]
        case Split.EVERY:
            split = some_split(read, payload, boundary, min)
            assert ends == [item.address for item in split[1:]] + [read.end]
        case Split.ALIGNED:
            assert ends == [end for _, end in cut_at(read.address, read.end, payload)]


@cocotb.test()
@cocotb.parametrize(
    split=list(Split),
    path=[
        {"payload": 0, "window": 1},
        {"payload": 1, "window": 8, "stall": 100},
        {"payload": 2, "window": 3, "boundary": 1},
        {"payload": 5, "window": 8, "boundary": 1, "rate": 0xFFFF},
    ],
)
async def every_read_is_answered(dut, split, path):
    """Parts are legal and in order; with a window of one all are in the order of reads."""
    card = await started(Card(dut, split=split.value, **path))
    reads = [some_read() for _ in range(60)]
    sent = cocotb.start_soon(send_all(card, reads))
    result, order = await card.answers(len(reads))
    await sent
    for tag, read in enumerate(reads):
        check(read, result[tag], card.settings)
    assert (order == sorted(order)) == (path["window"] == 1)
    lengths = [tlp.length for parts in result.values() for tlp in parts]
    counts = card.counts()
    assert counts["reads"] == len(reads)
    assert counts["up"] == len(reads) * read_bytes()
    assert counts["completions"] == len(lengths)
    assert counts["payload"] == 4 * sum(lengths)
    assert counts["down"] == sum(completion_bytes(4 * length) for length in lengths)
    assert [counts[name] for name in ("writes", "unsupported", "lost")] == [0, 0, 0]


async def send_all(card, reads):
    for tag, read in enumerate(reads):
        await card.read(tag, read)


@cocotb.test()
async def random_splits_are_many(dut):
    """A read of four boundaries is divided in each of the eight ways."""
    card = await started(Card(dut, split=Split.RANDOM.value))
    ways, rounds = set(), 0
    while len(ways) < 8 and rounds < 10:
        rounds += 1
        await send_all(card, [Read(0, 256)] * 100)
        for _ in range(100):
            path = []
            while not (path and path[-1].request_completed):
                path.append(await card.completion())
            ways.add(tuple(tlp.length for tlp in path))
    assert len(ways) == 8


@cocotb.test()
@cocotb.parametrize(stall=[0, 100])
async def writes_change_memory(dut, stall):
    """Bytes of any place and number are written; reads after them find them, and so does a host."""
    card = await started(Card(dut, stall=stall))
    total = 0
    for _ in range(40):
        size = random.choice([random.randrange(1, 9), random.randrange(1, 256), 128, 256])
        address = random.randrange(SIZE - size)
        await card.write(address, random.randbytes(size))
        total += write_bytes(4 * (-(-(address % 4 + size) // 4)))
    for tag in range(SIZE // 4096):
        await card.read(tag, Read(4096 * tag, 4096))
    result, _ = await card.answers(SIZE // 4096)
    for tag, parts in result.items():
        check(Read(4096 * tag, 4096), parts, card.settings)
    counts = card.counts()
    assert (counts["writes"], counts["lost"]) == (40, 0)
    assert counts["up"] == total + read_bytes() * (SIZE // 4096)
    assert await card.memory.read_memory(1001, 5000) == CONTENT[1001:6001]
    await card.memory.write_memory(77, b"of the host itself")
    CONTENT[77:95] = b"of the host itself"
    await card.read(0, Read(0, 128))
    check(Read(0, 128), (await card.answers(1))[0][0], card.settings)
    dut.dump.value = 1
    await ClockCycles(dut.clk, 3)
    assert Path(cocotb.plusargs[f"pcie_dump_{INDEX}"]).read_bytes() == CONTENT


@cocotb.test()
async def where_there_is_no_memory(dut):
    """Reads are unsupported and writes are lost; what is between them is as always."""
    card = await started(Card(dut))
    places = [SIZE, SIZE + 3968, 1 << 40, 64, SIZE - 4]
    for place in (SIZE - 8, SIZE, 1 << 40):  # of the first one eight bytes are there
        await card.write(place, bytes(16))
    CONTENT[SIZE - 8 :] = bytes(8)
    for tag, place in enumerate(places):
        await card.read(tag, Read(place, 128 if place != SIZE - 4 else 4))
    result, _ = await card.answers(len(places))
    for tag, place in enumerate(places):
        if tag < 3:
            (tlp,) = result[tag]
            assert tlp.status.value == Status.UNSUPPORTED.value
            assert tlp.error_code == ErrorCode.BAD_STATUS.value
            assert (tlp.length, tlp.byte_count) == (0, 128)
        else:
            check(Read(place, 128 if tag == 3 else 4), result[tag], card.settings)
    assert (card.counts()["unsupported"], card.counts()["lost"]) == (3, 3)


@cocotb.test()
@cocotb.parametrize(latency=[PcieHost.least_latency, 100, 375])
async def a_read_alone(dut, latency):
    """It takes the latency, and what its bytes take on the link."""
    card = await started(Card(dut, latency=latency))
    for tag, size in enumerate([4, 256]):
        await card.read(tag, Read(0, size))
        sent = await begins(dut, "rq")
        answered = await begins(dut, "rc")
        await card.completion()
        carried = -(-completion_bytes(size) * 256 // card.settings["rate"])
        assert answered - sent == latency + carried - 1


async def begins(dut, name):
    """Return the next cycle in which a beat of a stream moves."""
    valid, ready = getattr(dut, f"{name}_tvalid"), getattr(dut, f"{name}_tready")
    while True:
        await RisingEdge(dut.clk)
        if valid.value and ready.value:
            return cycle()


@cocotb.test()
@cocotb.parametrize(size=[64, 128, 512])
async def as_much_as_the_link_carries(dut, size):
    """Reads back to back fill the link from the host, to a byte in a thousand."""
    card = await started(Card(dut, latency=100))
    cocotb.start_soon(send_all(card, [Read(size * k % SIZE, size) for k in range(256)] * 2))
    moments = []
    for _ in range(2):
        await card.answers(100)
        moments.append((cycle(), card.counts()["down"]))
    (begin, before), (end, after) = moments
    carried = (after - before) * 256 / (end - begin)
    assert abs(carried / card.settings["rate"] - 1) < 0.01


@cocotb.test()
async def writes_as_the_link_carries_them(dut):
    card = await started(Card(dut, rate=16 << 8))
    await card.write(0, bytes(256))
    begin = await begins(dut, "rq")
    for _ in range(30):
        await card.write(0, bytes(256))
    while card.counts()["writes"] < 31:
        await RisingEdge(dut.clk)
    assert abs((cycle() - begin) * 16 - 30 * write_bytes(256)) < 2 * 16


@cocotb.test()
@cocotb.parametrize(most=[1, 20])
async def as_many_reads_as_the_host_takes(dut, most):
    """The others wait, and ``credits`` says how many more there may be."""
    card = await started(Card(dut, latency=300, reads=most))
    await ClockCycles(dut.clk, 2)
    assert dut.credits.value == min(15, most)
    cocotb.start_soon(send_all(card, [Read(0, 64)] * (most + 5)))
    await ClockCycles(dut.clk, 100)
    assert card.counts()["reads"] == most
    assert not dut.credits.value
    await card.answers(most + 5)
    assert card.counts()["most"] == most


ONE = Read(0, 60)
GOOD, NO_END = {"completed": 1}, {}
#: answers that a read may get: fields of each completion that differ from a good completion's
FAULTS = [
    [GOOD],
    [GOOD | {"poisoned": 1}],
    [GOOD | {"poisoned": 1, "code": ErrorCode.POISONED}],
    [GOOD | {"code": ErrorCode.BAD_STATUS, "status": Status.UNSUPPORTED, "dwords": -15}],
    [GOOD | {"code": ErrorCode.BAD_STATUS, "status": Status.ABORTED, "dwords": -15}],
    [GOOD | {"code": ErrorCode.LENGTH, "dwords": -15}],
    [GOOD | {"bytes": 64}],
    [GOOD | {"dwords": 1}],
    [GOOD | {"address": 4}],
    [GOOD | {"code": ErrorCode.ADDRESS}],
    [GOOD | {"code": ErrorCode.MISMATCH}],
    [GOOD | {"discontinued": 1}],
    [NO_END, GOOD | {"code": ErrorCode.TIMEOUT, "dwords": -15, "bytes": -60}],
    [GOOD, GOOD | {"code": ErrorCode.INVALID_TAG}],
    [GOOD | {"code": ErrorCode.TIMEOUT, "dwords": -15, "bytes": -60}],
]


def results_of(tlp):
    """Return the fields of a completion that differ from a good one of the whole read."""
    result = {
        "code": ErrorCode(tlp.error_code),
        "status": Status(int(tlp.status)),
        "poisoned": int(tlp.ep),
        "discontinued": int(tlp.discontinue),
        "dwords": tlp.length - ONE.dwords,
        "bytes": tlp.byte_count - ONE.size,
        "address": tlp.lower_address,
        "completed": int(bool(tlp.request_completed)),
    }
    usual = {"code": ErrorCode.GOOD, "status": Status.SUCCESS}
    return {name: value for name, value in result.items() if value != usual.get(name, 0)}


@cocotb.test()
async def faults_of_every_kind(dut):
    """Every kind of fault comes, and each read ends, at the latest by a time-out."""
    card = await started(Card(dut, faults=0xFFFF, timeout=300, window=4, rate=8 << 8))
    await send_all(card, [ONE] * 250)
    result = {}
    while sum(said[-1].get("completed", 0) for said in result.values()) < 250 or ways(result) < 15:
        tlp = await card.completion()
        result.setdefault(tlp.tag, []).append(results_of(tlp))
    for said in result.values():
        assert said in FAULTS
    assert all(said in result.values() for said in FAULTS)


def ways(result):
    return len({str(said) for said in result.values()})


@cocotb.test()
async def resets_end_all_reads(dut):
    """At once, by the block's code; those that come later are answered."""
    card = await started(Card(dut, latency=4000))
    await send_all(card, [ONE] * 20)
    while card.counts()["reads"] < 20:
        await RisingEdge(dut.clk)
    begin, dut.resets.value = cycle(), 1
    result, _ = await card.answers(20)
    assert cycle() - begin < 300
    for said in result.values():
        assert list(map(results_of, said)) == [GOOD | {"code": ErrorCode.FLR, "dwords": -15}]
    dut.resets.value = 0
    card.set()
    await card.read(20, ONE)
    assert list(map(results_of, (await card.answers(1))[0][20])) == [GOOD]
