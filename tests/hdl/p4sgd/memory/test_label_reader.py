import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.memory.label_reader import LabelReader
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.streams import never, often
from tests.hdl.common.read_bench import beats_of, make_plan
from tests.hdl.p4sgd.memory.reader_bench import BEAT_BYTES, Bench, run_on_memories
from tests.long import short_and_long

BEATS = 600


@pytest.mark.parametrize("banks", short_and_long([8, 4, 2, 1], [8, 1]))
def test_label_reader(banks, tmp_path, rng):
    worker = WorkerParams(engine=EngineParams(banks=banks, lanes=256 // banks))
    run_on_memories(LabelReader, worker, __name__, tmp_path, rng, BEATS)


def plan_of(bench, first, micro_batches, epochs, *, runs=1, stride=0):
    """Return a plan of this many micro-batches' beats in ``runs``, the same in every epoch."""
    beats = -(-micro_batches * bench.params.worker.engine.banks // 8)
    return make_plan(BEAT_BYTES, first, beats // runs, stride, runs, epochs)


def labels_of(bench, plan, micro_batches):
    """Return the first labels of every epoch of ``plan``, in rows of K."""
    banks = bench.params.worker.engine.banks
    memory = (1 << bench.params.worker.address_bits) // BEAT_BYTES
    places = [beat % memory for beat in beats_of(plan, BEAT_BYTES)]
    beats = bench.memories[0].view("<i4")[places]
    epochs = beats.reshape(plan["epochs"], -1)[:, : micro_batches * banks]
    return epochs.reshape(-1, banks).tolist()


def some_plan(bench, micro_batches):
    """Draw one anywhere in memory, whose runs have gaps, overlap, or go backward."""
    beats = len(list(beats_of(plan_of(bench, 0, micro_batches, 1), BEAT_BYTES)))
    runs = random.choice([count for count in range(1, beats + 1) if beats % count == 0])
    stride = random.getrandbits(24) if runs == 1 else random.randint(0, (BEATS - 60) // runs)
    first = random.randrange(BEATS - beats - (runs > 1) * (runs - 1) * stride)
    if runs > 1 and random.random() < 0.7:  # backwards, around the end of memory
        first += (runs - 1) * stride
        stride = (1 << bench.params.worker.address_bits) // BEAT_BYTES - stride
    epochs = random.randint(1, 4)
    return plan_of(bench, first, micro_batches, epochs, runs=runs, stride=stride)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(sink_stall=[never, often], stall=[0, 100])
async def delivers_micro_batches(dut, sink_stall, stall):
    bench = await Bench(
        dut, "labels", sink_stall=sink_stall, r_stall=stall, read_latency=30
    ).begin()
    expected = []
    sizes = [1, 2, 3, 7, 8, 9, random.randint(1, 60)]
    random.shuffle(sizes)
    for micro_batches in sizes:
        dut.micro_batches.value = micro_batches
        plan = some_plan(bench, micro_batches)
        await bench.source.send_all([plan])
        expected += labels_of(bench, plan, micro_batches)
        await bench.finish(expected)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def delivers_a_micro_batch_every_cycle(dut):
    bench = await Bench(dut, "labels", read_latency=128).begin()
    most = 4 * BEATS // bench.params.worker.engine.banks
    expected = []
    for micro_batches, epochs in ((most, 3), (most // 2 + 1, 1), (most // 2 + 2, 1)):
        dut.micro_batches.value = micro_batches
        plan = plan_of(bench, 0, micro_batches, epochs)
        await bench.source.send_all([plan])
        seen = len(expected)
        expected += labels_of(bench, plan, micro_batches)
        await bench.finish(expected)
        cycles = bench.sink.cycles[seen:]
        assert cycles == list(range(cycles[0], cycles[0] + epochs * micro_batches))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def epochs_are_as_long_as_they_like(dut):
    """No bit of the number of micro-batches is overlooked; only the first ones are read."""
    bench = await Bench(dut, "labels", read_latency=10).begin()
    for bit in range(6, 32):
        micro_batches = (1 << bit) + 3
        dut.micro_batches.value = micro_batches
        again = make_plan(BEAT_BYTES, bit, 4, 0, 1 << 20, 1)  # the same four beats
        await bench.source.send_all([again])
        seen = len(bench.sink.beats)
        await bench.sink.wait_for(seen + 24)
        beats = bench.memories[0].view("<i4")[bit : bit + 4]
        rows = beats.reshape(-1, bench.params.worker.engine.banks).tolist() * 24
        assert bench.sink.beats[seen : seen + 24] == rows[:24]
        await bench.halt()
        bench.sink.stop()
        bench.open_sink()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def halt_starts_anew(dut):
    """It does even in the middle of a beat."""
    bench = await Bench(dut, "labels", r_stall=50, read_latency=10, sink_stall=often).begin()
    for attempt in range(20):
        dut.micro_batches.value = 999
        await bench.source.send_all([plan_of(bench, 0, 999, 5)])
        await ClockCycles(dut.clk, 17 + attempt)
        await bench.halt()
        micro_batches = random.randint(1, 20)
        dut.micro_batches.value = micro_batches
        plan = plan_of(bench, 3, micro_batches, 2)
        await bench.source.send_all([plan])
        await bench.finish(labels_of(bench, plan, micro_batches))
        bench.sink.stop()
        bench.open_sink()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reports_failures(dut):
    bench = await Bench(dut, "labels", fail_read=1, fail_read_beat=2).begin()
    micro_batches = 40 // bench.params.worker.engine.banks
    dut.micro_batches.value = micro_batches
    plan = plan_of(bench, 0, micro_batches, 3)
    await bench.source.send_all([plan])
    await bench.finish(labels_of(bench, plan, micro_batches))
    assert bench.failed == 3
