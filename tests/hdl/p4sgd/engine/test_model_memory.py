import cocotb
import numpy as np

from hdl.p4sgd.engine.dsp_cascade import MAX_SLICES
from hdl.p4sgd.engine.model_memory import ModelMemory
from hdl.p4sgd.engine.params import EngineParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import generator, play, wild
from tests.simulated import simulated

SIZES = [EngineParams(lanes=1, chunks=1), EngineParams(lanes=3, chunks=5)]
SIZES += [EngineParams(lanes=lanes, chunks=5, dsp=True) for lanes in (3, 20, 64)]

test_model_memory = simulated(ModelMemory, SIZES, __name__, short=[SIZES[0], SIZES[1], SIZES[3]])


@cocotb.test(timeout_time=100, timeout_unit="us")
async def keeps_two_copies(dut):
    params = params_in_simulator(EngineParams)
    rng = generator()
    models = {name: np.zeros((params.chunks, params.lanes), int) for name in ("arch", "upd")}
    rows, golden, at = [], [], []
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
        golden.append(upd[row["update_chunk"]].tolist())
        at.append(arch.copy())
        if row["write"]:
            upd[row["write_chunk"]] = row["result"]
        if row["write"] and row["both"]:
            arch[row["write_chunk"]] = row["result"]
    await streams.start(dut)
    latency = ModelMemory.latency
    idle = [{"write": 0}] * (latency + MAX_SLICES)
    trace = await play(dut, rows + idle, "architectural", "updated")
    architectural, shown = trace["architectural"], trace["updated"]
    for k, updated in list(enumerate(golden))[params.chunks :]:
        assert shown[k + latency] == updated
    for lane in range(params.lanes):
        late = params.bank.weight_skew(lane)
        for k in range(params.chunks, len(rows) - late):
            # Columns are read one after the other: what is written meanwhile may be seen or not.
            chunk = rows[k]["forward_chunk"]
            if chunk in (row["write_chunk"] for row in rows[k : k + late] if row["write"]):
                continue
            assert architectural[k + late + latency][lane] == at[k][chunk][lane]
