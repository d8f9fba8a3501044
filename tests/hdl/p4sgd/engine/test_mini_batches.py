import cocotb

from hdl.p4sgd.engine.mini_batches import MiniBatches
from hdl.p4sgd.engine.params import EngineParams
from sim.harness import streams
from tests.hdl.p4sgd.bench import clock, generator, micro_batches, play, pulse, put
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
BITS = {"batch_micro_batches": 16, "epoch_micro_batches": 32}
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
    sizes = dict(zip(BITS, LENGTHS[lengths], strict=True))
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


@cocotb.test(timeout_time=100, timeout_unit="us")
async def every_bit_of_the_lengths_counts(dut):
    """The first micro-batch ends what has a length of one, and nothing any longer."""
    rows, expected = [], []
    for name, bits in BITS.items():
        for bit in range(bits):
            rows.append({"lengths": dict.fromkeys(BITS, 2) | {name: 1 + (1 << bit)}})
            expected.append((1, 0, 0))
    rows.append({"lengths": dict.fromkeys(BITS, 1)})
    expected.append((1, 1, 1))
    await streams.start(dut)
    await pulse(dut, "start")
    assert marks_of(await play(dut, [row | {"step": 0} for row in rows], *MARKS)) == expected


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ends_of_long_ones(dut):
    """Presets are a few micro-batches before the end of a mini-batch, and of an epoch."""
    rng = generator()
    await streams.start(dut)
    for bit in [*range(3, 32)] * 3:
        batch = int(rng.integers(1 << min(bit, 15), 2 << min(bit, 15)))
        epoch = int(rng.integers(1 << bit, 2 << bit))
        put(dut, lengths={"batch_micro_batches": batch, "epoch_micro_batches": epoch})
        await pulse(dut, "start")
        await play(dut, [{"step": 1}, {"step": 0}], *MARKS)  # not the first of its mini-batch
        in_batch, in_epoch = batch - int(rng.integers(2, 5)), epoch - int(rng.integers(2, 8))
        dut.in_batch.value, dut.in_epoch.value = in_batch, in_epoch
        await clock(dut)
        trace = await play(dut, [{"step": 1}] * 12 + [{"step": 0}], *MARKS)
        for now in marks_of(trace):
            ends_epoch = in_epoch == epoch - 1
            last = ends_epoch or in_batch == batch - 1
            assert now == (in_batch == 0, last, ends_epoch)
            in_batch = 0 if last else in_batch + 1
            in_epoch = 0 if ends_epoch else in_epoch + 1
