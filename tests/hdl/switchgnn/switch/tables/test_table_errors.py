"""Compares errors of lists, row by row, with counts by job and cause and each job's first error."""

import random
from collections import Counter
from dataclasses import replace

import cocotb

from hdl.switchgnn.switch.banks.aggregator_params import TableError
from hdl.switchgnn.switch.sizes import INDEX_BITS
from hdl.switchgnn.switch.tables.table_errors import (
    CAUSES,
    ERROR_COUNT_BITS,
    ERROR_LAG,
    TableErrors,
)
from sim.harness.bench import Bench
from tests.hdl.switchgnn.switch.sizes import TINY
from tests.simulated import simulated

OF_BANKS = (TableError.NONE, TableError.OUTSIDE, TableError.UNUSED, TableError.COMPLETE)
NOTHING = {"cause": TableError.NONE, "turn": 0, "row": 0, "aggregator": 0}


SIZES = {f"{banks} banks": replace(TINY, banks=banks) for banks in (2, 4)}
TALLIES = [f"tally_{k}" for k in range(TINY.jobs)]

test_table_errors = simulated(TableErrors, SIZES, __name__, registers=TALLIES)


class TableErrorsBench(Bench):
    """Gives a row of commands per cycle; what banks say of it comes later."""

    def __init__(self, dut):
        super().__init__(dut)
        self.under_way = [None] * ERROR_LAG  # rows that banks have not said anything of
        self.ripe = None  # of the cycle before
        self.counts = [Counter() for _ in range(self.params.jobs)]
        self.first = [NOTHING] * self.params.jobs
        self.shown = None  # the job that was asked for, with what it had
        self.seen = Counter()  # causes of which a count was shown

    def row(self):
        """Draw a row of some job: of lists, of a PARTIAL's aggregator, or one that is not there."""
        params, kind = self.params, random.choice(["banks", "banks", "missing", "outside"])
        row = {
            "job": random.randrange(params.jobs),
            "turn": random.getrandbits(32),
            "row": random.getrandbits(32),
            "number": random.getrandbits(32),
            "indices": [random.getrandbits(INDEX_BITS) for _ in range(params.banks)],
        }
        errors = [TableError.NONE] * params.banks
        if kind == "banks":
            errors = [random.choice(OF_BANKS) for _ in errors]
        return kind, row, errors

    async def step(self, row=None, begin=0):
        """Issue a row, or none; ``begin`` has the jobs that begin."""
        kind, issued, _ = row or ("banks", random.getrandbits(20), None)
        self.under_way.append(row)
        ripe = self.under_way.pop(0)
        errors = ripe[2] if ripe else [TableError.NONE] * self.params.banks
        job = random.randrange(self.params.jobs)
        self.set(issued=issued, missing=kind == "missing", outside=kind == "outside")
        self.set(errors=errors, begin=begin, job=job)
        await self.edge
        if self.shown is not None:
            self.check(*self.shown)
        self.shown = job, Counter(self.counts[job]), self.first[job]
        if self.ripe:
            self.note(*self.ripe)
        for k in range(self.params.jobs):
            if begin >> k & 1:
                self.counts[k], self.first[k] = Counter(), NOTHING
        self.ripe = ripe

    async def settle(self):
        """Wait until all that was issued is counted."""
        for _ in range(ERROR_LAG + 4):
            await self.step()

    def note(self, kind, row, errors):
        """Note what is wrong with a row; the lowest bank's error is the first."""
        result = [
            (error, index * self.params.banks + bank)
            for bank, (error, index) in enumerate(zip(errors, row["indices"], strict=True))
            if error is not TableError.NONE
        ]
        if kind == "missing":
            result = [(TableError.NO_SUCH_ROW, 0)]
        if kind == "outside":
            result = [(TableError.OUTSIDE, row["number"])]
        job = row["job"]
        for cause, more in Counter(cause for cause, _ in result).items():
            total = self.counts[job][cause] + more
            if total < 1 << ERROR_COUNT_BITS:  # what would go beyond the end is not counted
                self.counts[job][cause] = total
        if result and self.first[job] is NOTHING:
            cause, aggregator = result[0]
            self.first[job] = {
                "cause": cause,
                "turn": row["turn"],
                "row": row["row"],
                "aggregator": aggregator,
            }

    def check(self, job, counts, first):
        """Check what is shown of a job that was asked for a cycle before."""
        self.seen += counts
        shown = {cause.name.lower(): counts[cause] for cause in CAUSES}
        assert self.value("counts") == shown, job
        assert self.value("first") == first, job


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(gaps=[0, 0.7], begins=[0.005, 0.1])
async def errors_are_counted_and_the_first_is_kept(dut, gaps, begins):
    bench = await TableErrorsBench(dut).begin()
    for _ in range(600):
        begin = random.randrange(1 << bench.params.jobs) if random.random() < begins else 0
        await bench.step(bench.row() if random.random() >= gaps else None, begin)
    await bench.settle()
    assert set(bench.seen) == set(CAUSES)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def counters_stop_at_their_end(dut):
    """They count from any number on, through carries of any bits, up to 32 bits."""
    bench = await TableErrorsBench(dut).begin()
    for bits in (*range(2, ERROR_COUNT_BITS, 3), ERROR_COUNT_BITS):
        await bench.settle()
        near = (1 << bits) - 3
        for job, tally in enumerate((dut.tally_0, dut.tally_1)):
            tally.value = sum(near << k * ERROR_COUNT_BITS for k in range(len(CAUSES)))
            bench.counts[job] = Counter(dict.fromkeys(CAUSES, near))
        bench.shown = None
        await bench.step()
        for _ in range(60):
            await bench.step(bench.row())
    await bench.settle()
    ends = [count for counts in bench.counts for count in counts.values()]
    assert min(ends) >= (1 << ERROR_COUNT_BITS) - 3
