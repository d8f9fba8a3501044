import cocotb
import numpy as np
import pytest

from hdl.p4sgd.params import GROUP_LANES, EngineParams
from hdl.p4sgd.read_back import ReadBack
from sim import streams
from sim.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import clock, generator, peek, wild

SIZES = [EngineParams(banks=banks, lanes=12, chunks=5) for banks in (8, 4, 3, 1)]


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_read_back(params):
    simulate(ReadBack(params), __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=streams.STALLS)
async def gathers_groups(dut, stalls):
    """The banks answer with what their one lane holds; a lane of nobody is zero."""
    params = params_in_simulator(EngineParams)
    rng = generator()
    source, sink = stalls
    weights = wild(rng, 32, (params.chunks, params.lanes))
    padded = np.zeros((params.chunks, 16 + params.banks), dtype=np.int64)
    padded[:, : params.lanes] = weights
    await streams.start(dut)
    sums = streams.Source(dut, "sums", stall=source)

    def answer(probe):
        lanes = probe["step"] * params.banks + np.arange(params.banks)
        row = padded[probe["chunk"], probe["group"] * GROUP_LANES :]
        sums.append(np.where(lanes < GROUP_LANES, row[lanes.clip(max=GROUP_LANES)], 0))

    probes = streams.Sink(dut, "probe", stall=sink, callback=answer)
    assert not dut.busy.value
    read = await peek(dut, params, params.chunks, stall=sink)
    assert (read == weights).all()
    steps = list(range(params.probe_steps))
    assert [beat["step"] for beat in probes.beats] == steps * params.chunks * 2
    await clock(dut, 3)
    assert not dut.busy.value
    assert not dut.sums_ready.value
