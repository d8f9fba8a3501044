import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from hdl.p4sgd.engine import Engine
from hdl.p4sgd.params import EngineParams
from sim import streams
from sim.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd import engine_bench as bench

SIZES = {
    "plain": {"banks": 8, "lanes": 32, "chunks": 16, "fifo_words": 64},
    "odd": {"banks": 3, "lanes": 5, "chunks": 5, "fifo_words": 41, "max_bits": 7},
    "one": {"banks": 1, "lanes": 1, "chunks": 1, "fifo_words": 8, "max_bits": 1},
    "wide_l2": {"banks": 2, "lanes": 12, "chunks": 7, "fifo_words": 56, "l2": True},
}


@pytest.mark.parametrize("size", SIZES)
def test_engine(size: str) -> None:
    simulate(Engine(EngineParams(**SIZES[size])), __name__)


async def train(dut, run: bench.Run, stalls, wild: bool):
    """A run with random weights and deltas, everything compared with the golden model."""
    source, sink = stalls
    cycles = await streams.start(dut)
    low = -(1 << 31)
    shape = (run.chunks, run.params.lanes)
    weights = run.rng.integers(low, -low, size=shape)
    weights[0, 0] = low
    reference = bench.Reference(run, weights.reshape(-1))
    await bench.load(dut, run.params, weights)
    assert (await bench.peek(dut, run.params, run.chunks) == weights).all()

    saturations = 0

    async def count_saturations():
        nonlocal saturations
        events = run.params.events["model_saturation"].offset
        while True:
            await RisingEdge(dut.clk)
            saturations += int(dut.events.value) >> events & 1

    counting = cocotb.start_soon(count_saturations())
    await bench.start_run(dut, run)
    words = streams.Source(dut, "words", stall=source)
    for word in run.words:
        words.append(word)
    partials = streams.Sink(dut, "partials", stall=sink)
    deltas = streams.Source(dut, "deltas", stall=source)
    total = run.micro_batches * run.epochs
    for j in range(total):
        await partials.wait_for(j + 1)
        assert partials.beats[j] == reference.sums(j).tolist(), f"micro-batch {j}"
        delta = bench.random_deltas(run.rng, run.params.banks, wild)
        reference.learn(j, delta)
        deltas.append({"delta": delta, "last": run.is_last(j), "final": j == total - 1})
    while not dut.finished.value:
        await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    counting.cancel()
    partials.stop()
    assert len(partials.beats) == total
    read = await bench.peek(dut, run.params, run.chunks)
    assert (read.reshape(-1) == reference.architectural).all()
    assert saturations == reference.saturations
    assert int(cycles) > 0
    return words, partials, deltas, reference


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(
    bits=[1, 3, 4, 8], signed=[False, True], stalls=streams.STALLS, wild=[False, True]
)
async def matches_golden(dut, bits, signed, stalls, wild):
    params = params_in_simulator()
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    bits = min(bits, params.max_bits)
    chunks = int(rng.integers(1, min(params.chunks, params.fifo_words // bits) + 1))
    samples = int(rng.integers(1, 6 * params.banks))
    batch = params.banks * int(rng.integers(1, 4))
    run = bench.Run(
        params, rng, samples, chunks, bits, signed, batch, epochs=2, l2_shift=5 * params.l2
    )
    await train(dut, run, stalls, wild)
