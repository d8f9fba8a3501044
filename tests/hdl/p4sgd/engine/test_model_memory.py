from dataclasses import replace

import cocotb
import numpy as np

from hdl.p4sgd.engine.dsp_cascade import MAX_SLICES
from hdl.p4sgd.engine.model_memory import ModelMemory, update_latency
from hdl.p4sgd.engine.params import EngineParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import generator, play, wild
from tests.simulated import simulated

SIZES = [EngineParams(lanes=1, chunks=1), EngineParams(lanes=3, chunks=5)]
SIZES += [EngineParams(lanes=lanes, chunks=5, dsp=True) for lanes in (3, 20, 64)]
HALVES = [replace(params, ping_pong=True) for params in SIZES]

test_model_memory = simulated(
    ModelMemory,
    SIZES,
    __name__,
    short=[SIZES[0], SIZES[1], SIZES[3]],
    test_filter="keeps_two_copies",
)
test_halves = simulated(
    ModelMemory,
    HALVES,
    __name__,
    short=[HALVES[0], HALVES[1], HALVES[3]],
    test_filter="keeps_two_halves",
)


def drawn(rng, params, i):
    """Draw accesses of a cycle; in the first cycles every chunk is written."""
    filling = i < params.chunks
    return {
        "forward_chunk": int(rng.integers(params.chunks)),
        "update_chunk": int(rng.integers(params.chunks)),
        "write": int(filling or rng.random() < 0.6),
        "write_chunk": i if filling else int(rng.integers(params.chunks)),
        "result": wild(rng, params.weight_bits, params.lanes),
    }


async def play_rows(dut, params, rows):
    """Play rows, and no accesses until all columns have been read; return both outputs."""
    await streams.start(dut)
    steady = dict.fromkeys({"write", "update"} & rows[-1].keys(), 0)
    idle = [rows[-1] | steady] * (update_latency(params) + MAX_SLICES)
    trace = await play(dut, rows + idle, "architectural", "updated")
    return trace["architectural"], trace["updated"]


def check_columns(params, architectural, rows, at, entry_of, first):
    """Check that the columns are read one after the other.

    What is written meanwhile may be seen or not.
    """
    for lane in range(params.lanes):
        late = params.bank.weight_skew(lane)
        for k in range(first, len(rows) - late):
            entry = entry_of(rows[k], "forward")
            if entry in (entry_of(row, "write") for row in rows[k : k + late] if row["write"]):
                continue
            assert architectural[k + late + ModelMemory.latency][lane] == at[k][entry][lane]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def keeps_two_copies(dut):
    params = params_in_simulator(EngineParams)
    rng = generator()
    models = {name: np.zeros((params.chunks, params.lanes), int) for name in ("arch", "upd")}
    rows, golden, at = [], [], []
    for i in range(params.chunks + 400):
        row = drawn(rng, params, i)
        row["both"] = int(i < params.chunks or rng.random() < 0.4)
        rows.append(row)
        arch, upd = models["arch"], models["upd"]
        golden.append(upd[row["update_chunk"]].tolist())
        at.append(arch.copy())
        if row["write"]:
            upd[row["write_chunk"]] = row["result"]
        if row["write"] and row["both"]:
            arch[row["write_chunk"]] = row["result"]
    architectural, shown = await play_rows(dut, params, rows)
    for k, updated in list(enumerate(golden))[params.chunks :]:
        assert shown[k + ModelMemory.latency] == updated
    check_columns(
        params, architectural, rows, at, lambda row, port: row[f"{port}_chunk"], params.chunks
    )


@cocotb.test(timeout_time=100, timeout_unit="us")
async def keeps_two_halves(dut):
    """Reads for updates come two cycles apart or more, writes too, and both in any cycle."""
    params = params_in_simulator(EngineParams)
    rng = generator()
    contents = np.zeros((params.chunks, 2, params.lanes), int)
    rows, golden, at = [], {}, []
    filled = 4 * params.chunks

    def entry_of(row, port):
        return row[f"{port}_chunk"], row[f"{port}_half"]

    for i in range(filled + 400):
        row = drawn(rng, params, i) | {
            f"{port}_half": int(rng.integers(2)) for port in ("forward", "update", "write")
        }
        before = rows[-1] if rows else {"write": 0, "update": 0}
        row["write"] = int(not before["write"] and (i < filled or row["write"]))
        row["update"] = int(i >= filled and not before["update"] and rng.random() < 0.7)
        if i < filled:
            row["write_chunk"], row["write_half"] = divmod(i // 2, 2)
        at.append(contents.copy())
        rows.append(row)
        if row["write"]:
            contents[entry_of(row, "write")] = row["result"]
        if row["update"]:  # a write in the same cycle goes first
            golden[i] = contents[entry_of(row, "update")].tolist()
    architectural, shown = await play_rows(dut, params, rows)
    assert any(rows[k]["write"] for k in golden)
    for k, updated in golden.items():
        assert shown[k + update_latency(params)] == updated
    check_columns(params, architectural, rows, at, entry_of, filled)
