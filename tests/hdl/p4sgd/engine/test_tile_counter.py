import cocotb

from hdl.p4sgd.engine.chunk_walk import PAUSE
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.tile_counter import TileCounter
from sim.harness import streams
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import Run, generator, play, set_up
from tests.simulated import simulated

SIZES = [
    EngineParams(lanes=16, chunks=9, max_tile=4),
    EngineParams(banks=2, lanes=16, chunks=17, max_tile=16),
]
MARKS = ("first_plane", "second_plane", "last_plane", "first_chunk", "last_chunk")

test_tile_counter = simulated(TileCounter, SIZES, __name__)


def words_of(run):
    """Yield the position of each word of a run, and whether its tile begins a mini-batch."""
    whole, count = run.batch // run.params.banks, run.micro_batches
    for start in range(0, count, run.tile):
        size = min(run.tile, count - start)
        for chunk in range(run.chunks):
            for member in range(size):
                for plane in range(run.bits):
                    marks = (plane == 0, plane == 1, plane == run.bits - 1)
                    ends = (chunk == 0, chunk == run.chunks - 1)
                    yield (
                        {
                            **dict(zip(MARKS, (*marks, *ends), strict=True)),
                            "chunk": chunk,
                            "member": member,
                            "first_member": member == 0,
                            "last_member": member == size - 1,
                        },
                        start % whole == 0,
                    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(bits=[1, 2, 5], chunks=[1, 2, 17], tile=[1, 4, 16], steps=[1.0, 0.6])
async def counts_members_of_tiles(dut, bits, chunks, tile, steps):
    """Epochs end with any part of a tile."""
    params, rng = params_in_simulator(EngineParams), generator()
    chunks, tile = min(chunks, params.chunks), min(tile, params.max_tile)
    samples = int(rng.integers(1, 12 * params.banks if chunks < 10 else 36))
    batch = params.banks * tile * int(rng.integers(1, 4))
    run = Run(params, rng, samples, chunks, bits, False, batch, epochs=2, tile=tile)
    await streams.start(dut)
    await set_up(dut, run.settings)
    expected = [*words_of(run)] * run.epochs
    rows = [{"start": 1, "step": 0}, {"start": 0}, {}, {}]
    await play(dut, rows)
    taken, idle = 0, 0
    while taken < len(expected):
        step = rng.random() < steps and bool(dut.active.value)
        trace = await play(dut, [{"step": int(step)}, {"step": 0}], "position", "first", "active")
        idle = 0 if trace["active"][0] else idle + 1
        assert idle <= PAUSE
        if step:
            assert (trace["position"][0], trace["first"][0]) == expected[taken]
        taken += step
    trace = await play(dut, [{}] * 3, "active")
    assert trace["active"][-1] == 0
