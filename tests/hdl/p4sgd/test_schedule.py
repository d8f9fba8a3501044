import cocotb
import pytest

from hdl.p4sgd.params import EngineParams
from hdl.p4sgd.schedule import Schedule
from sim import streams
from sim.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import clock, generator, micro_batches, play, pulse, put

SIZES = [EngineParams(), EngineParams(banks=3), EngineParams(banks=1)]
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

COUNTS = {"batch_micro_batches": 16, "epoch_micro_batches": 32, "epochs": 32}  # their bits

COUNTERS = ("in_batch", "in_epoch", "epoch")


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_schedule(params):
    simulate(Schedule(params), __name__, registers=COUNTERS)


def settings_of(run, tail):
    batch, epoch, epochs = RUNS[run]
    return {
        "batch_micro_batches": batch,
        "epoch_micro_batches": epoch,
        "epochs": epochs,
        "tail_samples": tail,
    }


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(run=list(RUNS), tail=[1, 2, 7, 8], gaps=[0, 0.4])
async def goes_through_a_run(dut, run, tail, gaps):
    params = params_in_simulator(EngineParams)
    rng = generator()
    settings = settings_of(run, min(tail, params.banks))
    golden = micro_batches(settings, params.banks)
    await streams.start(dut)
    put(dut, settings=settings)
    await clock(dut)
    assert not dut.active.value
    for _ in range(2):  # a run leaves nothing behind
        await pulse(dut, "start")
        steps = []
        while sum(steps) < len(golden):
            steps.append(int(rng.random() >= gaps))
        trace = await play(dut, [*({"step": s} for s in steps), {"step": 0}], "current", "active")
        taken = 0
        for step, current in zip(steps, trace["current"], strict=False):
            assert current == golden[taken]
            taken += step
        assert trace["active"] == [1] * len(steps) + [0]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def every_bit_of_the_settings_counts(dut):
    """The first micro-batch of a run ends what has a length of one, and nothing any longer.

    Most lengths are too large to be gone through; nothing is stepped here.
    """
    ones = {"batch_micro_batches": 1, "epoch_micro_batches": 1, "epochs": 1, "tail_samples": 1}
    rows, expected = [{"settings": ones}], [(1, 1)]
    for name, bits in COUNTS.items():
        others = {key: 2 for key in ("batch_micro_batches", "epoch_micro_batches") if key != name}
        for bit in range(bits):
            beside = {} if name == "epochs" else others
            rows.append({"settings": ones | beside | {name: 1 + (1 << bit)}})
            expected.append((name == "epochs", 0))
    await streams.start(dut)
    put(dut, settings=ones)
    await pulse(dut, "start")
    trace = await play(dut, [row | {"step": 0} for row in rows], "current")
    assert [(now["last"], now["final"]) for now in trace["current"]] == expected


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ends_of_long_runs(dut):
    """From a preset a few micro-batches before the end: of a batch, of an epoch, of the run."""
    params = params_in_simulator(EngineParams)
    rng = generator()
    everyone = (1 << params.banks) - 1
    await streams.start(dut)
    for bit in range(3, 32):
        batch = int(rng.integers(1 << min(bit, 15), 2 << min(bit, 15)))
        epoch, epochs = (int(rng.integers(1 << bit, 2 << bit)) for _ in range(2))
        tail = int(rng.integers(1, params.banks, endpoint=True))
        put(
            dut,
            settings={
                "batch_micro_batches": batch,
                "epoch_micro_batches": epoch,
                "epochs": epochs,
                "tail_samples": tail,
            },
        )
        await pulse(dut, "start")
        await play(dut, [{"step": 1}, {"step": 0}], "current")  # not the first of its batch
        # The last epoch but one, five before its end, two before the end of a batch.
        in_batch, in_epoch, at = batch - 3, epoch - 5, epochs - 2
        dut.in_batch.value, dut.in_epoch.value, dut.epoch.value = in_batch, in_epoch, at
        await clock(dut)
        trace = await play(dut, [{"step": 1}] * 12 + [{"step": 0}], "current", "active")
        for current in trace["current"]:
            ends_epoch = in_epoch == epoch - 1
            last = ends_epoch or in_batch == batch - 1
            assert current == {
                "first": in_batch == 0,
                "last": last,
                "final": ends_epoch and at == epochs - 1,
                "present": (1 << tail) - 1 if ends_epoch else everyone,
            }
            in_batch = 0 if last else in_batch + 1
            in_epoch, at = (0, at + 1) if ends_epoch else (in_epoch + 1, at)
        assert all(trace["active"])
        # The end of the run itself.
        dut.in_epoch.value, dut.epoch.value = epoch - 3, epochs - 1
        await clock(dut)
        trace = await play(dut, [{"step": 1}] * 3 + [{"step": 0}], "current", "active")
        assert [current["final"] for current in trace["current"][:3]] == [0, 0, 1]
        assert trace["active"] == [1, 1, 1, 0]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def start_begins_anew(dut):
    params = params_in_simulator(EngineParams)
    settings = settings_of("incomplete_batch", 1)
    golden = micro_batches(settings, params.banks)
    await streams.start(dut)
    put(dut, settings=settings)
    for steps in range(len(golden)):
        await pulse(dut, "start")
        trace = await play(dut, [{"step": 1}] * steps + [{"step": 0}], "current")
        assert trace["current"] == golden[: steps + 1]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(epoch_of_one=[False, True])
async def heeds_every_bit_of_its_limits(dut, epoch_of_one):
    """Nothing ends early, of a run far longer than can be simulated."""
    params = params_in_simulator(EngineParams)
    rng = generator()
    everyone = (1 << params.banks) - 1
    await streams.start(dut)
    for _ in range(40):
        tail = int(rng.integers(1, params.banks, endpoint=True))
        settings = {
            "batch_micro_batches": int(rng.integers(1 << 16)) | 16,
            "epoch_micro_batches": 1 if epoch_of_one else int(rng.integers(1 << 32)) | 16,
            "epochs": int(rng.integers(1 << 32)) | 16,
            "tail_samples": tail,
        }
        put(dut, settings=settings)
        await pulse(dut, "start")
        trace = await play(dut, [*[{"step": 1}] * 10, {"step": 0}], "current", "active")
        present = (1 << tail) - 1 if epoch_of_one else everyone
        for index, current in enumerate(trace["current"]):
            first = epoch_of_one or index == 0
            marks = {"first": first, "last": epoch_of_one, "final": 0, "present": present}
            assert current == marks
        assert all(trace["active"])
