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


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_schedule(params):
    simulate(Schedule(params), __name__)


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
