"""Reads rows of a table as requests ask for them, at any pace."""

import random
from itertools import islice

import cocotb

from hdl.switchgnn.switch.tables.row_reader import COUNT_BITS, RowReader, RowReaderParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from tests.hdl.switchgnn.extremes import some_number
from tests.simulated import simulated

SIZES = [RowReaderParams(bits=12, rows=16), RowReaderParams(bits=70, rows=512, style="block")]

test_row_reader = simulated(
    RowReader, SIZES, __name__, ids=lambda params: f"{params.rows}", registers=["done"]
)


class RowReaderBench(Bench):
    """Has a table of any content, and requests rows of it."""

    async def begin(self):
        await super().begin()
        self.table = [some_number(self.params.bits) for _ in range(self.params.rows)]
        await self.play(
            [{"write": 1, "address": at, "row": row} for at, row in enumerate(self.table)]
        )
        return self

    def some_request(self, most):
        count = random.randint(1, most)
        present = random.choice((count, count, random.randrange(count + 1), 0xFFFF))
        return {"first": random.randrange(self.params.rows), "count": count, "present": present}

    def rows_of(self, request):
        """Return what leaves for a request; None stands for a row that does not exist."""
        for k in range(request["count"]):
            present = k < request["present"]
            row = self.table[(request["first"] + k) % len(self.table)] if present else None
            yield row, int(k == request["count"] - 1)

    @property
    def result(self):
        beats = self.rows.beats
        return [(None if beat["missing"] else beat["row"], beat["last"]) for beat in beats]


@crossed(stalls=STALLS)
async def gives_what_is_requested(dut, stalls):
    """If nobody pauses, a row leaves per cycle, over all requests."""
    bench = await RowReaderBench(dut, stalls).begin()
    requests = [bench.some_request(random.choice((1, 1, 4, 20))) for _ in range(150)]
    golden = [row for request in requests for row in bench.rows_of(request)]
    bench.requests.extend(requests)
    await bench.rows.wait_for(len(golden))
    await bench.settle()
    assert bench.result == golden
    if stalls.absent:
        first = bench.rows.cycles[0]
        assert bench.rows.cycles == [first + k for k in range(len(golden))]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_its_latency(dut):
    bench = await RowReaderBench(dut).begin()
    for k in range(1, 10):
        request = bench.some_request(1)
        await bench.requests.send_all([request])
        await bench.rows.wait_for(k)
        assert bench.rows.cycles[-1] - bench.requests.cycles[-1] == RowReader.latency
        assert bench.result[-1:] == [*bench.rows_of(request)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ends_lists_of_any_length(dut):
    """The test sees only the end of each list, as it sets how many rows are done."""
    bench = await RowReaderBench(dut).begin()
    last = [random.randrange(1 << bit, 2 << bit) for bit in range(4, COUNT_BITS) for _ in range(4)]
    for done in (*last, *((1 << bit) - 5 for bit in range(4, COUNT_BITS + 1))):
        count = min(done + 10, (1 << COUNT_BITS) - 1)
        present = random.randrange(done, count + 1)
        request = {"first": random.randrange(bench.params.rows), "count": count, "present": present}
        bench.rows.beats.clear()
        dut.done.value = done
        await bench.requests.send_all([request])
        await bench.rows.wait_for(count - done)
        assert bench.result == [*islice(bench.rows_of(request), done, None)]
