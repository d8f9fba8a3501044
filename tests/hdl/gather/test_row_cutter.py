"""Tests the cuts of rows into requests, in all orders, at every byte of a line."""

import random
from functools import partial

from hdl.common.axi import FOUR_KB
from hdl.gather.params import MAX_ROW, SHARE, GatherParams, ReadOrder
from hdl.gather.row_cutter import RowCutter
from hdl.pcie.params import ReadRequesterParams
from sim.gather.rates import ORDERS
from sim.golden.pcie_link import LINE, cut_at
from sim.harness.bench import Bench
from sim.harness.payloads import unpack
from sim.harness.streams import STALLS, benched
from tests.simulated import simulated

SIZES = [GatherParams(reads=ReadRequesterParams(data_bits=256, tags=4, user_bits=SHARE.size))]

test_row_cutter = simulated(RowCutter, SIZES, __name__)


class CutterBench(Bench):
    """Sends rows in, and checks the requests that come out."""

    async def cut(self, order, row_bytes, starts):
        """Send rows that begin at ``starts``; check that their reads are those of ``order``."""
        self.set(table={"row_bytes": row_bytes, "order": order.value})
        before, bit = len(self.requests.beats), partial(random.getrandbits, 1)
        rows = [{"address": begin, "beyond": bit(), "final": bit()} for begin in starts]
        self.rows.extend(rows)
        await self.settle()
        result = iter(self.requests.beats[before:])
        for row, begin in zip(rows, starts, strict=True):
            spans = []
            for request in result:
                share = unpack(SHARE, request["user"])
                spans.append((request["address"], request["address"] + request["bytes"]))
                end = begin + row_bytes
                assert share["skip"] == (begin - spans[0][0]) * (len(spans) == 1)
                assert share["drop"] == (spans[-1][1] - end) * share["last"]
                assert (share["beyond"], share["final"]) == (row["beyond"], row["final"])
                if share["last"]:
                    break
            assert share["last"]
            if order is ReadOrder.MERGED:
                whole = (begin - begin % 4, begin + row_bytes + -(begin + row_bytes) % 4)
                assert spans == list(cut_at(*whole, FOUR_KB))
            else:  # the requester cuts requests at lines
                cuts = [part for span in spans for part in cut_at(*span, LINE)]
                assert cuts == list(ORDERS[order](begin, begin + row_bytes))
                assert order is ReadOrder.NAIVE or cuts == spans
        assert next(result, None) is None


@benched(CutterBench, order=list(ReadOrder), stalls=STALLS)
async def every_size_at_every_byte(bench, order):
    """Rows are cut right at sizes near a sector, a line and two lines, and at the largest size."""
    for size in [*range(1, 37), 124, 128, 132, 256, 257, random.randrange(260, 800), 4095, 4097]:
        far = LINE * random.randrange(1 << 55)
        places = range(LINE) if size < 10 else random.sample(range(LINE), 8)
        await bench.cut(order, size, [far + place for place in places])
    for size in (MAX_ROW - 1, MAX_ROW):
        await bench.cut(order, size, [(1 << 64) - 2 * MAX_ROW - k for k in range(0, 64, 21)])


@benched(CutterBench, order=list(ReadOrder))
async def a_request_a_cycle_and_no_longer_than_stated(bench, order):
    await bench.cut(order, 2 * LINE, [LINE * k for k in range(20)])
    cycles = bench.requests.cycles
    assert cycles[0] - bench.rows.cycles[0] == RowCutter.latency
    assert cycles[-1] - cycles[0] == len(cycles) - 1
