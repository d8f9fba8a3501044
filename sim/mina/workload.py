"""Describes what a schedule is asked for: jobs, cluster, and algorithms that share switches."""

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sim.harness.workload import Workload, setting
from sim.mina.cluster import FatTree, parse_topology
from sim.mina.jobs import TRACES, JobList, drawn_jobs, read_jobs


class Unit(StrEnum):
    """Names what two jobs that use INA cannot share."""

    SWITCH = "switch"
    PORT = "port"


class Placement(StrEnum):
    """Names how the hosts of a job are chosen."""

    FIRST = "first"
    DP = "dp"
    AWARE = "aware"


class Trees(StrEnum):
    """Names how the switches that add up for a job are chosen."""

    FIRST = "first"
    MIS = "mis"
    EXACT = "exact"
    SPREAD = "spread"


class Sharing(StrEnum):
    """Names how the all-reduces that use INA are chosen."""

    NEVER = "never"
    GREEDY = "greedy"
    R = "r"
    BEST = "best"
    RATE = "rate"


class Lock(StrEnum):
    """Names which other jobs an all-reduce with INA keeps from INA."""

    GROUP = "group"
    TREE = "tree"


@dataclass(frozen=True, kw_only=True)
class ScheduleWorkload(Workload):
    """Describes jobs on a shared cluster."""

    jobs: str | None = setting(
        None,
        "Read jobs from this JSON file: a list of {model, hosts, steps, arrival}, or an object with"
        " jobs and with models of its own.",
        metavar="FILE",
        shown="jobs of --trace",
    )
    trace: int = setting(
        1, "Draw hosts of jobs as in this trace of the paper.", least=1, most=TRACES
    )
    count: int = setting(1000, "Draw this many jobs.", least=1, most=100_000)
    seed: int = setting(
        42, "Draw jobs with this seed; 42 is the authors'.", least=1, most=(1 << 31) - 2
    )
    topology: str = setting(
        str(FatTree()),
        "Build a fat tree with these numbers of links, layer by layer from the hosts up: first down"
        " from each switch, then up from each host or switch below; or testbed, the paper's of"
        " four hosts and five switches, 2,2:1,3.",
        metavar="DOWN,..:UP,..|testbed",
    )
    unit: Unit = setting(
        Unit.SWITCH, "Let two jobs that use INA at a time share no switch (HDR), or no port (NDR)."
    )
    capacity: int = setting(
        1, "Let a switch or port add up for this many jobs at a time.", least=1, most=64
    )
    bandwidth: float = setting(
        12.5e9, "Let an all-reduce without INA move this many bytes a second.", least=1, most=1e15
    )
    ratio: float = setting(
        2.0,
        "Let INA move this many times as many bytes a second as without it.",
        least=1,
        most=1000,
    )
    gpu_speed: float = setting(
        1.0,
        "Let GPUs compute this many times as quickly as in the recordings.",
        least=1e-3,
        most=1000,
    )
    latency: float = setting(
        50e-6, "Add this many seconds to every all-reduce, whatever its bytes.", least=0, most=1
    )
    placement: Placement = setting(
        Placement.AWARE,
        "Choose the hosts of a job: first, dp (fewest fragments, the paper's), or aware (the"
        " same, but not where switches are busy).",
    )
    alpha: float = setting(
        0.5,
        "Weigh fragments of the hosts that stay free this many times as much as the job's own.",
        least=0,
        most=1000,
    )
    trees: Trees = setting(
        Trees.SPREAD,
        "Choose the switches that add up for a job: first that are free, mis (the paper's: a"
        " maximum independent set, and groups around it), exact (the same by an integer"
        " program, weighted, without groups), or spread (of least load).",
    )
    candidates: int = setting(
        5,
        "Let mis and exact choose from this many trees of a job (the paper's k).",
        least=1,
        most=1 << 16,
    )
    sharing: Sharing = setting(
        Sharing.BEST,
        "Choose the all-reduces that use INA: never, greedy (any that can), r (of the paper's"
        " authors' program: unless a rival gains more host seconds for each second until its end),"
        " rate (the paper's words: unless a rival gains more for each second of INA), or best (r"
        " without useless refusals and useless INA).",
    )
    lock: Lock = setting(
        Lock.TREE,
        "Keep these from INA while a job uses it: its sharing group (the paper's), or the jobs"
        " whose trees meet its own.",
    )
    ties: int = setting(
        0,
        "Draw the order of simultaneous events, and candidates, with this seed; 0: the authors'.",
        least=0,
        most=1 << 20,
    )
    rtl: bool = setting(
        False,
        "Run the jobs, at the hardware's scale, on a small cluster of switches in hardware as well,"
        " and compare grants and times of steps.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_topology(self.topology)
        for name in ("bandwidth", "ratio", "gpu_speed", "latency", "alpha"):
            if math.isnan(getattr(self, name)):
                raise ValueError(f"{name} must be a number: nan")
        if self.capacity > 1 and (self.trees is Trees.MIS or self.lock is Lock.GROUP):
            raise ValueError(
                "a capacity above 1 needs trees other than mis, and --lock tree: groups are of"
                " switches for one job"
            )

    @property
    def idle(self) -> set[str]:
        """Return the names of the fields that have no effect beside the others."""
        result = {"trace", "count", "seed"} if self.jobs is not None else set()
        if self.placement is Placement.FIRST:
            result.add("alpha")
        return result if self.trees in (Trees.MIS, Trees.EXACT) else result | {"candidates"}

    @property
    def cluster(self) -> FatTree:
        """Return the fat tree that ``topology`` describes."""
        return parse_topology(self.topology)

    def job_list(self) -> JobList:
        """Return the jobs; ValueError for what cannot be read, or for one that cannot run here."""
        if self.jobs is None:
            result = drawn_jobs(self.trace, self.count, self.seed)
        else:
            result = read_jobs(Path(self.jobs))
        for number, job in enumerate(result.jobs, 1):
            if job.hosts > self.cluster.hosts:
                raise ValueError(
                    f"hosts must be at most the {self.cluster.hosts} of the cluster: job {number}"
                    f" has {job.hosts}; try a larger --topology, or smaller --jobs"
                )
        return result
