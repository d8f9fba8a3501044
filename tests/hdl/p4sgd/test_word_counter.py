import cocotb
import pytest

from hdl.p4sgd.params import EngineParams
from hdl.p4sgd.word_counter import WordCounter
from sim import streams
from sim.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import generator, play, position_of, put

SIZES = [
    EngineParams(chunks=9),
    EngineParams(chunks=1),
    EngineParams(chunks=9, max_bits=1),
    EngineParams(chunks=200),
    EngineParams(),
]


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_word_counter(params):
    simulate(WordCounter(params), __name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(bits=[1, 2, 5, 8], chunks=[1, 2, 8, 9, 4095, 4096])
async def counts_planes_and_chunks(dut, bits, chunks):
    params = params_in_simulator(EngineParams)
    rng = generator()
    bits, chunks = min(bits, params.max_bits), min(chunks, params.chunks)
    cycles = min(5 * bits * chunks + 20, 9000)
    steps = [int(step) for step in rng.random(cycles) < 0.8]
    await streams.start(dut)
    put(dut, settings={"bits": bits, "chunks": chunks})
    trace = await play(dut, ({"step": step} for step in steps), "position")
    taken = 0
    for step, position in zip(steps, trace["position"], strict=True):
        assert position == position_of(taken, bits, chunks)
        taken += step
