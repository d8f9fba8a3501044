"""Compares answers to requests of every kind, and registers, with the golden model."""

import random
from functools import partial

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.pcie import descriptors
from hdl.pcie.axis import cc_user, cq_user
from hdl.pcie.completer import Completer
from hdl.pcie.completer_params import CompleterParams
from hdl.pcie.descriptors import ANSWER, HOST_REQUEST
from sim.golden import pcie_completer
from sim.golden.pcie_completer import Answer, Kind, Registers, Request
from sim.golden.pcie_requester import Status
from sim.harness.bench import Bench
from sim.harness.coincidences import apart, pulse
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS, crossed, never
from tests.simulated import simulated

SIZES = [CompleterParams(bar=2), CompleterParams(data_bits=256)]
BYTES, ABSENT = 128, 2048  #: of registers; where there are none, and the BAR refuses

test_completer = simulated(Completer, SIZES, __name__)


def test_kinds_are_the_golden_model_s():
    own = {item.name: item.value for item in descriptors.RequestType}
    assert own == {item.name: item.value for item in pcie_completer.Kind}


class CompleterBench(Bench):
    """A block that hands requests on and takes answers, and registers of which some refuse."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.present = random.getrandbits(48) << 16  # where the host has placed the BAR
        words = {at: at * random.getrandbits(20) for at in range(0, BYTES, 4) if some_bits(at)}
        self.golden = Registers(bar=self.params.bar, words=words)
        self.words = dict(words)  # those of the slave
        self.silent = False  # the slave answers nothing
        self.required, self.taken = [], []  # answers
        self.sent = 0
        self.events = self.tally()
        for task in (self.write_slave(), self.read_slave()):
            cocotb.start_soon(task)

    def issue(self, request, answer=...):
        """Add a request with its ``answer``, which is the golden model's if none is given."""
        self.sent += 1
        head = {
            "address": (self.present + request.address) // 4,
            "dwords": request.dwords,
            "kind": int(request.kind),
            "bar": request.bar,
            **{name: random.getrandbits(HOST_REQUEST[name].width) for name in COPIED},
        }
        descriptor = pack(HOST_REQUEST, head)
        dwords = [descriptor >> 32 * k & 0xFFFFFFFF for k in range(4)] + list(request.data)
        lanes = self.params.data_bits // 32
        wide = self.params.data_bits == 512
        for k in range(0, len(dwords), lanes):
            part, last = dwords[k : k + lanes], k + lanes >= len(dwords)
            enables = {
                name: [mask, random.getrandbits(4)] if wide else mask
                for name, mask in zip(("first_enable", "last_enable"), request.enables, strict=True)
            }
            user = {**enables, "discontinue": request.discontinued and last}
            bits = sum(dword << 32 * place for place, dword in enumerate(part))
            bits |= random.getrandbits(self.params.data_bits) >> 32 * len(part) << 32 * len(part)
            beat = {"tdata": bits, "tkeep": (1 << len(part)) - 1, "tlast": last}
            self.cq.append(beat | {"tuser": pack(cq_user(32 * lanes), user)})
        if answer is ...:
            answer = self.golden.take(request)
        if answer is not None:
            self.required.append((request, head, descriptor, answer))

    async def finish(self):
        """Every request has been taken, and every answer is right."""
        await self.events.reach("taken", self.sent)
        await self.wait(10)
        assert self.events["taken"] == self.sent
        for got, expected in zip(self.answers, self.required, strict=True):
            self.compare(*got, *expected)
        assert self.words == self.golden.words
        assert {name: self.events[name] for name in self.golden.counts} == self.golden.counts

    def compare(self, result, dwords, request, head, descriptor, answer):
        """Check that an answer is the golden model's, and goes to who asked."""
        status = Status(int(result["status"].value))
        assert (status, result["bytes"], result["address"]) == (
            answer.status,
            answer.count,
            answer.lower_address,
        ), request
        assert {name: result[name] for name in COPIED} == {name: head[name] for name in COPIED}
        assert result["locked"] == (request.kind == Kind.LOCKED_READ)
        for name in ("poisoned", "completer_enable", "force_ecrc", "bus"):
            assert not result[name]
        if status == Status.SUCCESS:
            assert result["dwords"] == len(dwords) == len(answer.data)
            for dword, expected in zip(dwords, answer.data, strict=True):
                assert dword == (expected or 0)  # nothing of earlier answers where none was asked
        else:
            first, last = request.enables
            assert result["dwords"] == 0
            assert dwords == [
                first | last << 4,
                *(descriptor >> 32 * k & 0xFFFFFFFF for k in range(4)),
            ]

    @property
    def answers(self):
        """Return the answers that have come, each in one beat."""
        bits = self.params.data_bits
        for beat in self.cc.beats:
            count = beat["tkeep"].bit_count()
            assert beat["tlast"]
            assert beat["tkeep"] == (1 << count) - 1
            if bits == 512:
                user = unpack(cc_user(bits), beat["tuser"])
                assert (user["starts"], user["ends"], user["end_dword"][0]) == (1, 1, count - 1)
            result = unpack(ANSWER, beat["tdata"] & (1 << 96) - 1)
            dwords = [beat["tdata"] >> 32 * k & 0xFFFFFFFF for k in range(3, count)]
            self.taken.append((result, dwords))
        self.cc.take()
        return self.taken

    async def write_slave(self):
        """Take AW and W in any order, and answer with B."""
        dut, address, data = self.dut, None, None
        while True:
            await RisingEdge(dut.clk)
            if dut.axil_awvalid.value and dut.axil_awready.value:
                address = int(dut.axil_awaddr.value)
            if dut.axil_wvalid.value and dut.axil_wready.value:
                data = int(dut.axil_wdata.value), int(dut.axil_wstrb.value)
            if dut.axil_bvalid.value and dut.axil_bready.value:
                dut.axil_bvalid.value = 0
            elif address is not None and data and not (self.silent or self.sink_stall()):
                self.words, refused = written(self.words, address, *data)
                dut.axil_bvalid.value, dut.axil_bresp.value = 1, 2 * refused
                address = data = None
            dut.axil_awready.value = address is None and not self.sink_stall()
            dut.axil_wready.value = data is None and not self.sink_stall()

    async def read_slave(self):
        """Take AR, and answer with R."""
        dut, address = self.dut, None
        while True:
            await RisingEdge(dut.clk)
            if dut.axil_arvalid.value and dut.axil_arready.value:
                address = int(dut.axil_araddr.value)
            if dut.axil_rvalid.value and dut.axil_rready.value:
                dut.axil_rvalid.value = 0
            elif address is not None and not (self.silent or self.sink_stall()):
                dut.axil_rvalid.value, dut.axil_rresp.value = 1, 2 * (address not in self.words)
                dut.axil_rdata.value = self.words.get(address, 0xBAD)
                address = None
            dut.axil_arready.value = address is None and not self.sink_stall()

    async def tick(self, count):
        for _ in range(count):
            await self.strobe(tick=1)
            await self.wait(12)


#: fields that an answer has of its request
COPIED = ("address_type", "requester", "tag", "function", "traffic_class", "attributes")


def some_bits(at):
    """Return whether there is a register: any may refuse but the first few."""
    return at < 16 or random.random() < 0.8


def written(words, address, value, strobes):
    """Return the words after a write of a slave, and whether it refuses."""
    if address not in words:
        return words, True
    lanes = sum(0xFF << 8 * place for place in range(4) if strobes >> place & 1)
    return {**words, address: words[address] & ~lanes | value & lanes}, False


def some_enables(dwords):
    """Draw byte enables that are allowed, with holes where these are."""
    if dwords == 1:
        return random.choice([15, random.getrandbits(4)]), 0
    if dwords == 2:
        return random.randrange(1, 16), random.randrange(1, 16)
    return random.choice([15, 14, 12, 8]), random.choice([15, 7, 3, 1])


def some_request(params, kind=None, dwords=None):
    """Draw a read or write of registers, within the BAR, some of which refuse."""
    kind = random.choice([Kind.MEMORY_READ, Kind.MEMORY_WRITE]) if kind is None else kind
    dwords = random.choice([1, 1, 2]) if dwords is None else dwords
    data = ()
    if kind == Kind.MEMORY_WRITE:
        data = tuple(random.choice([0, random.getrandbits(32)]) for _ in range(dwords))
    at = 4 * random.randrange(BYTES // 4 - 1) if random.random() < 0.8 else ABSENT
    return Request(kind, at, dwords, some_enables(dwords), data, bar=params.bar)


def odd_requests(params):
    """Draw requests that no register is asked by, and broken ones."""
    bar = params.bar
    for kind in (Kind.IO_READ, Kind.IO_WRITE, Kind.FETCH_ADD, Kind.SWAP, Kind.COMPARE_SWAP):
        yield Request(kind, 0, 1, (15, 0), (1,) if kind != Kind.IO_READ else (), bar=bar)
    yield Request(Kind.LOCKED_READ, 8, 2, (12, 3), bar=bar)
    for kind in (Kind.MESSAGE, Kind.VENDOR_MESSAGE, Kind.ATS_MESSAGE):
        yield Request(kind, 0, 1, (15, 0), (random.getrandbits(32),), bar=bar)
    for dwords in (3, 4, 5, 20, 40):
        yield some_request(params, Kind.MEMORY_READ, dwords)
        yield some_request(params, Kind.MEMORY_WRITE, dwords)
    yield Request(Kind.MEMORY_READ, 0, 1024, (15, 15), bar=bar)
    yield Request(Kind.MEMORY_READ, 0, 1, (15, 0), bar=bar ^ 1)
    yield Request(Kind.MEMORY_WRITE, 0, 1, (15, 0), (5,), bar=bar ^ 1)
    for count in (0, 1, 3, 20):  # not the two dwords that it says it has
        yield Request(Kind.MEMORY_WRITE, 0, 2, (15, 15), (7,) * count, bar=bar)
    for count in (1, 12):
        yield Request(Kind.MEMORY_READ, 0, 1, (15, 0), (7,) * count, bar=bar)
    yield Request(Kind.MEMORY_WRITE, 0, 1, (15, 0), (9,), bar=bar, discontinued=True)
    yield Request(Kind.MEMORY_WRITE, 4, 2, (15, 15), (9, 9), bar=bar, discontinued=True)


@crossed(stalls=STALLS)
async def registers_are_read_and_written(dut, stalls):
    """All byte enables work; unsupported or broken requests between them disturb nothing."""
    bench = await CompleterBench(dut, stalls.value).begin()
    requests = [some_request(bench.params) for _ in range(80)] + list(odd_requests(bench.params))
    for enables in range(16):
        requests.append(Request(Kind.MEMORY_READ, 4, 1, (enables, 0), bar=bench.params.bar))
        requests.append(
            Request(Kind.MEMORY_WRITE, 4, 1, (enables, 0), (enables,), bench.params.bar)
        )
    for ends in range(16):  # of the bytes that are asked for, in both dwords
        enables = 1 << ends % 4, 1 << ends // 4
        requests.append(Request(Kind.MEMORY_READ, 4, 2, enables, bar=bench.params.bar))
    random.shuffle(requests)
    for request in requests:
        bench.issue(request)
    await bench.finish()


@crossed(kind=[Kind.MEMORY_READ, Kind.MEMORY_WRITE])
async def a_register_that_does_not_answer(dut, kind):
    """The host has its answer after two ticks; later requests fail at once until it wakes."""
    bench = await CompleterBench(dut).begin()
    posted = kind == Kind.MEMORY_WRITE
    abort = None if posted else Answer(Status.ABORTED, 4, 0)
    bench.silent = True
    requested = Request(kind, 0, 1, (15, 0), (0x5A,) if posted else (), bench.params.bar)
    bench.issue(requested, abort)
    await bench.tick(1)
    assert not bench.events["taken"]
    await bench.tick(2)
    assert bench.events["taken"] == 1
    assert dut.broken.value
    for _ in range(3):
        bench.issue(requested, abort)
    await ClockCycles(dut.clk, 60)
    assert bench.events["taken"] == 4
    assert bench.events["refused"] == bench.golden.counts["refused"] + 4
    bench.golden.counts["refused"] = 4
    if posted:
        bench.golden.words[0] = 0x5A  # the write that was late has been done all the same
    bench.silent = False
    await ClockCycles(dut.clk, 10)
    assert not dut.broken.value
    for _ in range(20):
        bench.issue(some_request(bench.params))
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_answer_beside_the_time_out(dut):
    """The host has it or an abort, and the registers work as before."""
    bench = await CompleterBench(dut).begin()
    aborted = []
    for distance in range(-4, 5):
        bench.silent = True
        bench.issue(Request(Kind.MEMORY_READ, 0, 1, (15, 0), bar=bench.params.bar), None)
        await bench.tick(2)  # the first before the access
        await apart(dut, pulse(dut, "tick"), partial(setattr, bench, "silent", False), distance)
        await ClockCycles(dut.clk, 20)
        aborted.append(bench.answers.pop()[0]["status"].value == Status.ABORTED)
        bench.golden.counts["refused"] += aborted[-1]
        bench.issue(some_request(bench.params))
        await bench.finish()
    assert set(aborted) == {False, True}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_storm_while_answers_wait(dut):
    """Hundreds of accesses while the link takes no answer for long: none is lost."""
    waits = [True]
    bench = await CompleterBench(dut, (never, lambda: waits[0])).begin()
    for _ in range(300):
        bench.issue(some_request(bench.params))
    for _ in range(12):
        await ClockCycles(dut.clk, 40)
        waits[0] = not waits[0]
    waits[0] = False
    await bench.finish()
