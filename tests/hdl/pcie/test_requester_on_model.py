"""Runs reads and writes on a block and a root complex that others wrote: cocotbext-pcie."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.requester import Requester, RequesterParams
from hdl.pcie.write_params import WriteRequesterParams
from sim.golden.pcie_requester import Cause, cut
from sim.harness.streams import never, often, until
from tests.hdl.pcie.card_on_model import MEMORY, PLACE, Card
from tests.simulated import simulated

SIZES = [
    RequesterParams(),
    RequesterParams(
        reads=ReadRequesterParams(data_bits=256, tags=32, max_read=256),
        writes=WriteRequesterParams(data_bits=256, max_payload=256),
    ),
]

test_requester_on_model = simulated(Requester, SIZES, __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    (
        ("read_size", "payload", "rcb", "all_boundaries", "stall"),
        [
            (2, 1, False, False, never),
            (2, 0, False, True, never),
            (1, 0, True, True, often),
            (0, 2, True, False, often),
        ],
    )
)
async def every_byte_that_the_host_has(dut, read_size, payload, rcb, all_boundaries, stall):
    """Reads of all sizes and places around pages, at each of the host's limits, are sent once."""
    card = Card(dut, stall)
    await card.begin(read_size, payload)
    card.root.read_completion_boundary, card.root.split_on_all_rcb = rcb, all_boundaries
    most = min(128 << read_size, card.params.max_read)
    reads = 0
    for k in range(20):
        size = random.choice([random.randrange(1, 80), random.randrange(1, 1500), 1028, 64])
        size = size if k else 4096
        offset = 4 * random.randrange((MEMORY - size) // 4)
        card.issue(card.base + offset, size)
        reads += len(cut(card.base + offset, size, most))
    assert await card.finish() == [Cause.NONE] * len(card.required)
    assert len(card.rq.packets) == len(card.rq.stream.beats) == reads


@cocotb.test(timeout_time=100, timeout_unit="us")
async def where_the_host_has_no_memory(dut):
    """Such reads are answered as unsupported, those between them as always."""
    card = Card(dut, never)
    await card.begin(2, 1)
    nowhere = [k % 3 == 1 for k in range(12)]
    for missing in nowhere:
        offset, size = 4 * random.randrange(1000), random.randrange(1, 1500)
        card.issue(card.base + offset + missing * (1 << 40), size)
    assert await card.finish() == [Cause.UNSUPPORTED if item else Cause.NONE for item in nowhere]
    await RisingEdge(dut.clk)
    assert not dut.owes.value


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    (("payload", "stall"), [(0, never), (1, never), (2, often)]),
)
async def what_was_written_is_read(dut, payload, stall):
    """Writes of all places and sizes, apart from each other, are read as soon as they are sent."""
    card = Card(dut, stall)
    await card.begin(2, payload)
    for k in range(MEMORY // PLACE):
        size = random.choice([random.randrange(1, 9), random.randrange(1, 700), 64, 1028])
        size = size if k else 4096
        offset = k * PLACE + random.randrange(PLACE - size)
        card.write(offset, random.randbytes(size))
        await card.gone.reach(k + 1)
        first = offset - offset % 4
        card.issue(card.base + first, min(offset + size - first, 4096))
    assert await card.finish() == [Cause.NONE] * len(card.required)
    assert bytes(card.memory.mem[:]) == bytes(card.bytes)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def reads_and_writes_at_once(dut):
    """Both go back to back, each in its own half of the memory."""
    card = Card(dut, never)
    await card.begin(2, 1)
    for _ in range(24):
        size = random.choice([4, 64, 700])
        card.write(random.randrange(MEMORY // 2 - size), random.randbytes(size))
        card.issue(card.base + MEMORY // 2 + 4 * random.randrange(MEMORY // 8 - size), size)
    assert await card.finish() == [Cause.NONE] * len(card.required)
    await card.gone.reach(24)
    await until(dut.clk, dut.writes_owe, 0)
    await ClockCycles(dut.clk, 200)
    assert bytes(card.memory.mem[:]) == bytes(card.bytes)
    assert card.visible == list(range(24))
