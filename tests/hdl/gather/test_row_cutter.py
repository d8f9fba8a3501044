"""Tests the cuts of rows into requests, in all orders, at every dword of a line."""

import random

from hdl.gather.params import MAX_ROW, SHARE, GatherParams, ReadOrder
from hdl.gather.row_cutter import RowCutter
from hdl.pcie.params import ReadRequesterParams
from sim.gather.rates import ORDERS
from sim.golden.pcie_link import LINE, cut_at
from sim.harness.bench import Bench
from sim.harness.payloads import unpack
from sim.harness.streams import STALLS, crossed
from tests.simulated import simulated

SIZES = [GatherParams(reads=ReadRequesterParams(data_bits=256, tags=4, user_bits=SHARE.size))]

test_row_cutter = simulated(RowCutter, SIZES, __name__)


class CutterBench(Bench):
    """Sends rows in, and checks the requests that come out."""

    async def cut(self, order, row_bytes, starts):
        """Send rows that begin at ``starts``; check that their reads are those of ``order``."""
        self.set(table={"row_bytes": row_bytes, "order": order.value})
        before, rows = len(self.requests.beats), []
        for begin in starts:
            row = {
                "address": begin // 4,
                "beyond": random.getrandbits(1),
                "final": random.getrandbits(1),
            }
            rows.append(row)
        self.rows.extend(rows)
        await self.settle()
        result = iter(self.requests.beats[before:])
        for row, begin in zip(rows, starts, strict=True):
            spans = []
            for request in result:
                share = unpack(SHARE, request["user"])
                spans.append((request["address"], request["address"] + request["bytes"]))
                end = begin + row_bytes
                assert share["skip"] == (begin - spans[0][0]) // 4 * (len(spans) == 1)
                assert share["drop"] == (spans[-1][1] - end) // 4 * share["last"]
                assert (share["beyond"], share["final"]) == (row["beyond"], row["final"])
                if share["last"]:
                    break
            assert share["last"]
            if order is ReadOrder.MERGED:
                assert spans == [(begin, begin + row_bytes)]
            else:  # the requester cuts requests at lines
                cuts = [part for span in spans for part in cut_at(*span, LINE)]
                assert cuts == list(ORDERS[order](begin, begin + row_bytes))
                assert order is ReadOrder.NAIVE or cuts == spans
        assert next(result, None) is None


@crossed(order=list(ReadOrder), stalls=STALLS)
async def every_size_at_every_dword(dut, order, stalls):
    """Rows are cut right at sizes near a sector, a line and two lines, and at the largest size."""
    bench = await CutterBench(dut, stalls).begin()
    for dwords in [*range(1, 10), 31, 32, 33, 64, 65, random.randrange(70, 200)]:
        far = LINE * random.randrange(1 << 55)
        places = range(32) if dwords < 10 else random.sample(range(32), 8)
        await bench.cut(order, 4 * dwords, [far + 4 * place for place in places])
    await bench.cut(order, MAX_ROW, [(1 << 64) - 2 * MAX_ROW - 4 * k for k in range(3)])


@crossed(order=list(ReadOrder))
async def a_request_a_cycle_and_no_longer_than_stated(dut, order):
    bench = await CutterBench(dut).begin()
    await bench.cut(order, 2 * LINE, [LINE * k for k in range(20)])
    cycles = bench.requests.cycles
    assert cycles[0] - bench.rows.cycles[0] == RowCutter.latency
    assert cycles[-1] - cycles[0] == len(cycles) - 1
