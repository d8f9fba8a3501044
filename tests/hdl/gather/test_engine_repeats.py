"""Reads rows of equal idxs once where they follow soon; all of them are there."""

import random
from dataclasses import replace

import cocotb
import numpy as np

from hdl.gather.engine_params import Outcome
from hdl.gather.params import ReadOrder
from sim.gather.golden.rows import Table, reads
from sim.gather.rates import ORDERS
from sim.golden.pcie_link import LINE, MAX_READ, cut_at
from sim.harness.streams import benched
from tests.hdl.gather import draw
from tests.hdl.gather.draw import TABLE
from tests.hdl.gather.engine_bench import SIZES, Bench, on_card

test_engine_repeats = on_card(SIZES[:1], __name__)


async def packets(bench, request):
    """Carry a request out, compare device memory, and return how many reads of rows there were."""
    await bench.registers.write(clear_counters=1)
    await bench.gather(request)
    result = (await bench.card.counters())["reads"]
    most = MAX_READ if request.order == ReadOrder.MERGED.value else LINE
    return result - len(list(cut_at(0, request.count * request.idx_bytes, most)))


@benched(Bench, stalls=[False, True], order=list(ReadOrder), us=800)
async def each_row_is_read_once(bench, order):
    """Few idxs come again and again, with at most three others between equal ones."""
    for size in [4, 132, random.choice([64, 260, 1028])]:
        table = draw.table(size)
        some = random.sample(range(min(table.rows, 200)), 4)
        idxs = [idx for _ in range(12 if size < 1000 else 3) for idx in some]
        idxs += [table.rows, some[1], some[2], table.rows]  # that one is not in the table
        place = draw.place(size * len(idxs))
        request = bench.request(table, idxs, order=order.value, destination=place)
        every = len(reads(table, idxs, ORDERS[order]))
        assert await packets(bench, request) == every
        once = len(reads(table, [*some, table.rows], ORDERS[order]))
        assert await packets(bench, replace(request, coalesce=True)) == once


@cocotb.test(timeout_time=800, timeout_unit="us")
async def equal_idxs_at_any_distance(dut):
    """However many idxs there are between them, and whatever their hashes are."""
    bench = await Bench(dut).begin(w_stall=60)
    for size in [4, 32, 100, 400, 4096]:
        table = draw.table(size)
        few = 14 if size == 4096 else 150
        idxs = [min(int(idx), table.rows) for idx in np.random.default_rng(size).zipf(1.4, few)]
        request = bench.request(table, idxs, coalesce=True)
        result = await packets(bench, request)
        distinct = len(reads(table, sorted(set(idxs)), ORDERS[ReadOrder.MERGED]))
        assert distinct <= result <= len(reads(table, idxs, ORDERS[ReadOrder.MERGED]))
        if size < 4096:
            assert result < 0.8 * len(idxs) * -(-size // 512)


@benched(Bench, us=500)
async def more_rows_than_are_kept(bench):
    """A row that has gone is read again, and one that is there is the right one."""
    table = Table(base=TABLE, rows=60, row_bytes=512, stride=512)
    slots = bench.params.engine.kept_parts // 32  # of which each has room for 32 parts
    idxs = [*range(slots + 4), 0, 1, slots + 3, slots + 2, slots - 1, 7]
    request = bench.request(table, idxs, coalesce=True)
    assert await packets(bench, request) == slots + 4 + 2


@benched(Bench, us=500)
async def what_is_kept_is_of_one_request(bench):
    """The host may change rows between two, and so may the table be another."""
    table = Table(base=TABLE, rows=60, row_bytes=32, stride=64)
    request = bench.request(table, [5, 6, 7, 8, 5], coalesce=True)
    for _ in range(3):
        assert await packets(bench, request) == 4
        bench.card.memory.mem[TABLE : TABLE + 1024] = random.randbytes(1024)
        request = replace(request, table=replace(request.table, base=request.table.base + 4))


@benched(Bench, us=500)
async def a_row_that_failed_fails_again(bench):
    """It is not read a second time, and each that is given of it counts."""
    card, nowhere = bench.card, (1 << bench.params.engine.idx_bits) - 2
    table = Table(base=TABLE, rows=nowhere + 1, row_bytes=64, stride=64)
    request = bench.request(table, [5, nowhere, 6, 7, 5, nowhere], coalesce=True, destination=64)
    result = await bench.result(request)
    assert (result["outcome"], result["failed"]) == (Outcome.ROWS, 2)
    rows = [bytes(card.memory.mem[TABLE + 64 * idx :][:64]) for idx in (5, 6, 7)]
    expected = rows[0] + bytes(64) + rows[1] + rows[2] + rows[0] + bytes(64)
    assert await card.device(64, len(expected)) == expected
    assert (await card.counters())["reads_failed"] == 1
