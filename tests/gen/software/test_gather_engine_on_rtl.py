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
from sim.gather.golden.engine import Outcome
from sim.gather.host.gather_engine import GatherFailed
from sim.gather.host.request import COMPLETION_BYTES, Request, Table
from sim.harness.host_device import HostDevice
from sim.harness.host_program import PATIENCE
from sim.harness.threads import bridge, resume
from sim.host.device import DeviceError
from tests.gen.software.fake_card import attach
from tests.gen.software.gather_card import ORDERS, carried_out, completion, golden, reads_of
from tests.hdl.gather.draw import DEVICE_BYTES, HOST_BYTES
from tests.hdl.gather.engine_bench import SIZES, Bench, Consumer, on_card

IDXS, COMPLETIONS, TABLE = 0, 0xF00, 0x1000  #: what lies where, in host memory
CARD_IDXS = 0x8000  #: where idxs are in device memory
REQUESTS = 16
ILLEGAL = (
    {"idx_address": 2},
    {"row_bytes": 65537},
    {"row_bytes": 0},
    {"stride": 1 << 14},
    {"rows": 1 << 20},
    {"order": ORDERS[-1]},
    {"destination": DEVICE_BYTES - 4, "streamed": False},
)


test_the_package_drives_the_hardware = on_card(SIZES[:1], __name__)


class Card(HostDevice):
    """A card with an engine in a slot of a simulated host; its device memory can be read."""

    def __init__(self, bench):
        self.bench, self.params = bench, bench.params.engine
        self.consumer = Consumer(bench)
        host = bench.card.registers
        super().__init__(host.axil, host.device.dma)

    @resume
    async def wait_interrupt(self, seconds):
        """Wait for an interrupt, also one since the last wait."""
        while self.messages == self.bench.card.interrupts:
            await ClockCycles(self.bench.dut.clk, 20)
        self.messages = self.bench.card.interrupts
        return True

    @resume
    async def read_card(self, address, size):
        """Return bytes of device memory."""
        return await self.bench.card.device(address, size)

    def device(self):
        """Return a copy of device memory, uint8 from address 0 on."""
        return np.frombuffer(self.read_card(0, DEVICE_BYTES), np.uint8).copy()


def on_rtl(program):
    """Make a test of ``program``, which runs on a card, with the driver of its engine."""

    @cocotb.test(name=program.__name__, timeout_time=2, timeout_unit="ms")
    async def test(dut):
        bench = await Bench(dut).begin()
        assert bench.card.base == 0
        card = Card(bench)

        def run():
            engine = attach(software(card.params), card)
            engine.seconds = PATIENCE
            program(card, engine)

        await bridge(run)()

    return test


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
    expected = card.device()
    for address, octets, _ in known["written"]:
        expected[int(address, 16) :][: table.row_bytes] = [*bytes.fromhex(octets)]
    engine.clear_counters()
    engine.submit(request)
    engine.wait(request, interrupt=True)
    reported = card.read_memory(request.completion, COMPLETION_BYTES)
    assert reported.hex(" ") == known["completion"]
    assert np.array_equal(card.device(), expected)
    built = reads_of(golden(request), known["idxs"])
    assert [(f"0x{at:X}", size) for at, size in built] == known["reads"]
    last, result = guide(card.params).rpartition("The counters then have")[2], engine.counters()
    counts = {name: int(number) for name, number in re.findall(r"`(\w+)` (\d+)", last)}
    assert counts == {name: result[name] for name in ("rows", "rows_beyond", "reads")}


def some_request(number, place=IDXS):
    """Draw idxs and a request for them, which lie from ``place`` on; every fourth is illegal."""
    size = random.choice([1, 8, 60, 64, 133, random.randrange(1, 800)])
    table = {"row_bytes": size, "stride": size + random.choice([0, 0, 3, 60])}
    table["address"] = TABLE + random.randrange(256)
    table["rows"] = rows = (HOST_BYTES - table["address"]) // table["stride"]
    few = [random.randrange(rows) for _ in range(5)]
    count = random.randrange(30)
    idxs = [random.choice([*few, random.randrange(rows), rows]) for _ in range(count)]
    fields = {
        "idx_address": place + 8 * random.randrange(8),
        "completion": COMPLETIONS + 16 * random.randrange(8),
        "destination": random.randrange(CARD_IDXS - size * len(idxs)),
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


@on_rtl
def requests_of_all_kinds(card, engine):
    """Completions, all of device memory, all rows and the reads of the link are compared."""
    device, model = card.device(), Counter()  # of requests whose equal idxs are each read

    def gather(request):
        reported, rows, reads = carried_out(request, card.bench.card.host(), device, engine.build)
        if reported.outcome == "ILLEGAL":
            with pytest.raises(ValueError, match="must be"):
                engine.submit(request)
            return reported.outcome
        model.update(rows=len(rows), reads=len(reads), read_bytes=sum(size for _, size in reads))
        engine.submit(request)
        assert engine.wait(request) == reported, request
        octets = card.read_memory(request.completion, COMPLETION_BYTES)
        assert octets == completion(reported.tag, Outcome.DONE, beyond=reported.beyond), request
        assert np.array_equal(card.device(), device)
        card.pause()
        assert card.consumer.rows() == (rows if request.streamed else [])
        return reported.outcome

    outcomes = set()
    for coalesce in (False, True):
        engine.clear_counters()
        model.clear()
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
        result = engine.counters()
        counts = {name: result[name] for name in model}
        if coalesce:
            assert counts["reads"] < model["reads"]
            assert counts["rows"] == model["rows"]
        else:
            assert counts == model
    assert outcomes == {"DONE", "ILLEGAL"}


@on_rtl
def rows_for_host_memory(card, engine):
    """They are in host memory when the package says that the request has ended."""
    table, to = Table(address=TABLE, rows=60, row_bytes=160), HOST_BYTES - 0x4001
    idxs = np.array([random.randrange(61) for _ in range(50)])
    request = Request(
        table=table, idx_address=IDXS, count=engine.put_idxs(idxs, IDXS), completion=COMPLETIONS
    )
    content = np.frombuffer(card.read_memory(TABLE, 60 * 160), np.uint8).reshape(60, 160)
    expected = np.where((idxs < 60)[:, None], content[idxs % 60], 0)
    assert np.array_equal(engine.gather(request, to=to), expected)


@on_rtl
def a_full_queue(card, engine):
    """A request waits for room; one that is refused all the same is not carried out."""
    table = Table(address=TABLE, rows=60, row_bytes=160)
    engine.put_idxs([random.randrange(60) for _ in range(200)], IDXS)
    requested = [
        Request(table=table, idx_address=IDXS, count=200, completion=place, destination=4)
        for place in range(COMPLETIONS, COMPLETIONS + 16 * 4, 16)
    ]
    engine.limit_reads(1)
    for request in requested[:3]:  # one runs and two wait
        engine.submit(request)
    engine.seconds = 0
    with pytest.raises(DeviceError, match="the queue has not ended within 0 s"):
        engine.submit(requested[3])
    engine.seconds = PATIENCE
    with patch.object(engine, "_wait"), pytest.raises(DeviceError, match="its queue was full"):
        engine.submit(requested[3])
    engine.stop()
    for request in requested[:3]:
        with pytest.raises(GatherFailed, match="STOPPED"):
            engine.wait(request)
    assert engine.completion(requested[3]) is None
    engine.limit_reads(0)
    engine.submit(requested[3])
    assert engine.wait(requested[3]).outcome == "DONE"
