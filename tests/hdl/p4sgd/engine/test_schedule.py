import cocotb

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.schedule import Schedule
from sim.harness import streams
from tests.hdl.p4sgd.bench import clock, generator, micro_batches, play, pulse, put
from tests.simulated import simulated

RUNS = {  # micro-batches of a mini-batch and of an epoch, epochs
    "whole": (4, 12, 2),
    "incomplete_batch": (4, 10, 3),
    "batch_above_epoch": (65535, 7, 3),
    "batch_of_one": (1, 6, 2),
    "epoch_of_one": (3, 1, 4),
    "many_epochs": (2, 3, 300),
    "one": (1, 1, 1),
    "longer_than_8_bits": (300, 700, 2),
}

test_schedule = simulated(
    Schedule, [EngineParams()], __name__, registers=["epoch", "in_batch", "in_epoch"]
)


def settings_of(run):
    batch, epoch, epochs = RUNS[run]
    return {"batch_micro_batches": batch, "epoch_micro_batches": epoch, "epochs": epochs}


def golden(settings):
    """Return the marks of every micro-batch of a run."""
    marks = micro_batches(settings | {"tail_samples": 1}, 1)
    return [{name: mark[name] for name in ("first", "last", "final")} for mark in marks]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(run=list(RUNS), gaps=[0, 0.4])
async def goes_through_a_run(dut, run, gaps):
    rng = generator()
    settings = settings_of(run)
    expected = golden(settings)
    await streams.start(dut)
    put(dut, settings=settings)
    await clock(dut)
    assert not dut.active.value
    for _ in range(2):  # a run leaves nothing behind
        await pulse(dut, "start")
        steps = []
        while sum(steps) < len(expected):
            steps.append(int(rng.random() >= gaps))
        trace = await play(dut, [*({"step": s} for s in steps), {"step": 0}], "current", "active")
        taken = 0
        for step, current in zip(steps, trace["current"], strict=False):
            assert current == expected[taken]
            taken += step
        assert trace["active"] == [1] * len(steps) + [0]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def every_bit_of_the_epochs_counts(dut):
    """The first micro-batch of a run of one ends it, and that of any longer run does not."""
    ones = {"batch_micro_batches": 1, "epoch_micro_batches": 1, "epochs": 1}
    rows = [{"settings": ones}, *({"settings": ones | {"epochs": 1 + (1 << k)}} for k in range(32))]
    await streams.start(dut)
    put(dut, settings=ones)
    await pulse(dut, "start")
    trace = await play(dut, [row | {"step": 0} for row in rows], "current")
    assert [now["final"] for now in trace["current"]] == [1] + [0] * 32


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ends_of_long_runs(dut):
    """The preset is two epochs before the end."""
    rng = generator()
    await streams.start(dut)
    for bit in [*range(3, 32)] * 3:
        epochs, length = int(rng.integers(1 << bit, 2 << bit)), int(rng.integers(1, 5))
        settings = {
            "batch_micro_batches": int(rng.integers(1, 5)),
            "epoch_micro_batches": length,
            "epochs": epochs,
        }
        put(dut, settings=settings)
        await pulse(dut, "start")
        dut.epoch.value = epochs - 2
        await clock(dut)
        # With a rest, so that what is kept is right, and not only what is stepped to.
        steps = [1] * length + [0] * int(rng.integers(3)) + [1] * length + [0]
        trace = await play(dut, [{"step": step} for step in steps], "current", "active")
        went = [now for step, now in zip(steps, trace["current"], strict=True) if step]
        assert went == golden(settings | {"epochs": 2})
        assert trace["active"] == [1] * (len(steps) - 1) + [0]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(counter=["in_batch", "in_epoch"])
async def every_bit_of_the_lengths_counts(dut, counter):
    """Presets are at the last micro-batch of a mini-batch, and of an epoch."""
    rng = generator()
    await streams.start(dut)
    for _ in range(100):
        batch, epoch = (int(rng.integers(8, 1 << bits)) for bits in (16, 32))
        lengths = {"batch_micro_batches": batch, "epoch_micro_batches": epoch}
        put(dut, settings=lengths | {"epochs": 1})
        await pulse(dut, "start")
        last = {"in_batch": batch, "in_epoch": epoch}[counter] - 1
        getattr(dut.mini_batches, counter).value = last
        trace = await play(dut, [{"step": 0}] * 2, "current")
        assert trace["current"][-1]["last"]
        assert trace["current"][-1]["final"] == (counter == "in_epoch")


@cocotb.test(timeout_time=100, timeout_unit="us")
async def start_begins_anew(dut):
    settings = settings_of("incomplete_batch")
    expected = golden(settings)
    await streams.start(dut)
    put(dut, settings=settings)
    for steps in range(len(expected)):
        await pulse(dut, "start")
        trace = await play(dut, [{"step": 1}] * steps + [{"step": 0}], "current")
        assert trace["current"] == expected[: steps + 1]
