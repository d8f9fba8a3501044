"""Compares rows of a table, byte by byte, with a host's memory in others' root complex."""

import random

import cocotb
import numpy as np

from hdl.gather.params import SHARE, GatherParams, ReadOrder
from hdl.pcie.params import ReadRequesterParams
from sim.gather.golden.rows import Table, gather, reads
from sim.gather.rates import ORDERS
from sim.gather.surroundings.row_reader import RowReader
from sim.golden.pcie_requester import Cause
from sim.harness.axi_streams import AxiMonitor
from sim.harness.bench import Bench
from sim.harness.streams import crossed, never, often, sample
from sim.surroundings.pcie_host import HostModel
from tests.hdl.gather import draw
from tests.hdl.gather.engine_bench import outcomes
from tests.hdl.pcie.rq_monitor import RqMonitor
from tests.simulated import simulated

SIZES = [
    GatherParams(reads=ReadRequesterParams(tags=64, user_bits=SHARE.size)),
    GatherParams(
        idx_bits=20,
        stride_bits=14,
        reads=ReadRequesterParams(data_bits=256, tags=32, max_read=512, user_bits=SHARE.size),
    ),
]
MEMORY = 1 << 17  #: bytes

test_gather_datapath = simulated(RowReader, SIZES, __name__)


class Card(Bench):
    """A card in a slot of a root complex, whose memory has random bytes."""

    def __init__(self, dut, stall):
        super().__init__(dut, (stall, stall), limit=2)
        self.rq = RqMonitor(dut, stall=None)
        self.model = HostModel(dut, "rq", "rc")
        self.memory, self.base = self.model.memory(random.randbytes(MEMORY))
        self.read = self.reports("read")
        self.size = self.params.reads.data_bits // 8
        _ = self.idxs, self.rows

    async def begin(self):
        """Let the host set the device up: reads of 512 bytes, completions of 256."""
        sample(self.dut)
        await self.model.begin()
        return self

    async def send(self, base, table, idxs, order):
        """Set a table from ``base`` on, and send the idxs of an array."""
        settings = vars(table) | {"base": base + table.base, "order": order.value}
        self.set(table=settings)
        await self.wait(4)
        self.idxs.extend([{"idx": idx, "final": k == len(idxs) - 1} for k, idx in enumerate(idxs)])

    async def issue(self, base, table, idxs, order):
        """Gather rows of a table from ``base`` on; return the beats of each."""
        before = len(self.rows.beats)
        await self.send(base, table, idxs, order)
        beats = -(-table.row_bytes // self.size)
        await self.rows.wait_for(before + beats * len(idxs))
        return [self.rows.beats[before + beats * k :][:beats] for k in range(len(idxs))]

    async def gather(self, table, idxs, order):
        """Gather rows, and compare every byte, why a row has none, and every read."""
        sent = len(self.rq.packets)
        rows = await self.issue(self.base, table, idxs, order)
        for k, (row, expected) in enumerate(zip(rows, self.golden(table, idxs), strict=True)):
            assert {bool(beat["beyond"]) for beat in row} == {expected is None}
            result = self.octets(row)
            assert result == (expected or bytes(table.row_bytes)), f"row {k}: {table}, {order}"
            assert {Cause(int(beat["cause"].value)) for beat in row} == {Cause.NONE}
        await self.quiet()
        assert self.reads(sent, self.base) == reads(table, idxs, ORDERS[order])

    def golden(self, table, idxs):
        """Return the rows that NumPy has in the host's memory."""
        return gather(np.frombuffer(bytes(self.memory.mem[:]), dtype=np.uint8), table, idxs)

    def octets(self, beats):
        """Return the bytes of beats, of which the last one, and no other, says that it is."""
        assert [bool(beat["last"]) for beat in beats] == [False] * (len(beats) - 1) + [True]
        data = (beat["data"].to_bytes(self.size, "little")[: beat["bytes"]] for beat in beats)
        return b"".join(data)

    def reads(self, sent, base):
        """Return the reads on RQ after the first ``sent`` ones: offset from ``base``, and bytes."""
        return [
            (4 * packet.result["address"] - base, 4 * packet.result["dwords"])
            for packet in self.rq.packets[sent:]
        ]

    async def join(self, table, idxs, order, first):
        """Gather rows one after the other, from byte ``first`` of a beat on; compare them all."""
        before, reported = len(self.rows.beats), len(outcomes(self.read))
        self.set(joined=1, first=first)
        await self.send(self.base, table, idxs, order)
        count = -(-(first + len(idxs) * table.row_bytes) // self.size)
        await self.rows.wait_for(before + count)
        await self.quiet()
        result, rows = self.octets(self.rows.beats[before:]), self.golden(table, idxs)
        assert result[first:] == b"".join(row or bytes(table.row_bytes) for row in rows)
        assert outcomes(self.read)[reported:] == [(row is None, False) for row in rows]

    async def quiet(self):
        await self.wait(10)
        assert self.dut.idle.value
        assert not self.rows.missing


@crossed(order=list(ReadOrder), stall=[never, often], us=200)
async def every_byte_of_rows(dut, order, stall):
    """Sizes are near those of dwords, sectors, lines, beats, reads, pages; idxs repeat or not."""
    card = await Card(dut, stall).begin()
    sizes = [1, 3, 8, 37, 64, 128, 132, 480, 1028, 1043, random.randrange(1, 4096), *draw.borders()]
    for size in sizes:
        table = draw.table(size, MEMORY)
        idxs = [random.randrange(table.rows) for _ in range(3)]
        count = 6 if size < 1000 else 3 if size < 5000 else 1
        await card.gather(table, [*idxs, idxs[0], 0, table.rows - 1][:count], order)


@crossed(order=list(ReadOrder), us=200)
async def rows_at_every_byte_of_a_line(dut, order):
    """Packed rows of 131 bytes begin at each of the 128."""
    card = await Card(dut, never).begin()
    table = Table(base=512, rows=129, row_bytes=131, stride=131)
    await card.gather(table, list(range(129)), order)


@crossed(order=[ReadOrder.ALIGNED, ReadOrder.NAIVE], us=200)
async def rows_at_every_byte_of_a_sector(dut, order):
    """Rows have 1 to 32 bytes: each number of them is skipped, and dropped."""
    card = await Card(dut, never).begin()
    for size in range(1, 33):
        stride = size + 1 - size % 2  # an odd number: 32 rows begin at each of them
        table = Table(base=256, rows=32, row_bytes=size, stride=stride)
        await card.gather(table, list(range(32)), order)


@crossed(order=list(ReadOrder), us=200)
async def idxs_that_are_not_in_the_table(dut, order):
    """Their rows say so, and the others are as always."""
    card = await Card(dut, never).begin()
    table = Table(base=4, rows=37, row_bytes=100, stride=100)
    most = (1 << card.params.idx_bits) - 1
    await card.gather(table, [36, 37, 5, most, 0, 38, 36], order)


@crossed(order=list(ReadOrder), stall=[never, often], us=200)
async def rows_that_are_joined(dut, order, stall):
    """Rows have sizes near a beat's, begin at any byte of a beat, and some idxs are bad."""
    card = await Card(dut, stall).begin()
    for size in [1, 3, 8, 60, 64, 69, 132, random.randrange(1, 1200)]:
        table = draw.table(size, MEMORY)
        idxs = [random.randrange(table.rows) for _ in range(random.randrange(1, 12))]
        idxs[random.randrange(len(idxs))] = random.choice([table.rows, 0])
        await card.join(table, idxs, order, random.randrange(card.size))


@crossed(order=list(ReadOrder), us=200)
async def reads_of_any_address(dut, order):
    """Tables have the largest sizes and lie anywhere; the host sets each limit of a read."""
    card = await Card(dut, never).begin()
    bits = card.params.idx_bits
    for _ in range(12):
        code, size = random.randrange(3), random.choice([1, 132, 1027, 4096])
        dut.limit.value = code
        stride = random.randrange(size, 1 << card.params.stride_bits)
        base = random.randrange(1 << 42, 1 << 62)  # where the host has nothing
        table = Table(base=base, rows=1 << bits, row_bytes=size, stride=stride)
        sent, idxs = len(card.rq.packets), [random.randrange(1 << bits) for _ in range(3)]
        rows = await card.issue(0, table, idxs, order)
        assert all(beat["cause"].value for row in rows for beat in row)
        await card.quiet()
        assert card.reads(sent, 0) == reads(table, idxs, ORDERS[order], 128 << code)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def rows_where_the_host_has_no_memory(dut):
    """They have all their beats and say why; those before and after them are right."""
    card = await Card(dut, never).begin()
    table = Table(base=0, rows=1 << 18, row_bytes=1028, stride=1028)
    rows = await card.issue(card.base, table, [3, 1 << 17, 5], ReadOrder.MERGED)
    causes = [{Cause(int(beat["cause"].value)) for beat in row} for row in rows]
    assert causes == [{Cause.NONE}, {Cause.ABORTED}, {Cause.NONE}]  # the model's host aborts
    assert outcomes(card.read) == [(False, False), (False, True), (False, False)]
    assert not any(beat["data"] for beat in rows[1])


@crossed(order=list(ReadOrder), us=200)
async def one_row_alone(dut, order):
    """From idx to RQ, and from the last completion to the row, it takes as long as is said."""
    card = await Card(dut, never).begin()
    component = card.component
    completions = AxiMonitor(dut, "rc")
    for size in (card.size, 4):
        table = Table(base=1024, rows=16, row_bytes=size, stride=card.size)
        await card.gather(table, [3], order)
        sent = card.rq.packets[-1].begun - card.idxs.cycles[-1]
        assert sent == component.request_latency <= 12
        assert card.rows.cycles[-1] - completions.cycles[-1] == component.latency <= 10
