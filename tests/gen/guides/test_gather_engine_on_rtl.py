"""Drives a gather engine's RTL by a host made from the guide alone, beside the guide's model.

``gather_engine_from_the_guide`` knows nothing of the project; the slot that the card is in, device
memory and the consumer of rows are those of the engine's own tests.
"""

import random
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge

from gen.guides.gather_engine import guide, values
from sim.gather.card_driver import CardDriver
from sim.gather.surroundings.card_system import CardParams
from sim.harness.payloads import pack
from sim.harness.verilator import params_in_simulator
from tests.gen.guides import gather_engine_from_the_guide as independent
from tests.gen.guides.bench import RegisterHost
from tests.gen.guides.snic_from_the_guide import Registers
from tests.gen.guides.test_gather_engine import known_host, known_request
from tests.hdl.gather.engine_bench import DEVICE_BYTES, HOST_BYTES, SIZES, run_tests
from tests.hdl.gather.test_engine_ends import Consumer

COMPLETIONS, IDXS, TABLE = 0xF00, 0, 0x1000  #: what lies where, in the host's memory
CARD_IDXS = 0x8000  #: where idxs are in device memory
MOST_LINK_READ = 512  #: that the host allows
ILLEGAL = (
    {"idx_address": 2},
    {"base": TABLE + 2},
    {"row_bytes": 4100},
    {"row_bytes": 0},
    {"stride": 1 << 14},
    {"rows": 1 << 20},
    {"order": 3},
    {"destination": DEVICE_BYTES - 4, "streamed": 0},
)


def test_the_model_answers_as_the_hardware_does(tmp_path):
    run_tests(SIZES[0], __name__, tmp_path)


class Host(RegisterHost):
    """A host with registers at the addresses of the guide, and memory from address 0 on."""

    def __init__(self, dut, memory):
        self.dut, self.params = dut, params_in_simulator(CardParams)
        text = guide(self.params.engine)
        self.registers = Registers(text)
        self.card = CardDriver(dut, self.params, memory.tobytes())
        assert self.card.base == 0
        self.counters = [name for _, name, _ in values(self.params.engine)["counts"]]
        self.most_read = independent.largest_read(text)
        self.settings = {name: 0 for name, _ in self.params.ram.settings}
        self.sizes = None

    async def begin(self):
        """Take steps 1 to 3."""
        self.dut.settings.value = pack(self.params.ram.settings, self.settings)
        await self.card.begin()
        self.bus = self.card.registers.axil
        told = values(self.params.engine)
        assert f"0x{await self.read('identity'):08X}" == told["identity"]
        assert await self.read("version") == told["version"]
        names = [name for name in independent.Sizes.__annotations__ if name != "max_read"]
        fields = {name: await self.read(name) for name in names}
        self.sizes = independent.Sizes(**fields, max_read=self.most_read)
        await self.make(self.registers.command("clear_counters"))

    async def counter(self, name):
        """Read a counter by the number that the guide has for it."""
        await self.make(self.registers.write(engine_counter=self.counters.index(name)))
        return await self.read("engine_count")

    def put(self, place, content):
        """Write the host's memory."""
        self.card.memory.mem[place : place + len(content)] = bytes(content)

    async def submit(self, request):
        """Take steps 4 and 5."""
        self.put(request.completion // 16 * 16, bytes(16))
        await self.make(independent.submit_writes(self.registers, request))

    async def completed(self, request):
        """Take step 6; return the completion."""
        place = request.completion // 16 * 16
        while not self.card.memory.mem[place + 15] >> 7:
            await ClockCycles(self.dut.clk, 20)
        return bytes(self.card.memory.mem[place : place + 16])

    async def device(self):
        """Return device memory."""
        return np.frombuffer(await self.card.device(0, DEVICE_BYTES), np.uint8).copy()

    def carry_out(self, device, request):
        """Do what is asked by the model."""
        largest = min(MOST_LINK_READ, self.most_read)
        return independent.carry_out(self.card.host(), device, request, self.sizes, largest)


def idx_array(request, idxs):
    """Return the bytes of an idx array."""
    return np.array(idxs, f"<u{request.idx_bytes}").tobytes()


@cocotb.test(timeout_time=500, timeout_unit="us")
async def the_known_answer(dut):
    host = Host(dut, known_host(values(params_in_simulator(CardParams).engine)["known"]))
    await host.begin()
    known = values(host.params.engine)["known"]
    request, asked = known_request(known), host.card.interrupts
    before = await host.device()
    await host.submit(request)
    while host.card.interrupts == asked:
        await RisingEdge(dut.clk)
    assert (await host.completed(request)).hex(" ") == known["completion"]
    for address, octets, _ in known["written"]:
        found = await host.card.device(int(address, 16), 8)
        assert found.hex(" ") == octets
        before[int(address, 16) :][:8] = np.frombuffer(found, np.uint8)
    assert np.array_equal(await host.device(), before)
    counts = {name: await host.counter(name) for name in ("rows", "rows_beyond", "reads")}
    assert counts == {"rows": 4, "rows_beyond": 1, "reads": len(known["reads"])}


def some_request(number):
    """Draw idxs and a request for them; every fourth breaks a rule."""
    size = random.choice([4, 8, 60, 64, 132, 4 * random.randrange(1, 200)])
    stride = size + random.choice([0, 0, 4, 60])
    base = TABLE + 4 * random.randrange(64)
    rows = (HOST_BYTES - base) // stride
    count = random.randrange(30)
    request = independent.Request(
        idx_address=IDXS + 8 * random.randrange(8),
        count=count,
        base=base,
        rows=rows,
        row_bytes=size,
        stride=stride,
        completion=COMPLETIONS + 16 * random.randrange(8),
        destination=4 * random.randrange((CARD_IDXS - size * count) // 4),
        tag=random.randrange(1 << 16),
        wide=random.randrange(2),
        streamed=random.randrange(2),
        order=random.randrange(3),
        coalesce=random.randrange(2),
    )
    if number % 4 == 3:
        request = replace(request, count=max(count, 1), **random.choice(ILLEGAL))
    few = [random.randrange(rows) for _ in range(5)]
    idxs = [random.choice([*few, random.randrange(rows), rows]) for _ in range(request.count)]
    return idxs, request


async def put_on_card(host, octets):
    """Bring idxs into device memory, as rows of 4 bytes."""
    words = len(octets) // 4
    host.put(TABLE, octets)
    host.put(IDXS, np.arange(words, dtype="<u4").tobytes())
    sizes = {"rows": words + 1, "row_bytes": 4, "stride": 4}
    bring = independent.Request(
        idx_address=IDXS,
        count=words,
        base=TABLE,
        completion=COMPLETIONS,
        destination=CARD_IDXS,
        **sizes,
    )
    await host.submit(bring)
    assert (await host.completed(bring))[2] == independent.DONE


@cocotb.test(timeout_time=2000, timeout_unit="us")
async def requests_of_all_kinds(dut):
    """Completions, all of device memory, all rows and the reads of the link are compared."""
    host = Host(dut, np.frombuffer(random.randbytes(HOST_BYTES), np.uint8))
    consumer = Consumer(host)
    await host.begin()
    outcomes = set()
    for number in range(32):
        idxs, request = some_request(number)
        if number % 3 == 2 and idxs and number % 4 != 3:
            await put_on_card(host, idx_array(request, idxs))
            request = replace(request, on_card=1, idx_address=CARD_IDXS)
        host.put(request.idx_address if not request.on_card else IDXS, idx_array(request, idxs))
        device = await host.device()
        told = host.carry_out(device, request)
        await host.make(host.registers.command("clear_counters"))
        await host.submit(request)
        assert await host.completed(request) == told.completion, request
        outcomes.add(told.completion[2])
        assert np.array_equal(await host.device(), device)
        await ClockCycles(dut.clk, 4)
        assert consumer.rows() == (told.rows if request.streamed else [])
        assert await host.counter("rows") == len(told.rows)
        reads, octets = [await host.counter(name) for name in ("reads", "read_bytes")]
        assert reads <= len(told.reads)
        if not request.coalesce:
            assert (reads, octets) == (len(told.reads), sum(size for _, size in told.reads))
    assert outcomes == {independent.DONE, independent.ILLEGAL}


@cocotb.test(timeout_time=500, timeout_unit="us")
async def where_the_host_has_no_memory(dut):
    """Rows or idxs lie past its end: outcome, cause, counts and bytes are compared."""
    host = Host(dut, np.frombuffer(random.randbytes(HOST_BYTES), np.uint8))
    await host.begin()
    stride, far = (1 << 14) - 4, 1 << 19  # the row of idx 3 is there in part
    host.put(IDXS, np.array([1, far, 2, 3, 2 * far], "<u4").tobytes())
    request = independent.Request(
        idx_address=IDXS,
        count=5,
        base=HOST_BYTES - 512 - 3 * stride,
        rows=2 * far - 1,
        row_bytes=1024,
        stride=stride,
        completion=COMPLETIONS,
        destination=64,
        tag=9,
    )
    for asked, outcome in (
        (request, independent.ROWS),
        (replace(request, idx_address=1 << 40), independent.IDXS),
    ):
        device = await host.device()
        told = host.carry_out(device, asked)
        assert told.completion[2] == outcome | independent.UNSUPPORTED << 4
        await host.submit(asked)
        assert await host.completed(asked) == told.completion
        assert np.array_equal(await host.device(), device)


@cocotb.test(timeout_time=500, timeout_unit="us")
async def a_full_queue_a_stop_and_a_reset(dut):
    """Requests are refused, stopped or forgotten as the guide says, and later ones work."""
    host = Host(dut, np.frombuffer(random.randbytes(HOST_BYTES), np.uint8))
    await host.begin()
    host.put(IDXS, np.array([random.randrange(60) for _ in range(200)], "<u4").tobytes())
    places = range(COMPLETIONS, COMPLETIONS + 16 * 4, 16)
    asked = [
        independent.Request(
            idx_address=IDXS,
            count=200,
            base=TABLE,
            rows=60,
            row_bytes=160,
            stride=160,
            completion=place,
            destination=4,
            tag=place,
        )
        for place in places
    ]
    await host.make(host.registers.write(most_reads=1))
    before = await host.device()
    whole = before.copy()
    host.carry_out(whole, asked[0])
    for request, refused in zip(asked, (0, 0, 0, 1), strict=True):  # one runs and two wait
        await host.submit(request)
        assert await host.read("refused") == refused
    assert await host.read("queue_full")
    await host.make(host.registers.command("stop"))
    for request in asked[:3]:
        found = await host.completed(request)
        assert int.from_bytes(found[:2], "little") == request.tag
        assert found[2] & 15 == independent.STOPPED
    while await host.read("stopping"):
        pass
    device = await host.device()
    first = np.flatnonzero(device != whole)[0]
    assert np.array_equal(device[first:], before[first:])
    await host.submit(asked[0])
    await ClockCycles(dut.clk, 200)
    dut.function_in_process.value = 1
    await ClockCycles(dut.clk, 1500)
    dut.function_in_process.value = 0
    await ClockCycles(dut.clk, 200)
    assert await host.read("was_reset")
    assert not await host.read("busy")
    assert not host.card.memory.mem[asked[0].completion + 15]
    assert await host.counter("work_forgotten") == 1
    await host.make(host.registers.write(most_reads=0))
    await host.submit(asked[0])
    assert await host.completed(asked[0]) == host.carry_out(whole, asked[0]).completion
    assert np.array_equal(await host.device(), whole)
    assert not await host.read("was_reset")


@cocotb.test(timeout_time=1000, timeout_unit="us")
async def requests_by_a_ring(dut):
    """As many as there are places twice, good and bad ones; then one of registers beside."""
    host = Host(dut, np.frombuffer(random.randbytes(HOST_BYTES), np.uint8))
    await host.begin()
    places, ring = 4, 0xC00
    await host.make(independent.ring_writes(host.registers, ring, places))
    device, written = await host.device(), 0
    for _ in range(3):
        asked = []
        for k in range(places):
            idxs, request = some_request(written + k)
            place = IDXS + 256 * k
            request = replace(
                request,
                idx_address=place + request.idx_address % 8,
                completion=COMPLETIONS + 16 * k,
                streamed=0,
            )
            host.put(place, idx_array(request, idxs))
            host.put(request.completion, bytes(16))
            host.put(ring + 64 * k, independent.descriptor(request))
            asked.append(request)
        written += places
        wanted = [host.carry_out(device, request).completion for request in asked]
        await host.make(host.registers.write(request_producer=written))
        for request, told in zip(asked, wanted, strict=True):
            assert await host.completed(request) == told, request
        assert np.array_equal(await host.device(), device)
        assert await host.read("request_consumer") == written
        await host.submit(asked[0])
        told = host.carry_out(device, asked[0]).completion
        assert await host.completed(asked[0]) == told
    assert await host.counter("descriptors") == written
    await host.make(host.registers.write(request_producer=written + places + 1))
    while not await host.read("request_ring_fault"):
        pass
    await host.make(host.registers.write(request_ring=0))
    while await host.read("request_ring_busy"):
        pass
    assert not await host.read("request_ring_fault")
    assert await host.counter("ring_faults") == 1
