"""Measures, inside the simulator, what INA takes on switches in RTL, and runs jobs on them."""

from typing import Any

import cocotb

from sim.harness.clock import cycle
from sim.harness.host_program import HostProgram
from sim.harness.in_simulator import params_in_simulator, report, workload_in_simulator
from sim.harness.streams import start
from sim.host.switch.pattern import recording
from sim.mina.as_golden import golden_cluster, golden_jobs
from sim.mina.golden.simulation import GoldenJob
from sim.mina.rtl.comparison import ROUGHLY, SwitchRun
from sim.mina.rtl.ends import Ends
from sim.mina.rtl.jobs import SECONDS, RtlJobs
from sim.mina.surroundings.cluster_system import ClusterParams
from sim.mina.workload import Unit
from sim.p4sgd.switch_side import switch_side

TRIED = (240, 80)  #: frames of the all-reduces that are measured
ONE_LEVEL = 16  #: frames of the all-reduce in one switch


async def configure(dut: Any, params: ClusterParams, unit: Unit) -> None:
    """Set the switches' addresses and places, and let them take the controller's commands."""
    wiring = params.wiring
    for number in range(params.cluster.switches):
        driver = HostProgram(dut, f"s_axil_{number}", switch_side(params.switch))
        own, below, above = wiring.addresses(number)
        await driver.set_addresses(own, below)
        await driver.set_parents(above, wiring.place(number))
        await driver.share(most=1, ports_apart=unit is Unit.PORT)
        await driver.open_ports([wiring.ports - 1])
        await driver.clear_counters()


async def measured(jobs: RtlJobs) -> tuple[float, float]:
    """Return the seconds of an all-reduce with INA alone: its latency, and those for each frame.

    The job that is measured has the largest tree of those that begin first.
    """
    jobs.start(0.0)
    job = max(
        (item for item in jobs.running if item.tree and item.hosts > 1),
        key=lambda item: len(item.tree or ()),
    )
    members = await jobs.enter(job, jobs.numbers[id(job)])
    seconds = []
    for count in TRIED:
        first = cycle()
        await jobs.add_up(job, members, 0, count)
        seconds.append((cycle() - first) * SECONDS)
    await one_level(jobs, job)
    frame = (seconds[0] - seconds[1]) / (TRIED[0] - TRIED[1])
    return seconds[0] - TRIED[0] * frame, frame


async def one_level(jobs: RtlJobs, job: GoldenJob) -> None:
    """Let the hosts of a ToR add up as ``job``: a second level may undo a switch's fault."""
    job.placed, job.root = [*range(jobs.params.cluster.down[0])], 0
    job.hosts = len(job.placed)
    if job.hosts > 1:
        members = await jobs.enter(job, jobs.numbers[id(job)])
        await jobs.add_up(job, members, 0, ONE_LEVEL)


@cocotb.test()
async def compare(dut: Any) -> None:
    """Run the jobs to their end, with decisions that use the measured times of INA."""
    params, run = params_in_simulator(ClusterParams), workload_in_simulator(SwitchRun)
    ends = Ends(dut, params)
    await start(dut)
    await configure(dut, params, run.requested.unit)
    cocotb.start_soon(ends.move())

    def jobs_by(latency: float, frame: float) -> RtlJobs:
        requested = run.timed(latency, frame)
        golden = golden_jobs(run.provided, requested)
        return RtlJobs(golden_cluster(requested), golden, run.frames, params, ends)

    alone = jobs_by(ROUGHLY * SECONDS, run.frame_cycles * SECONDS)
    latency, frame = await measured(alone)
    jobs = jobs_by(latency, frame)
    jobs.epoch = alone.epoch
    await jobs.train()
    recorders = [jobs.recorders[number] for number in sorted(jobs.recorders)]
    report(
        {
            "latency": latency,
            "frame": frame,
            "grants": jobs.grants,
            "begins": jobs.begins,
            "starts": jobs.starts,
            "resumed": [[step.began for step in each.steps] for each in recorders],
            "recording": recording(recorders),
            "cycles": cycle() - jobs.zero,
        }
    )
