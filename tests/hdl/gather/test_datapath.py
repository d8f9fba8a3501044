"""Rows of a table in a host's memory, byte by byte, by a root complex that others wrote."""

import random

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from hdl.gather.datapath import GatherDatapath
from hdl.gather.params import SHARE, GatherParams, ReadOrder
from hdl.pcie.params import ReadRequesterParams
from sim.gather.golden.rows import Table, gather, reads
from sim.golden import pcie_link
from sim.golden.pcie_requester import Cause
from sim.harness.payloads import pack
from sim.harness.streams import Sink, Source, cycle, never, often
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.pcie_host import HostModel
from tests.hdl.pcie.rq_monitor import RqMonitor

SIZES = [
    GatherParams(reads=ReadRequesterParams(tags=64, user_bits=SHARE.size)),
    GatherParams(
        idx_bits=20,
        stride_bits=14,
        reads=ReadRequesterParams(data_bits=256, tags=32, max_read=512, user_bits=SHARE.size),
    ),
]
MEMORY = 1 << 17  #: bytes
ORDERS = {
    ReadOrder.MERGED: pcie_link.merged,
    ReadOrder.ALIGNED: pcie_link.aligned,
    ReadOrder.NAIVE: pcie_link.naive,
}


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_gather_datapath(params):
    simulate(GatherDatapath(params), __name__)


class Card:
    """A card in a slot of a root complex, whose memory has random bytes."""

    def __init__(self, dut, stall):
        self.dut, self.params = dut, params_in_simulator(GatherParams)
        dut.tick.value = dut.stop.value = 0
        self.idxs = Source(dut, "idxs", stall=stall)
        self.rows = Sink(dut, "rows", stall=stall)
        self.rq = RqMonitor(dut, stall=None)
        self.model = HostModel(dut, "rq", "rc")
        self.memory, self.base = self.model.memory(random.randbytes(MEMORY))

    async def begin(self):
        """Let the host set the device up: reads of 512 bytes, completions of 256."""
        self.dut.limit.value = 2
        await self.model.begin()

    async def gather(self, table, idxs, order):
        """Gather rows, and compare every byte, why a row has none, and every read."""
        before, sent = len(self.rows.beats), len(self.rq.packets)
        settings = {
            "base": self.base + table.base,
            "rows": table.rows,
            "row_bytes": table.row_bytes,
            "stride": table.stride,
            "order": order.value,
        }
        self.dut.table.value = pack(self.params.table, settings)
        for _ in range(4):
            await RisingEdge(self.dut.clk)
        for idx in idxs:
            self.idxs.append(idx)
        beats = -(-table.row_bytes // (self.params.reads.data_bits // 8))
        await self.rows.wait_for(before + beats * len(idxs))
        memory = np.frombuffer(bytes(self.memory.mem[:]), dtype=np.uint8)
        for k, wanted in enumerate(gather(memory, table, idxs)):
            row = self.rows.beats[before + beats * k :][:beats]
            assert [bool(beat["last"]) for beat in row] == [False] * (beats - 1) + [True]
            assert {bool(beat["beyond"]) for beat in row} == {wanted is None}
            found = b"".join(
                beat["data"].to_bytes(self.params.reads.data_bits // 8, "little")[: beat["bytes"]]
                for beat in row
            )
            assert len(found) == table.row_bytes
            if wanted is not None:
                assert found == wanted, f"row {k}: {table}, {order}"
                assert {Cause(int(beat["cause"].value)) for beat in row} == {Cause.NONE}
        await self.quiet()
        found = [
            (4 * packet.found["address"] - self.base, 4 * packet.found["dwords"])
            for packet in self.rq.packets[sent:]
        ]
        assert found == reads(table, idxs, ORDERS[order])

    async def quiet(self):
        for _ in range(10):
            await RisingEdge(self.dut.clk)
        assert self.dut.idle.value
        assert not self.rows.missing


def some_table(row_bytes):
    """A table of rows at any dword, packed or padded."""
    stride = row_bytes + random.choice([0, 0, 4, 12, 64])
    base = 4 * random.randrange(1 << 10)
    return Table(base=base, rows=(MEMORY - base) // stride, row_bytes=row_bytes, stride=stride)


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(order=list(ReadOrder), stall=[never, often])
async def every_byte_of_rows(dut, order, stall):
    """Sizes around those of dwords, sectors, lines, beats, reads and pages; idxs equal and not."""
    card = Card(dut, stall)
    await card.begin()
    sizes = [4, 8, 36, 64, 128, 132, 480, 1028, 1044, 4 * random.randrange(1, 1025), 4096]
    for size in sizes:
        table = some_table(size)
        idxs = [random.randrange(table.rows) for _ in range(3)]
        await card.gather(
            table, [*idxs, idxs[0], 0, table.rows - 1][: 6 if size < 1000 else 3], order
        )


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(order=list(ReadOrder))
async def rows_at_every_dword_of_a_line(dut, order):
    """Packed rows of 132 bytes begin at each of the 32."""
    card = Card(dut, never)
    await card.begin()
    table = Table(base=512, rows=64, row_bytes=132, stride=132)
    await card.gather(table, list(range(33)), order)


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(order=list(ReadOrder))
async def idxs_that_are_not_in_the_table(dut, order):
    """Their rows say so, and the others are as always."""
    card = Card(dut, never)
    await card.begin()
    table = Table(base=4, rows=37, row_bytes=100, stride=100)
    most = (1 << card.params.idx_bits) - 1
    await card.gather(table, [36, 37, 5, most, 0, 38, 36], order)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def rows_where_the_host_has_no_memory(dut):
    """They have all their beats and say why; those before and behind them are right."""
    card = Card(dut, never)
    await card.begin()
    size = 1028
    table = Table(base=0, rows=1 << 18, row_bytes=size, stride=size)
    settings = {
        "base": card.base,
        "rows": table.rows,
        "row_bytes": size,
        "stride": size,
        "order": ReadOrder.MERGED.value,
    }
    dut.table.value = pack(card.params.table, settings)
    idxs = [3, 1 << 17, 5]
    for idx in idxs:
        card.idxs.append(idx)
    beats = -(-size // (card.params.reads.data_bits // 8))
    await card.rows.wait_for(3 * beats)
    causes = [
        {Cause(int(beat["cause"].value)) for beat in card.rows.beats[beats * k :][:beats]}
        for k in range(3)
    ]
    assert causes == [{Cause.NONE}, {Cause.ABORTED}, {Cause.NONE}]  # the model's host aborts


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(order=list(ReadOrder))
async def one_row_alone(dut, order):
    """From idx to RQ, and from the last completion to the row, in as many cycles as are said."""
    card = Card(dut, never)
    component = GatherDatapath(card.params)
    await card.begin()
    beat = card.params.reads.data_bits // 8
    last = []  # cycles of beats of RC
    cocotb.start_soon(moments(dut, last))
    for size in (beat, 4):
        table = Table(base=1024, rows=16, row_bytes=size, stride=beat)
        await card.gather(table, [3], order)
        sent = card.rq.packets[-1].begun - card.idxs.cycles[-1]
        assert sent == component.request_latency <= 12
        assert card.rows.cycles[-1] - last[-1] == component.latency <= 10


async def moments(dut, found):
    """Collect the cycles in which beats of RC move."""
    while True:
        await RisingEdge(dut.clk)
        if dut.rc_tvalid.value and dut.rc_tready.value:
            found.append(cycle())
