import random

import cocotb

from hdl.p4sgd.engine.chunk_walk import ChunkWalk
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.schedule import MICRO_BATCH
from sim.harness import streams
from sim.harness.payloads import unpack
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import clock, pulse, put
from tests.hdl.p4sgd.engine.tile_model import WalkModel
from tests.hdl.stateful import follow
from tests.simulated import simulated

SIZES = [
    EngineParams(lanes=16, chunks=9, max_tile=4),
    EngineParams(lanes=16, chunks=40, max_tile=16),
    EngineParams(lanes=16, chunks=1, max_tile=1),
]

test_chunk_walk = simulated(ChunkWalk, SIZES, __name__, registers=["in_batch", "in_epoch", "epoch"])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def goes_over_the_chunks_of_each_tile(dut):
    dut.start.value = dut.step.value = 0
    await streams.start(dut)
    await follow(dut, WalkModel(params_in_simulator(EngineParams)), cycles=200)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_bit_of_the_lengths_counts(dut):
    """Presets are at the last tile of a mini-batch, of an epoch and of a run, or one before."""
    params = params_in_simulator(EngineParams)
    counts = dut.schedule.mini_batches.in_batch, dut.schedule.mini_batches.in_epoch
    await streams.start(dut)
    for turn in range(120):
        tile = random.randrange(params.max_tile.bit_length())
        batch = 1 + random.getrandbits(random.randint(1, 16 - tile) - 1)
        epoch, epochs = (max(8 << tile, random.getrandbits(32)) for _ in range(2))
        tiles, rest = -(-epoch >> tile), epoch % (1 << tile)
        lengths = {"batch_micro_batches": batch << tile, "epoch_micro_batches": epoch}
        put(dut, settings=lengths | {"epochs": epochs, "chunks": 1, "tile": tile}, step=0)
        await clock(dut, 2)
        await pulse(dut, "start")
        at = random.randrange(2)  # tiles before the last one
        counts[turn % 3 > 0].value = max(0, (tiles if turn % 3 else batch) - 1 - at)
        dut.schedule.epoch.value = epochs - 1 if turn % 3 == 2 else epochs - 2
        await clock(dut, 3)
        ends = not at or (batch == 1 and turn % 3 == 0)
        ends_epoch = ends and turn % 3 > 0
        now = unpack(MICRO_BATCH, int(dut.tile.value))
        assert now["last"] == (ends or batch == 1)
        assert now["final"] == (ends_epoch and turn % 3 == 2)
        assert dut.size.value == ((ends_epoch and rest) or 1 << tile)
