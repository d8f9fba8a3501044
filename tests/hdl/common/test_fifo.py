import random
from bisect import bisect_left
from functools import partial

import pytest

from gen.base.emission.emit import emit
from hdl.common.fifo import Fifo, FifoParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, crossed, never
from sim.harness.verilator import params_in_simulator
from tests.hdl.contracts import contracts, filling, stated
from tests.rejects import rejects
from tests.simulated import simulated

SIZES = [
    FifoParams(shape=8, depth=2),
    FifoParams(shape=1, depth=16, style="distributed"),
    FifoParams(shape=33, depth=13, style="distributed"),
    FifoParams(shape=9, depth=8, passes=True),
    FifoParams(shape=9, depth=8, passes=True, style="block", output_register=True),
    FifoParams(shape=8, depth=2, style="block"),
    FifoParams(shape=16, depth=65),
    FifoParams(shape=72, depth=16, style="block", output_register=True),
    FifoParams(shape=40, depth=21, style="ultra", output_register=True),
    FifoParams(shape=512, depth=64, style="ultra"),
    FifoParams(shape=75, depth=2050, style="ultra", mixed=True),
]

test_fifo = simulated(Fifo, SIZES, __name__, short=SIZES[::2])


test_rejects = rejects(
    partial(FifoParams, shape=4, depth=4),
    ({"passes": True, "style": "block"}, "passes needs output_register, or style distributed"),
    ({"output_register": True}, "output_register needs style block or ultra"),
)


@pytest.mark.parametrize(
    ("params", "style", "words"),
    [
        (FifoParams(shape=8, depth=64), "distributed", 64),
        (FifoParams(shape=8, depth=65), "block", 65),
        (FifoParams(shape=512, depth=4096, style="ultra"), "ultra", 4096),
    ],
)
def test_memory_is_exactly_as_deep_as_requested(params, style, words):
    verilog = emit(Fifo(params)).verilog
    assert f'ram_style = "{style}"' in verilog
    assert f"[0:{words - 1}];" in verilog


def draw(count):
    width = params_in_simulator(FifoParams).width
    ones = (1 << width) - 1
    beats = [ones, 0, ones, *(random.getrandbits(width) for _ in range(count))][:count]
    return beats, beats


keeps_order, takes_its_latency, a_reset_empties_it = contracts(__name__, draw)
fills_and_empties = filling(__name__, draw)


@crossed(stalls=[*STALLS, (never, always)], us=100)
async def counts_what_is_inside(dut, stalls):
    """It does in every cycle, up to its capacity; what is inside is offered, and room is used."""
    bench = await Bench(dut).begin(after_anything=True)
    levels, (source,), (sink,) = (
        bench.record("", "level", "o_valid", "i_ready"),
        bench.sources,
        bench.sinks,
    )
    bench.offer(draw(2 * stated("capacity") + 50)[0], stalls)
    await bench.wait(300)
    inside = [bisect_left(source.cycles, at) - bisect_left(sink.cycles, at) for at in levels.cycles]
    assert [item["level"] for item in levels.beats] == inside
    depth, latency = bench.params.depth, 1 + bench.params.stages  # through the memory
    for at, item in levels.take().items():
        offered = bisect_left(source.cycles, at + 1 - latency) > bisect_left(sink.cycles, at)
        assert item["o_valid"] >= offered
        assert item["i_ready"] or item["level"] >= depth
