import cocotb
import numpy as np
import pytest

from hdl.p4sgd.core.partial_sum import PartialSum
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import LOW, TOP, Trace, clock, generator, put, wild
from tests.long import short_and_long

LATENCIES = {1: 2, 2: 3, 3: 3, 8: 4, 16: 5}  # by engines: levels of three-input adders, and two
BANKS = {1: 8, 2: 2, 3: 1, 8: 2, 16: 16}


@pytest.mark.parametrize("engines", short_and_long(LATENCIES, [1, 3, 16]))
def test_partial_sum(engines):
    banks = BANKS[engines]
    bits = max(8, banks)
    sizes = {"max_bits": bits, "chunks": 4096 >> bits - 8}  # sums of at most 63 bits
    engine = EngineParams(banks=banks, lanes=512 // banks, **sizes)
    simulate(PartialSum(WorkerParams(engines=engines, engine=engine)), __name__)


def sums(rng, params, shift):
    """Draw exact sums [micro-batches, engines, banks]: extremes, ties, edges of the range, any."""
    engine = params.engine
    size = (params.engines, engine.banks)
    low, top = -(1 << engine.bank.partial_bits - 1), (1 << engine.bank.partial_bits - 1) - 1
    beats = [np.full(size, value) for value in (low, top, 0, -1)]
    alone = np.zeros(size, dtype=np.int64)
    alone[0] = 1
    half = (1 << shift) >> 1
    edges = [TOP << shift, (TOP << shift) + half, (LOW << shift) - half, (LOW << shift) - half - 1]
    beats += [alone * value for value in (half, -half, half - 1, 3 * half, -3 * half, *edges)]
    for bits in (12, 32 + shift, 34 + shift, engine.bank.partial_bits):
        beats += [wild(rng, bits, size) for _ in range(15)]
    return beats


def rounded(beat, shift):
    """Return each sample's sum over the engines, rounded and clamped, and how many clamped."""
    exact = [sum(map(int, column)) for column in beat.T]
    whole = [(2 * value + (1 << shift)) >> shift + 1 for value in exact]
    clamped = [min(max(value, LOW), TOP) for value in whole]
    return clamped, sum(a != b for a, b in zip(whole, clamped, strict=True))


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(precision=[(1, True), (1, False), (4, True), (0, False)], stalls=streams.STALLS)
async def adds_rounds_and_clamps(dut, precision, stalls):
    """Precisions are few bits, and all that there are."""
    params = params_in_simulator(WorkerParams)
    bits, signed = precision
    bits = bits or params.engine.max_bits
    source, sink = stalls
    beats = sums(generator(), params, bits - signed)
    golden = [rounded(beat, bits - signed) for beat in beats]
    await streams.start(dut)
    put(dut, settings={"bits": bits, "signed_features": signed})
    counted = Trace(dut, "saturations")
    engines = [streams.Source(dut, f"partials_{e}", stall=source) for e in range(params.engines)]
    for beat in beats:
        for engine, sums_of_engine in zip(engines, beat, strict=True):
            engine.append(sums_of_engine)
    shown, taken = await streams.receive(dut, "activations", len(beats), sink)
    await clock(dut, 2)
    assert shown == [clamped for clamped, _ in golden]
    assert [counted.at("saturations", when + 1) for when in taken] == [n for _, n in golden]
    assert sum(counted["saturations"]) == sum(n for _, n in golden)
    assert all(engine.cycles == engines[0].cycles for engine in engines)
    if stalls.absent:
        latency = PartialSum(params).latency
        assert latency == LATENCIES[params.engines]
        assert taken == [when + latency for when in engines[0].cycles]
        assert taken == list(range(taken[0], taken[0] + len(beats)))
