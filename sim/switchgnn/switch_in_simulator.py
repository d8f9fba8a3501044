"""Drives a switch alone, as hard as its ports allow, and tells the session what it measures."""

import random
from collections.abc import Sequence
from typing import Any

import cocotb
import numpy as np

from sim.harness.in_simulator import report
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup, Row, Step
from sim.switchgnn.switch_bench import SwitchBench, begin

JOB = 0
OPENING = 100  #: cycles beside those of a load until a turn is open
PATIENCE = 4000  #: most cycles until all sums have left
MAX_DEPTH = 64  #: aggregators of a bank that are used
MAX_FEATURES = 16  #: most features of a port in a measurement
LATENCIES = 2  #: sums of each port whose latency is measured
#: Causes, by the switch's counters, of cycles in which a task waits for its row.
BUSY = ("rows", "waits_for_list", "waits_for_copy", "holes")


class Measurement:
    """Measures a job on all ports, which is started anew each time."""

    def __init__(self, bench: SwitchBench) -> None:
        self.bench, self.params, self.epoch = bench, bench.params, 0
        params = self.params
        self.depth = min(params.slots, params.rows, params.descriptor_rows, MAX_DEPTH)
        self.features = min(MAX_FEATURES, params.ingress_depth // params.raw_beats, params.window)

    async def start(self, rows: Sequence[Row], expected: int) -> None:
        """Start aggregators that expect this many contributions each, spread over the ports."""
        params, host = self.params, self.bench.host
        block = {k: Descriptor(expected, self.port_of(k)) for k in range(params.banks * self.depth)}
        setup = JobSetup(
            ports=(1 << params.ports) - 1,
            banks=params.banks,
            depth=self.depth,
            window=params.window,
            blocks=[block],
            program=[Step(0, 1)],
            rows=rows,
        )
        self.epoch += 1
        self.seqs = [0] * params.ports
        await host.start_job(JOB, setup=setup, epoch=self.epoch, base=0)
        await host.clear_counters()
        await self.bench.idle(self.depth + OPENING)
        self.bench.frames.clear()

    def port_of(self, aggregator: int) -> int:
        """Return a port; neighbours in a bank and in a row leave by different ones."""
        return (aggregator + aggregator // self.params.banks) % self.params.ports

    def send(self, port: int, first: int, rows: int) -> np.ndarray:
        """Send a feature of the worker at a port; return its lanes."""
        lanes = self.params.lanes
        payload = np.array([random.randrange(-(1 << 15), 1 << 15) for _ in range(lanes)])
        frame = Frame(
            kind=Kind.FEATURE,
            turn=0,
            seq=self.seqs[port],
            list=first,
            rows=rows,
            bm=1 << port,
            job=JOB,
            epoch=self.epoch,
            payload=payload,
        )
        self.seqs[port] += 1
        self.bench.send(port, frame)
        return payload

    def sums(self) -> list[tuple[int, int, Frame]]:
        """Return cycle of the last beat, port and frame of the sums that have left."""
        return [
            (now, port, frame)
            for now, port, frame in self.bench.frames
            if isinstance(frame, Frame) and frame.kind is Kind.RESULT
        ]

    async def collect(self, sums: dict[int, np.ndarray]) -> tuple[int, int]:
        """Wait for all sums, once each, and check them; return their number and the cycles."""
        for _ in range(PATIENCE):
            await self.bench.step()
            if len(self.sums()) >= len(sums):
                break
        result = self.sums()
        assert sorted(frame.list for _, _, frame in result) == sorted(sums)
        for _, port, frame in result:
            assert port == self.port_of(frame.list)
            assert np.array_equal(frame.payload, sums[frame.list]), frame
        return len(result), result[-1][0] - result[0][0] + self.params.result_beats

    async def latencies(self) -> list[int]:
        """Measure the latency, through each port, of a sum that nothing else delays."""
        params, bench = self.params, self.bench
        count = min(LATENCIES * params.ports, self.depth * params.banks)
        await self.start(list(map(self.row_of, range(count))), 1)
        result = []
        for k in range(count):
            bench.frames.clear()
            before = len(bench.heads)
            payload = self.send(k % params.ports, k, 1)
            await self.collect({k: payload})
            result.append(bench.heads[before] - bench.inside[-1][1])
            await bench.idle(OPENING)  # the ACK leaves
        return result

    def row_of(self, aggregator: int) -> Row:
        """Return a row with one aggregator."""
        index, bank = divmod(aggregator, self.params.banks)
        return [index if k == bank else None for k in range(self.params.banks)]

    async def long_lists(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Measure throughput with long lists: rows, and sums that are all complete at once.

        Returns rows and cycles while all ports send features for all aggregators, then sums and
        cycles while these leave.
        """
        params = self.params
        await self.start([[k] * params.banks for k in range(self.depth)], self.all_features)
        total = np.zeros(params.lanes, np.int64)
        for _ in range(self.features):
            for port in range(params.ports):
                total += self.send(port, 0, self.depth)
        await self.bench.idle(self.all_features * self.depth)
        results = await self.collect(dict.fromkeys(range(params.banks * self.depth), total))
        counts = await self.bench.host.counters()
        assert counts["rows"] == self.all_features * self.depth
        await self.check_counters(results[0])
        return (counts["rows"], sum(counts[name] for name in BUSY)), results

    @property
    def all_features(self) -> int:
        """Return the number of features of all ports in a measurement."""
        return self.features * self.params.ports

    async def short_lists(self) -> tuple[int, int]:
        """Return the features that complete a sum each, and the cycles in which these leave."""
        params = self.params
        count = min(self.all_features, params.banks * self.depth, params.rows)
        await self.start(list(map(self.row_of, range(count))), 1)
        sums = {k: self.send(k % params.ports, k, 1) for k in range(count)}
        result = await self.collect(sums)
        await self.check_counters(count)
        return result

    async def check_counters(self, results: int) -> None:
        """Check that all that was sent was added, and that the switch counts the sums that left."""
        await self.bench.idle(OPENING)
        for port, verdicts in (await self.bench.host.verdicts()).items():
            assert verdicts["ADDED"] == self.seqs[port] == sum(verdicts.values()), verdicts
        counts = [*(await self.bench.host.port_counters()).values()]
        assert sum(count["results"] for count in counts) == results
        assert not any(count["overflows"] for count in counts)


@cocotb.test()
async def measure(dut: Any) -> None:
    """Measure latency through all ports, and throughput of rows, of sums, and of features."""
    measurement = Measurement(await begin(dut))
    latencies = await measurement.latencies()
    rows, results = await measurement.long_lists()
    features = await measurement.short_lists()
    report({"latencies": latencies, "rows": rows, "results": results, "features": features})
