"""Compares the simulator with switches in hardware on the same jobs: grants, times of steps."""

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gen.base.emission.emit import module_name
from hdl.p4sgd.switch.switch import Switch
from sim.golden.tree_plan import MAX_WORKERS
from sim.harness.measuring import run_workload
from sim.harness.verilator import Build, Simulation, build, emission_of
from sim.mina.jobs import JobList
from sim.mina.rtl.jobs import FRAME_BYTES, SECONDS
from sim.mina.schedule import Schedule, schedule
from sim.mina.surroundings.cluster_system import ClusterParams, ClusterSystem
from sim.mina.workload import ScheduleWorkload, Trees

RECORDING = "recording.json"  #: what the jobs called for, as ``--jobs`` reads it
LARGEST = 240  #: frames of the largest all-reduce
ROUGHLY = 340  #: first guess of an all-reduce's latency with INA, in cycles
MAX_SWITCHES, MAX_JOBS = 16, 16
SMALL = "--topology 2,2,2:1,1,2 with --jobs of at most 8 hosts"  #: options that fit
MAX_CYCLES = 2_000_000
MAX_OPERATIONS = 100_000
STEPS_WITHIN = 0.02  #: share of a step's time by which it may differ


@dataclass(frozen=True, kw_only=True)
class SwitchRun:
    """Holds jobs at the scale of the hardware, whose all-reduces are whole frames."""

    requested: ScheduleWorkload
    provided: JobList

    @cached_property
    def frames(self) -> list[list[int]]:
        """Return the frames of each job's all-reduces."""
        frames = {
            model.name: [size // FRAME_BYTES for size in model.sizes]
            for model in self.provided.models
        }
        return [frames[job.model] for job in self.provided.jobs]

    @property
    def params(self) -> ClusterParams:
        """Return the cluster of switches in hardware."""
        return ClusterParams(cluster=self.requested.cluster, jobs=len(self.provided.jobs))

    @property
    def frame_cycles(self) -> int:
        """Return about how many cycles INA takes for a frame and its acknowledgement."""
        return 2 * self.params.pace

    def timed(self, latency: float, frame: float) -> ScheduleWorkload:
        """Return the workload if INA takes ``latency`` seconds, and ``frame`` for each frame."""
        bandwidth = FRAME_BYTES / frame / self.requested.ratio
        return replace(self.requested, latency=latency, bandwidth=bandwidth)

    def simulated(self, latency: float, frame: float) -> Schedule:
        """Return the schedule of the simulator for these times."""
        return schedule(self.timed(latency, frame), self.provided, MAX_OPERATIONS)


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Says how the switches in hardware and the simulator agree."""

    latency_cycles: float  #: cycles of an all-reduce with INA beside those of its frames
    frame_cycles: float  #: cycles for each frame
    cycles: int  #: cycles of the whole run
    grants: int  #: grants in the simulator
    differs_at: int | None  #: index of the first grant that differs, if any
    steps: int
    worst_step: float  #: largest difference of a step's time, as a share
    assumed_rate: float  #: bytes a second of an all-reduce with INA, as the schedule has them
    plain_rate: float  #: bytes a second of one without INA, as the schedule has them

    @property
    def rate(self) -> float:
        """Return the bytes a second that an all-reduce with INA moves on the hardware."""
        return FRAME_BYTES / (self.frame_cycles * SECONDS)

    @property
    def holds(self) -> bool:
        """Return whether grants are the same and steps take as long, to 2 %."""
        return self.differs_at is None and self.worst_step <= STEPS_WITHIN

    def as_json(self) -> dict[str, Any]:
        """Return all figures."""
        return {**asdict(self), "rate": self.rate, "holds": self.holds}


def scaled(requested: ScheduleWorkload, provided: JobList) -> SwitchRun:
    """Return the jobs with time slowed down until their largest all-reduce has LARGEST frames.

    All times are stretched in proportion to the time that its frames take on the hardware.
    ValueError for jobs that do not fit a simulation of the hardware.
    """
    check(requested, provided)
    used = {job.model for job in provided.jobs}
    models = [model for model in provided.models if model.name in used]
    largest = max(size for model in models for size in model.sizes)
    frame = SwitchRun(requested=requested, provided=provided).frame_cycles
    factor = LARGEST * frame * SECONDS * requested.bandwidth * requested.ratio / largest
    small = JobList(
        models=[
            replace(
                model,
                period=model.period * factor,
                starts=[start * factor for start in model.starts],
                sizes=[FRAME_BYTES * max(1, round(LARGEST * s / largest)) for s in model.sizes],
            )
            for model in models
        ],
        jobs=[replace(job, arrival=job.arrival * factor) for job in provided.jobs],
    )
    result = SwitchRun(requested=requested, provided=small)
    check_run(result)
    return result


def check(requested: ScheduleWorkload, provided: JobList) -> None:
    """Raise ValueError for settings that the hardware or the golden model does not support."""
    cluster, jobs = requested.cluster, len(provided.jobs)
    for name, count, most, option in (
        ("hosts", cluster.hosts, MAX_WORKERS, SMALL),
        ("switches", cluster.switches, MAX_SWITCHES, SMALL),
        ("jobs", jobs, MAX_JOBS, f"--count {MAX_JOBS}"),
    ):
        if count > most:
            raise ValueError(f"--rtl simulates at most {most} {name}: {count}; try {option}")
    if requested.trees not in (Trees.FIRST, Trees.SPREAD):
        raise ValueError(
            f"--rtl knows trees first and spread: {requested.trees}; try --trees spread"
        )
    if requested.capacity > 1:
        raise ValueError(f"--rtl knows a capacity of 1: {requested.capacity}")
    if cluster.up[0] > 1:
        raise ValueError(f"--rtl knows hosts with one link up: {cluster}")


def check_run(requested: SwitchRun) -> None:
    """Raise ValueError unless INA is used from the beginning and the run is not too long."""
    result = requested.simulated(ROUGHLY * SECONDS, requested.frame_cycles * SECONDS)
    if not result.in_ina.any() or not ((result.begun == 0) & (result.root >= 0)).any():
        raise ValueError(
            "--rtl needs jobs that use INA, one of them from the beginning: none does;"
            " try a smaller --bandwidth, other --jobs, or another --sharing"
        )
    cycles = round(result.finished.max() / SECONDS)
    if cycles > MAX_CYCLES:
        raise ValueError(
            f"--rtl simulates at most {MAX_CYCLES:,} cycles: {cycles:,}; try --jobs of fewer steps"
        )


def compare(requested: SwitchRun, folder: Path) -> Agreement:
    """Run the jobs on switches in hardware and in the simulator; the former's log is in ``folder``.

    So is RECORDING: the patterns that MINA's runtime would record of the jobs on the hardware.
    SimulationError if a sum is wrong, or the switches do not answer in time.
    """
    params, assumed = requested.params, requested.requested
    simulation = Simulation(
        test_module="sim.mina.rtl.in_simulator",
        params=params,
        component=ClusterSystem,
    )
    simulator = simulator_of(requested)
    result = run_workload(simulator, simulation, requested, folder, requested.requested.seed)
    (folder / RECORDING).write_text(json.dumps(result["recording"], indent=1) + "\n")
    grants, begins = in_order(requested, requested.simulated(result["latency"], result["frame"]))
    return Agreement(
        latency_cycles=result["latency"] / SECONDS,
        frame_cycles=result["frame"] / SECONDS,
        cycles=result["cycles"],
        grants=len(grants),
        differs_at=first_difference(grants, [(job, op) for job, op in result["grants"]]),
        steps=sum(len(each) - 1 for each in begins),
        worst_step=max(
            float(abs(np.diff(own) / np.diff(reference) - 1).max())
            for own, reference in zip(result["begins"], begins, strict=True)
        ),
        assumed_rate=assumed.bandwidth * assumed.ratio,
        plain_rate=assumed.bandwidth,
    )


def simulator_of(requested: SwitchRun) -> Build:
    """Build the simulator of the cluster of switches."""
    params = requested.params
    blocks = [module_name(Switch(params.switch))]  # compiled once, however many there are
    return build(emission_of(ClusterSystem(params)), hier_blocks=blocks)


def in_order(
    requested: SwitchRun, result: Schedule
) -> tuple[list[tuple[int, int]], list[list[float]]]:
    """Return all-reduces with INA in the order of their starts, and the begins of jobs' steps."""
    models = {model.name: model for model in requested.provided.models}
    grants: list[tuple[int, int]] = []
    begins = [[float(begun)] for begun in result.begun]
    done = [0] * len(begins)
    for op in np.sort(result.log, order="start"):
        job = int(op["job"])
        if op["ina"]:
            grants.append((job, done[job]))
        done[job] += 1
        model = models[requested.provided.jobs[job].model]
        if op["op"] + 1 == len(model.starts):
            period = model.period / requested.requested.gpu_speed
            begins[job].append(max(float(op["end"]), begins[job][-1] + period))
    return grants, begins


def first_difference(first: list[Any], second: list[Any]) -> int | None:
    """Return where two lists differ first; None if they are the same."""
    differ = [k for k, (a, b) in enumerate(zip(first, second, strict=False)) if a != b]
    if differ or len(first) != len(second):
        return min([*differ, min(len(first), len(second))])
    return None
