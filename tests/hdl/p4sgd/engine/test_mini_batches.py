import cocotb

from hdl.p4sgd.engine.mini_batches import MiniBatches
from hdl.p4sgd.engine.params import EngineParams
from sim.harness import streams
from tests.hdl.p4sgd.bench import generator, micro_batches, play, pulse, put
from tests.hdl.p4sgd.engine.mini_batch_model import MiniBatchModel
from tests.hdl.stateful import follow
from tests.simulated import simulated

LENGTHS = {  # micro-batches of a mini-batch and of an epoch
    "whole": (4, 12),
    "incomplete_batch": (4, 10),
    "batch_above_epoch": (65535, 7),
    "batch_of_one": (1, 6),
    "epoch_of_one": (3, 1),
    "one": (1, 1),
    "longer_than_8_bits": (300, 700),
}
SIZES = ("batch_micro_batches", "epoch_micro_batches")
MARKS = ("first", "last", "ends_epoch")

test_mini_batches = simulated(
    MiniBatches, [EngineParams()], __name__, registers=["in_batch", "in_epoch"]
)


def golden(lengths, epochs):
    """Return the marks of all micro-batches of ``epochs`` epochs, each as a run of one."""
    run = lengths | {"tail_samples": 1, "epochs": 1}
    marks = [(mark["first"], mark["last"], mark["final"]) for mark in micro_batches(run, 1)]
    return marks * epochs


def marks_of(trace):
    return list(zip(*(trace[name] for name in MARKS), strict=True))


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(lengths=list(LENGTHS), gaps=[0, 0.4])
async def goes_through_epochs(dut, lengths, gaps):
    rng = generator()
    sizes = dict(zip(SIZES, LENGTHS[lengths], strict=True))
    expected = golden(sizes, 3)
    await streams.start(dut)
    put(dut, lengths=sizes)
    for steps in (len(expected), 5, len(expected)):  # a run leaves nothing behind
        await pulse(dut, "start")
        went = []
        while sum(went) < steps:
            went.append(int(rng.random() >= gaps))
        trace = await play(dut, [{"step": step} for step in went] + [{"step": 0}], *MARKS)
        taken = 0
        for step, now in zip(went, marks_of(trace), strict=False):
            assert now == expected[taken % len(expected)]
            taken += step


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ends_lengths_of_any_bits(dut):
    dut.start.value = dut.step.value = 0
    await streams.start(dut)
    await follow(dut, MiniBatchModel(), runs=300)
