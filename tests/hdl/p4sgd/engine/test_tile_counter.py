import cocotb

from hdl.p4sgd.engine.chunk_walk import PAUSE
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.tile_counter import TileCounter
from sim.harness import streams
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import play, put
from tests.hdl.p4sgd.engine.tile_model import TileModel, long_lengths
from tests.hdl.stateful import follow
from tests.simulated import simulated

SIZES = [
    EngineParams(lanes=16, chunks=9, max_tile=4),
    EngineParams(lanes=16, chunks=17, max_tile=16),
    EngineParams(lanes=16, chunks=1, max_tile=1, max_bits=1),
]

test_tile_counter = simulated(TileCounter, SIZES, __name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_members_of_tiles(dut):
    """Epochs end with any part of a tile."""
    dut.start.value = dut.step.value = 0
    await streams.start(dut)
    await follow(dut, TileModel(params_in_simulator(EngineParams)), cycles=300)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_bit_of_the_lengths_counts(dut):
    """Each bit of a length alone makes a run go on behind its first tile, which has one word."""
    await streams.start(dut)
    for name, lengths in long_lengths():
        put(dut, settings=lengths | {"tile": 0, "chunks": 1, "bits": 1})
        wait = [{"rst": 0, "start": 0, "step": 0}] * PAUSE
        rows = [*wait, {"start": 1}, *wait, {"start": 0, "step": 1}, *wait, {}, {"rst": 1}]
        trace = await play(dut, rows, "active", "first")
        assert trace["active"][-1]
        assert trace["first"][-1] == (name == "epochs")
