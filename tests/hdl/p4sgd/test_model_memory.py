import cocotb
import numpy as np
import pytest

from hdl.p4sgd.model_memory import ModelMemory
from hdl.p4sgd.params import EngineParams
from sim import streams
from sim.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import generator, play, wild

SIZES = [EngineParams(lanes=1, chunks=1), EngineParams(lanes=3, chunks=5)]


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_model_memory(params):
    simulate(ModelMemory(params), __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def keeps_two_copies(dut):
    params = params_in_simulator(EngineParams)
    rng = generator()
    models = {name: np.zeros((params.chunks, params.lanes), int) for name in ("arch", "upd")}
    rows, golden = [], []
    for i in range(params.chunks + 400):
        filling = i < params.chunks
        row = {
            "forward_chunk": int(rng.integers(params.chunks)),
            "update_chunk": int(rng.integers(params.chunks)),
            "write": filling or rng.random() < 0.6,
            "both": filling or rng.random() < 0.4,
            "write_chunk": i if filling else int(rng.integers(params.chunks)),
            "result": wild(rng, params.weight_bits, params.lanes),
        }
        rows.append(row)
        arch, upd = models["arch"], models["upd"]
        golden.append((arch[row["forward_chunk"]].tolist(), upd[row["update_chunk"]].tolist()))
        if row["write"]:
            upd[row["write_chunk"]] = row["result"]
        if row["write"] and row["both"]:
            arch[row["write_chunk"]] = row["result"]
    await streams.start(dut)
    latency = ModelMemory.latency
    trace = await play(dut, [*rows, *[{"write": 0}] * latency], "architectural", "updated")
    shown = list(zip(trace["architectural"][latency:], trace["updated"][latency:], strict=True))
    assert shown[params.chunks :] == golden[params.chunks :]
