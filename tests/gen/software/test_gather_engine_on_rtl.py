"""Runs a gather engine's host package on the RTL: its guide's known answer, and others.

Golden models say what becomes of a request. The slot that the card is in, device memory and the
consumer of rows are those of the engine's own tests.
"""

import random
import re
from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles

from gen.guides.gather_engine import guide, values
from gen.software.gather_engine import software
from sim.gather.golden.engine import Outcome, written_until_stopped
from sim.gather.host import gather_engine
from sim.gather.host import ring as rings
from sim.gather.host.gather_engine import GatherFailed
from sim.gather.host.request import COMPLETION_BYTES, Completion, Request, Table
from sim.golden.pcie_requester import Cause
from sim.harness.host_device import HostDevice
from sim.harness.threads import bridge, resume
from sim.host.device import DeviceError
from tests.gen.software.fake_card import attach
from tests.gen.software.gather_card import ORDERS, carried_out, completion, golden, reads_of
from tests.hdl.gather.engine_bench import (
    DEVICE_BYTES,
    HOST_BYTES,
    SIZES,
    Bench,
    Consumer,
    run_tests,
)

IDXS, RING, COMPLETIONS, TABLE = 0, 0xC00, 0xF00, 0x1000  #: what lies where, in host memory
CARD_IDXS = 0x8000  #: where idxs are in device memory
REQUESTS, PLACES = 16, 4
ILLEGAL = (
    {"idx_address": 2},
    {"address": TABLE + 2},
    {"row_bytes": 4100},
    {"row_bytes": 0},
    {"stride": 1 << 14},
    {"rows": 1 << 20},
    {"order": ORDERS[-1]},
    {"destination": DEVICE_BYTES - 4, "streamed": False},
)


def test_the_package_drives_the_hardware(tmp_path):
    run_tests(SIZES[0], __name__, tmp_path)


class Card(HostDevice):
    """A card with an engine in a slot of a simulated host; its device memory can be read."""

    def __init__(self, bench):
        self.bench, self.dut, self.params = bench, bench.dut, bench.params.engine
        self.consumer = Consumer(bench)
        super().__init__(bench.card.registers.axil)

    def attach(self):
        """Return the driver of the engine, which submits an order that is not there, too.

        A simulation's own time-out bounds its waits.
        """
        engine = attach(software(self.params), self)
        engine.seconds, self.build = 3600, engine.build
        engine.build = replace(self.build, orders=ORDERS)
        return engine

    @resume
    async def wait_interrupt(self, seconds):
        """Wait for an interrupt, also one since the last wait."""
        while self.messages == self.bench.card.interrupts:
            await ClockCycles(self.dut.clk, 20)
        self.messages = self.bench.card.interrupts
        return True

    def read_memory(self, address, size):
        """Return bytes of host memory."""
        return bytes(self.bench.card.memory.mem[address : address + size])

    def write_memory(self, address, data):
        """Write bytes of host memory."""
        self.bench.card.memory.mem[address : address + len(data)] = data

    @resume
    async def read_card(self, address, size):
        """Return bytes of device memory."""
        return await self.bench.card.device(address, size)

    @resume
    async def reset_function(self):
        """Reset the function."""
        for level, cycles in ((0, 200), (1, 1500), (0, 200)):
            self.dut.function_in_process.value = level
            await ClockCycles(self.dut.clk, cycles)

    def device(self):
        """Return a copy of device memory, uint8 from address 0 on."""
        return np.frombuffer(self.read_card(0, DEVICE_BYTES), np.uint8).copy()


def on_rtl(program):
    """Make a test of ``program``, which runs on a card, with the driver of its engine.

    The driver submits illegal requests as well.
    """

    @cocotb.test(name=program.__name__, timeout_time=2, timeout_unit="ms")
    async def test(dut):
        bench = await Bench(dut).begin()
        assert bench.card.base == 0
        card = Card(bench)
        with patch.object(gather_engine, "check_request"), patch.object(rings, "check_request"):
            await bridge(lambda: program(card, card.attach()))()

    return test


def ended(engine, request):
    """Wait for the end of a request; return its completion, whatever that says."""
    try:
        return engine.wait(request)
    except GatherFailed as failed:
        return failed.completion


@on_rtl
def the_known_answer(card, engine):
    known = values(card.params)["known"]
    sizes = {name: known[name] for name in ("rows", "row_bytes", "stride")}
    places = {name: int(known[name], 16) for name in ("idx_address", "destination")}
    table = Table(address=int(known["base"], 16), **sizes)
    request = Request(
        table=table,
        count=engine.put_idxs(known["idxs"], places["idx_address"]),
        completion=int(known["completion_address"], 16),
        tag=known["tag"],
        **places,
    )
    array = bytes.fromhex(known["array"])
    assert card.read_memory(request.idx_address, len(array)) == array
    rows = np.full((table.rows, table.step // 4), 0xA5A5A5A5, "<u4")
    rows[:, 0], rows[:, 1] = range(table.rows), range(0, 2 * table.rows, 2)
    card.write_memory(table.address, rows.tobytes())
    wanted = card.device()
    for address, octets, _ in known["written"]:
        wanted[int(address, 16) :][: table.row_bytes] = [*bytes.fromhex(octets)]
    engine.clear_counters()
    engine.submit(request)
    engine.wait(request, interrupt=True)
    told = card.read_memory(request.completion, COMPLETION_BYTES)
    assert told.hex(" ") == known["completion"]
    assert np.array_equal(card.device(), wanted)
    made = reads_of(golden(request), known["idxs"])
    assert [(f"0x{at:X}", size) for at, size in made] == known["reads"]
    last, found = guide(card.params).rpartition("The counters then have")[2], engine.counters()
    counts = {name: int(number) for name, number in re.findall(r"`(\w+)` (\d+)", last)}
    assert counts == {name: found[name] for name in ("rows", "rows_beyond", "reads")}


def some_request(number, place=IDXS):
    """Draw idxs and a request for them, which lie from ``place`` on; every fourth is illegal."""
    size = random.choice([4, 8, 60, 64, 132, 4 * random.randrange(1, 200)])
    table = {"row_bytes": size, "stride": size + random.choice([0, 0, 4, 60])}
    table["address"] = TABLE + 4 * random.randrange(64)
    table["rows"] = rows = (HOST_BYTES - table["address"]) // table["stride"]
    few = [random.randrange(rows) for _ in range(5)]
    count = random.randrange(30)
    idxs = [random.choice([*few, random.randrange(rows), rows]) for _ in range(count)]
    fields = {
        "idx_address": place + 8 * random.randrange(8),
        "completion": COMPLETIONS + 16 * random.randrange(8),
        "destination": 4 * random.randrange((CARD_IDXS - size * len(idxs)) // 4),
        "tag": random.randrange(1 << 16),
        "idx_bytes": random.choice([4, 8]),
        "streamed": random.choice([False, True]),
        "order": random.choice(ORDERS[:-1]),
    }
    if number % 4 == 3:
        idxs = idxs or [0]
        wrong = random.choice(ILLEGAL)
        table |= {name: value for name, value in wrong.items() if name in table}
        fields |= {name: value for name, value in wrong.items() if name not in table}
    return idxs, Request(table=Table(**table), count=len(idxs), **fields)


class Golden:
    """Says by golden models what becomes of requests, from memories as they are at first."""

    def __init__(self, card):
        self.card, self.device = card, card.device()
        self.counts = Counter()  # of requests whose equal idxs are each read

    def carry_out(self, request):
        """Return a request's completion and rows."""
        host = self.card.bench.card.host()
        told, rows, reads = carried_out(request, host, self.device, self.card.build)
        self.counts.update(rows=len(rows), reads=len(reads), read_bytes=sum(n for _, n in reads))
        return told, rows

    def compare(self, engine, request, told):
        """Compare the completion of a request."""
        assert ended(engine, request) == told, request
        octets = self.card.read_memory(request.completion, COMPLETION_BYTES)
        wanted = Outcome[told.outcome], Cause[told.cause], told.beyond, told.failed
        assert octets == completion(told.tag, *wanted), request

    def compare_device(self):
        """Compare all of device memory."""
        assert np.array_equal(self.card.device(), self.device)


@on_rtl
def requests_of_all_kinds(card, engine):
    """Completions, all of device memory, all rows and the reads of the link are compared."""
    model = Golden(card)

    def gather(request):
        told, rows = model.carry_out(request)
        engine.submit(request)
        model.compare(engine, request, told)
        model.compare_device()
        card.pause()
        assert card.consumer.rows() == (rows if request.streamed else [])
        return told.outcome

    outcomes = set()
    for coalesce in (False, True):
        engine.clear_counters()
        model.counts.clear()
        for number in range(REQUESTS):
            idxs, request = some_request(number)
            if number % 3 == 2 and number % 4 != 3:  # they are brought as rows of 4 bytes before
                words = engine.put_idxs(idxs, TABLE, request.idx_bytes) * request.idx_bytes // 4
                engine.put_idxs(range(words), IDXS)
                table = Table(address=TABLE, rows=words + 1, row_bytes=4)
                bring = replace(request, table=table, idx_address=IDXS, count=words, idx_bytes=4)
                gather(replace(bring, destination=CARD_IDXS, streamed=False))
                request = replace(request, on_card=True, idx_address=CARD_IDXS)
            else:
                engine.put_idxs(idxs, request.idx_address, request.idx_bytes)
            outcomes.add(gather(replace(request, coalesce=coalesce)))
        found = engine.counters()
        counts = {name: found[name] for name in model.counts}
        if coalesce:
            assert counts["reads"] < model.counts["reads"]
            assert counts["rows"] == model.counts["rows"]
        else:
            assert counts == model.counts
    assert outcomes == {"DONE", "ILLEGAL"}


@on_rtl
def where_the_host_has_no_memory(card, engine):
    """Rows or idxs lie past its end: outcome, cause, counts and bytes are compared."""
    stride, far = (1 << 14) - 4, 1 << 19  # the row of idx 3 is there in part
    base = HOST_BYTES - 512 - 3 * stride
    table = Table(address=base, rows=2 * far - 1, row_bytes=1024, stride=stride)
    idxs = [1, far, 2, 3, 2 * far]
    request = Request(
        table=table,
        idx_address=IDXS,
        count=engine.put_idxs(idxs, IDXS),
        completion=COMPLETIONS,
        destination=64,
        tag=9,
    )
    host = card.bench.card.host().tobytes()
    rows = [host[base + idx * stride :][:1024].ljust(1024, b"\0") for idx in idxs]
    for asked, content, told in (
        (request, b"".join(rows), ("ROWS", "UNSUPPORTED", 1, 2)),
        (replace(request, idx_address=1 << 40), bytes(5 * 1024), ("IDXS", "UNSUPPORTED", 5, 0)),
    ):
        wanted = card.device()
        wanted[64:][: 5 * 1024] = [*content]
        engine.submit(asked)
        assert ended(engine, asked) == Completion(9, *told)
        assert np.array_equal(card.device(), wanted)


@on_rtl
def a_full_queue_a_stop_and_a_reset(card, engine):
    """Requests are refused, stopped or forgotten as the guide says, and later ones work."""
    table = Table(address=TABLE, rows=60, row_bytes=160)
    engine.put_idxs([random.randrange(60) for _ in range(200)], IDXS)
    asked = [
        Request(
            table=table, idx_address=IDXS, count=200, completion=place, destination=4, tag=place
        )
        for place in range(COMPLETIONS, COMPLETIONS + 16 * 4, 16)
    ]
    engine.limit_reads(1)
    model, before = Golden(card), card.device()
    told, _ = model.carry_out(asked[0])
    for request in asked[:3]:  # one runs and two wait
        engine.submit(request)
    engine.seconds = 0
    with pytest.raises(DeviceError, match="the queue has not ended within 0 s"):
        engine.submit(asked[3])
    engine.seconds = 3600
    with patch.object(engine, "_wait"), pytest.raises(DeviceError, match="its queue was full"):
        engine.submit(asked[3])
    engine.stop()
    for request in asked[:3]:
        assert ended(engine, request).outcome == "STOPPED"
    assert written_until_stopped(before, model.device, card.device())
    engine.clear_counters()
    engine.submit(asked[0])
    card.reset_function()
    registers = engine.registers
    assert registers.read("was_reset")
    assert not registers.read("busy")
    assert engine.completion(asked[0]) is None
    assert engine.counters()["work_forgotten"] == 1
    engine.limit_reads(0)
    engine.submit(asked[0])
    model.compare(engine, asked[0], told)
    model.compare_device()
    assert not registers.read("was_reset")


@on_rtl
def requests_by_a_ring(card, engine):
    """More than there are places at once, good and bad ones; then one of registers beside."""
    model, ring = Golden(card), rings.Ring(engine, RING, PLACES)
    ring.open()
    for _ in range(2):
        asked = []
        for k in range(PLACES + 2):
            idxs, request = some_request(ring.written + k, IDXS + 256 * k)
            engine.put_idxs(idxs, IDXS + 256 * k, request.idx_bytes)
            asked.append(replace(request, completion=COMPLETIONS + 16 * k))
        wanted = [model.carry_out(request) for request in asked]
        ring.submit(*asked)
        for request, (told, _) in zip(asked, wanted, strict=True):
            model.compare(engine, request, told)
        told, rows = model.carry_out(asked[0])
        engine.submit(asked[0])
        model.compare(engine, asked[0], told)
        model.compare_device()
        card.pause()
        streamed = zip([*asked, asked[0]], [*(rows for _, rows in wanted), rows], strict=True)
        assert card.consumer.rows() == [
            row for one, rows in streamed if one.streamed for row in rows
        ]
        assert ring.read() == ring.written
    assert engine.counters()["descriptors"] == ring.written
    engine.registers.write(request_producer=ring.written + PLACES + 1)
    card.pause()
    with pytest.raises(rings.RingStopped, match="further from the hardware's than the ring"):
        ring.submit(asked[0])
    ring.close()
    assert ring.why() == "it was closed"
    assert engine.counters()["ring_faults"] == 1
    ring.open()
    told, _ = model.carry_out(asked[0])
    ring.submit(asked[0])
    model.compare(engine, asked[0], told)
    assert ring.read() == 1
