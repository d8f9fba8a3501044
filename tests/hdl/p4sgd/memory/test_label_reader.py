import random

import cocotb
import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.memory.label_reader import LabelReader
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.streams import crossed, never, often
from tests.hdl.common.read_bench import beats_of, make_plan
from tests.hdl.p4sgd.memory.reader_bench import BEAT_BYTES, ReaderBench, run_on_memories
from tests.long import short_and_long

BEATS = 600


@pytest.mark.parametrize("banks", short_and_long([16, 8, 4, 2, 1], [16, 8, 1]))
def test_label_reader(banks, tmp_path, rng):
    worker = WorkerParams(engine=EngineParams(banks=banks, lanes=256 // banks))
    run_on_memories(LabelReader, worker, __name__, tmp_path, rng, BEATS)


class LabelBench(ReaderBench):
    output = "labels"

    @property
    def banks(self):
        return self.params.worker.engine.banks

    @property
    def memory_beats(self):
        return (1 << self.params.worker.address_bits) // BEAT_BYTES

    def plan_of(self, first, micro_batches, epochs, *, runs=1, stride=0):
        """Return a plan of so many micro-batches' beats in ``runs``, the same in every epoch."""
        beats = -(-micro_batches * self.banks // 8)
        return make_plan(BEAT_BYTES, first, beats // runs, stride, runs, epochs)

    def some_plan(self, micro_batches):
        """Draw one anywhere in memory, whose runs have gaps, overlap, or go backward."""
        beats = -(-micro_batches * self.banks // 8)
        runs = random.choice([count for count in range(1, beats + 1) if beats % count == 0])
        stride = random.getrandbits(24) if runs == 1 else random.randint(0, (BEATS - 60) // runs)
        first = random.randrange(BEATS - beats - (runs > 1) * (runs - 1) * stride)
        if runs > 1 and random.random() < 0.7:  # backwards, around the end of memory
            first += (runs - 1) * stride
            stride = self.memory_beats - stride
        epochs = random.randint(1, 4)
        return self.plan_of(first, micro_batches, epochs, runs=runs, stride=stride)

    async def read_labels(self, micro_batches, plan):
        """Read the first labels of every epoch of ``plan``, in rows of K."""
        places = [beat % self.memory_beats for beat in beats_of(plan, BEAT_BYTES)]
        beats = self.memories[0].view("<i4")[places]
        epochs = beats.reshape(plan["epochs"], -1)[:, : micro_batches * self.banks]
        self.set(micro_batches=micro_batches)
        await self.read(epochs.reshape(-1, self.banks).tolist(), plan)


@crossed(sink_stall=[never, often], stall=[0, 100])
async def delivers_micro_batches(dut, sink_stall, stall):
    bench = await LabelBench(dut, sink_stall, r_stall=stall, read_latency=30).begin()
    sizes = [1, 2, 3, 7, 8, 9, random.randint(1, 60)]
    for micro_batches in random.sample(sizes, len(sizes)):
        await bench.read_labels(micro_batches, bench.some_plan(micro_batches))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def delivers_a_micro_batch_every_cycle(dut):
    """One of 16 banks takes two cycles, one for each beat."""
    bench = await LabelBench(dut, read_latency=128).begin()
    most, pace = 4 * BEATS // bench.banks, max(1, bench.banks // 8)
    for micro_batches, epochs in ((most, 3), (most // 2 + 1, 1), (most // 2 + 2, 1)):
        await bench.read_labels(micro_batches, bench.plan_of(0, micro_batches, epochs))
        cycles = bench.labels.cycles
        end = cycles[0] + pace * epochs * micro_batches
        assert cycles == list(range(cycles[0], end, pace))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def epochs_are_as_long_as_they_like(dut):
    """No bit of the number of micro-batches is overlooked; only the first ones are read."""
    bench = await LabelBench(dut, read_latency=10).begin()
    for bit in range(6, 32):
        bench.set(micro_batches=(1 << bit) + 3)
        bench.forget()
        bench.plan.append(make_plan(BEAT_BYTES, bit, 4, 0, 1 << 20, 1))  # the same four beats
        await bench.labels.wait_for(24)
        beats = bench.memories[0].view("<i4")[bit : bit + 4]
        rows = beats.reshape(-1, bench.banks).tolist() * 24
        assert bench.labels.beats[:24] == rows[:24]
        await bench.halt()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def halt_starts_anew(dut):
    """It does even in the middle of a beat."""
    bench = await LabelBench(dut, often, r_stall=50, read_latency=10).begin()
    for attempt in range(20):
        bench.set(micro_batches=999)
        await bench.plan.send_all([bench.plan_of(0, 999, 5)])
        await bench.wait(17 + attempt)
        await bench.halt()
        micro_batches = random.randint(1, 20)
        await bench.read_labels(micro_batches, bench.plan_of(3, micro_batches, 2))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_lone_half_waits_for_a_halt(dut):
    """Of 16 banks a beat too many begins a micro-batch: no plan is taken behind it."""
    bench = await LabelBench(dut, read_latency=10).begin()
    if bench.banks < 16:
        return  # a beat has whole micro-batches
    for beats in (1, 5):
        bench.forget()
        bench.set(micro_batches=1 + beats // 2)
        bench.plan.append(make_plan(BEAT_BYTES, 0, beats, 0, 1, 1))
        await bench.labels.wait_for(beats // 2)
        await bench.wait(60)
        assert (bench.value("busy"), bench.value("half")) == (0, 1)
        bench.plan.append(bench.plan_of(3, 2, 1))
        await bench.wait(60)
        assert not bench.value("plan_ready")
        assert len(bench.labels.beats) == beats // 2
        await bench.strobe(halt=1)
        await bench.labels.wait_for(beats // 2 + 2)
        rows = bench.memories[0].view("<i4")[3:7].reshape(-1, 16).tolist()
        assert bench.labels.beats[beats // 2 :] == rows


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reports_failures(dut):
    bench = await LabelBench(dut, fail_read=1, fail_read_beat=2).begin()
    micro_batches = 40 // bench.banks
    await bench.read_labels(micro_batches, bench.plan_of(0, micro_batches, 3))
    assert len(bench.failed.beats) == 3
