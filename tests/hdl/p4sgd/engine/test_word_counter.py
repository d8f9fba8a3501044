import cocotb

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.word_counter import WordCounter
from sim.harness import streams
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import clock, generator, play, position_of, put
from tests.simulated import simulated

REGISTERS = ["plane", "chunk", "first_plane", "second_plane", "last_plane"]
REGISTERS += ["first_chunk", "last_chunk"]
SIZES = [
    EngineParams(chunks=9),
    EngineParams(chunks=1),
    EngineParams(chunks=9, max_bits=1),
    EngineParams(chunks=200),
    EngineParams(),
]

test_word_counter = simulated(WordCounter, SIZES, __name__, short=SIZES[1:4], registers=REGISTERS)


def go_to(dut, taken, bits, chunks):
    """Let the counter be where it is after this many words."""
    position = position_of(taken, bits, chunks)
    values = position | {"plane": taken % bits}
    for name in REGISTERS:
        getattr(dut, name).value = values[name]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(bits=[1, 2, 5, 8], chunks=[1, 2, 8, 9, 4095, 4096])
async def counts_planes_and_chunks(dut, bits, chunks):
    params = params_in_simulator(EngineParams)
    rng = generator()
    bits, chunks = min(bits, params.max_bits), min(chunks, params.chunks)
    words = bits * chunks
    await streams.start(dut)
    put(dut, settings={"bits": bits, "chunks": chunks}, step=0)
    taken = 0
    for nearby in (0, words // 2, words):  # begin before these: in the middle all bits change
        if nearby > 60:
            taken = nearby - 20
            go_to(dut, taken, bits, chunks)
        for _ in range(WordCounter.settings_latency):
            await clock(dut)
        steps = [int(step) for step in rng.random(60) < 0.8]
        trace = await play(dut, [*({"step": step} for step in steps), {"step": 0}], "position")
        for step, position in zip([*steps, 0], trace["position"], strict=True):
            assert position == position_of(taken, bits, chunks)
            taken += step
