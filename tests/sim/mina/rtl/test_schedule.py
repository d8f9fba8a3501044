"""Jobs that share a switch in hardware, beside the same jobs in the simulator."""

import random

import cocotb
import numpy as np

from sim.harness.clock import cycle
from sim.harness.verilator import params_in_simulator, simulate
from sim.mina.golden.simulation import Cluster, GoldenJob
from sim.mina.golden.training import Step
from sim.mina.jobs import JobList, TrainingJob
from sim.mina.models import TrainedModel
from sim.mina.schedule import schedule
from sim.mina.workload import ScheduleWorkload
from tests.sim.mina.rtl.jobs import SECONDS, RtlJobs
from tests.sim.mina.rtl.network import RtlNetwork
from tests.sim.mina.rtl.switches import THREE, Switches, SwitchesParams

FRAME_BYTES = 32  #: that a frame adds up
RATIO = 1.5
STEPS = 4
#: by job: cycles that a step computes, and frames of its operations with their earliest cycles
MODELS = (
    (9_000, ((2_500, 240), (5_200, 128), (7_300, 240))),
    (11_000, ((3_100, 96), (6_700, 240), (9_900, 160))),
    (7_300, ((1_700, 200), (5_900, 200))),
)


def test_schedule(tmp_path):
    """Figures are printed: pytest -s."""
    simulate(Switches(THREE), __name__, folder=tmp_path)
    lines = (tmp_path / "log.txt").read_text().splitlines()
    found = ("an operation takes", "steps differ")
    print(*(line for line in lines if any(part in line for part in found)), sep="\n")


def steps_of(number, latency, frame):
    """A job's step as the golden model knows it, in seconds; ``frame`` is of one with INA."""
    period, operations = MODELS[number]
    return Step(
        period=period * SECONDS,
        start=[at * SECONDS for at, _ in operations],
        plain=[latency + count * frame * RATIO for _, count in operations],
        ina=[latency + count * frame for _, count in operations],
    )


def simulated(sharing, latency, frame):
    """Operations with INA in the order of their starts, and the begins of steps, by job."""
    models = [
        TrainedModel(
            name=str(number),
            period=period * SECONDS,
            starts=[at * SECONDS for at, _ in operations],
            sizes=[count * FRAME_BYTES for _, count in operations],
        )
        for number, (period, operations) in enumerate(MODELS)
    ]
    jobs = [TrainingJob(model=model.name, hosts=2, steps=STEPS) for model in models]
    asked = ScheduleWorkload(
        topology="6:1",
        placement="first",
        sharing=sharing,
        bandwidth=FRAME_BYTES / frame / RATIO,
        ratio=RATIO,
        latency=latency,
    )
    found = schedule(asked, JobList(models=models, jobs=jobs), logged=1000)
    log = sorted(found.log.tolist(), key=lambda entry: entry[3])
    done, grants, steps = [0] * len(jobs), [], [[0.0] for _ in jobs]
    for job, op, ina, _, end in log:
        period, operations = MODELS[job]
        if ina:
            grants.append((job, done[job]))
        done[job] += 1
        if op + 1 == len(operations):
            steps[job].append(max(end, steps[job][-1] + period * SECONDS))
    return grants, steps


async def jobs_on(network, sharing, latency, frame, epoch=0):
    """Jobs on the hardware, for which an operation with INA is expected to take so long."""
    cluster = Cluster(down=(6,), up=(1,), ratio=RATIO, trees="spread", sharing=sharing, lock="tree")
    jobs = [
        GoldenJob(step=steps_of(number, latency, frame), hosts=2, steps=STEPS)
        for number in range(len(MODELS))
    ]
    frames = [[count for _, count in operations] for _, operations in MODELS]
    running = RtlJobs(cluster, jobs, network, frames, epoch)
    await running.register()
    return running


async def measure(jobs):
    """Seconds that an operation with INA takes beside its frames, and for each of these."""
    seconds = []
    for op in (0, 1):
        first = cycle()
        await jobs.add_up(0, op)
        seconds.append((cycle() - first) * SECONDS)
    more, less = jobs.frames[0][:2]
    frame = (seconds[0] - seconds[1]) / (more - less)
    return seconds[0] - more * frame, frame


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(sharing=["best", "greedy", "r"])
async def grants_and_steps_are_the_simulators(dut, sharing):
    """The same operations use INA in the same order, and steps begin at the same time, to 2 %.

    The simulator is told what one operation takes on the hardware alone.
    """
    rng = np.random.default_rng(random.getrandbits(32))
    network = RtlNetwork(dut, params_in_simulator(SwitchesParams), rng)
    await network.begin()
    alone = await jobs_on(network, sharing, 1e-6, 1e-8)
    latency, frame = await measure(alone)
    cycles = latency / SECONDS, frame / SECONDS
    cocotb.log.info("an operation takes %.0f cycles and %.2f for each frame", *cycles)
    jobs = await jobs_on(network, sharing, latency, frame, alone.epoch)
    await jobs.train()
    grants, steps = simulated(sharing, latency, frame)
    off = [abs(np.diff(jobs.steps[k]) / np.diff(steps[k]) - 1).max() for k in range(len(steps))]
    cocotb.log.info("%s: %d grants; steps differ by at most %s", sharing, len(grants), off)
    assert jobs.grants == grants
    assert max(off) < 0.02
    counted = [(await jobs.driver.tenant(k))["grants"] for k in range(len(MODELS))]
    assert counted == [sum(job == k for job, _ in grants) + 2 * (k == 0) for k in range(3)]
