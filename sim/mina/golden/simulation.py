"""Simulates a cluster and its jobs, event by event, in plain Python, as the compiled one must."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, prod

from sim.mina.golden.placement import allocate, first
from sim.mina.golden.training import Step, Training
from sim.mina.golden.trees import Tree, all_trees

FINE = 1 << 20  #: denominator of needs, so that sums of them are exact


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Describes the fat tree, and the algorithms that share it, by the words of the command."""

    down: Sequence[int]
    up: Sequence[int]
    ratio: float
    ports: bool = False
    placement: str = "first"
    trees: str = "first"
    sharing: str = "greedy"
    lock: str = "group"
    alpha: float = 0.5


@dataclass(kw_only=True, eq=False)
class GoldenJob:
    """Describes a job, and what becomes of it."""

    step: Step
    hosts: int
    steps: int
    arrival: float = 0.0
    placed: list[int] = field(default_factory=list)
    tree: Tree | None = None
    root: int = -1
    run: Training | None = None

    @property
    def training(self) -> Training:
        """Return the job's training, which runs or has run."""
        assert self.run is not None
        return self.run


class Simulation:
    """Simulates jobs on a cluster."""

    def __init__(self, cluster: Cluster, jobs: Sequence[GoldenJob]) -> None:
        self.cluster, self.waiting = cluster, list(jobs)
        self.running: list[GoldenJob] = []
        self.free = set(range(prod(cluster.down)))

    def need(self, job: GoldenJob) -> float:
        """Return the least share of a job's time on INA for the whole gain."""
        step = job.step
        need = (step.without_ina - step.all) / ((self.cluster.ratio - 1) * step.all)
        return round(need * FINE) / FINE

    def load(self, item: object) -> float:
        """Return the sum of the needs of the jobs whose trees have a switch or port."""
        return sum(self.need(job) for job in self.running if job.tree and item in job.tree)

    def place(self, job: GoldenJob) -> list[int]:
        """Return hosts for a job; none if they are too few."""
        cluster = self.cluster
        if cluster.placement == "first":
            return first(self.free, job.hosts)

        def penalty(leaf: int) -> float:
            need = self.need(job)
            if cluster.placement == "dp" or not need:
                return 0
            loads = [
                self.load((1, leaf, (a,), b) if cluster.ports else (1, leaf, (a,)))
                for a in range(cluster.up[0])
                for b in range(sum(cluster.up[1:2]) if cluster.ports else 1)
            ]
            return 4 * max(0.0, min(loads, default=0) + need - 0.34375)

        pod = range(prod(cluster.down))
        return allocate(pod, cluster.down, job.hosts, self.free, cluster.alpha, penalty)[1]

    def give_tree(self, job: GoldenJob) -> None:
        """Choose a job's tree, for good."""
        cluster = self.cluster
        trees = all_trees(job.placed, cluster.down, cluster.up, cluster.ports)
        others = [other.tree for other in self.running if other.tree]
        if cluster.trees == "first":
            apart = [i for i, tree in enumerate(trees) if not any(tree & each for each in others)]
            job.root = apart[0] if apart else -1
        elif job.step.without_ina > job.step.all and job.hosts > 1:

            def cost(root: int) -> tuple[float, float, float]:
                loads = [self.load(item) for item in trees[root]]
                over = sum(max(0.0, load + self.need(job) - 1) for load in loads)
                return over, max(loads, default=0), sum(loads)

            job.root = min(range(len(trees)), key=cost)
        job.tree = trees[job.root] if job.root >= 0 else None

    def start(self, now: float) -> None:
        """Start waiting jobs: first come, first served."""
        while self.waiting and self.waiting[0].arrival <= now:
            job = self.waiting[0]
            job.placed = self.place(job)
            if not job.placed:
                break
            self.waiting.pop(0)
            self.free -= set(job.placed)
            job.run = Training(job.step, job.hosts, job.steps, now)
            self.give_tree(job)
            self.running.append(job)

    def group(self, job: GoldenJob) -> list[GoldenJob]:
        """Return the jobs whose trees meet the job's, or those of others in the group."""
        result = [job]
        for member in result:
            result += [other for other in self.meeting(member) if other not in result]
        return [other for other in self.running if other in result]

    def meeting(self, job: GoldenJob) -> list[GoldenJob]:
        """Return the other jobs whose trees meet the job's."""
        own = job.tree or frozenset()
        return [each for each in self.running if each is not job and own & (each.tree or set())]

    def rivals(self, job: GoldenJob) -> list[GoldenJob]:
        """Return the jobs that a lock keeps from INA while the job uses it."""
        group = self.meeting(job) if self.cluster.lock == "tree" else self.group(job)
        return [other for other in group if other is not job]

    def decide(self, job: GoldenJob, now: float) -> bool:
        """Return whether the operation that begins now uses INA."""
        rivals, sharing = self.rivals(job), self.cluster.sharing
        if sharing == "never" or job.tree is None:
            return False
        if any(rival.training.uses for rival in rivals):
            return False
        rate = sharing == "rate"
        _, worth, end, useless = job.training.worth(now, rate)
        if sharing == "greedy":
            return True
        if sharing == "best" and useless:
            return False
        for rival in rivals:
            start, its_worth, _, its_useless = rival.training.worth(now, rate)
            equal = 1e-6 if rate else 0  # rounding must not tell jobs of one model apart
            if start >= end or its_worth <= worth + equal:
                continue
            if sharing == "best":
                others = [other.training for other in self.rivals(rival)]
                blocked = any(other.uses and other.next > start for other in others)
                if its_useless or blocked:
                    continue
            return False
        return True

    def run(self) -> None:
        """Simulate until all jobs have ended."""
        now = 0.0
        self.start(now)
        while self.running or self.waiting:
            groups = sorted(
                self.running,
                key=lambda job: (-self.running.index(self.group(job)[0]), self.running.index(job)),
            )
            job = min(groups, key=lambda each: each.training.next, default=None)
            comes = self.waiting[0].arrival if self.waiting else inf
            if job is None or now < comes <= job.training.next:
                now = comes
                self.start(now)
                continue
            now = job.training.next
            job.training.advance(job.training.decides and self.decide(job, now))
            if job.training.finished:
                self.running.remove(job)
                self.free |= set(job.placed)
                self.start(now)


def simulate_group(step_hosts: Sequence[tuple[Step, int]], steps: int) -> float:
    """Return the score by R of jobs on one switch over ``steps`` longest steps; nan if none."""
    jobs = [Training(step, hosts, None, 0.0) for step, hosts in step_hosts]
    limit, now = steps * max(step.without_ina for step, _ in step_hosts), 0.0
    while now <= limit:
        job = min(jobs, key=lambda each: each.next)
        now, ina = job.next, False
        if job.decides and not any(each.uses for each in jobs):
            _, worth, end, _ = job.worth(now)
            others = [each.worth(now) for each in jobs if each is not job]
            ina = not any(start < end and its > worth for start, its, _, _ in others)
        job.advance(ina)
    without_ina, all_ina, time = (
        sum(job.hosts * seconds(job) for job in jobs)
        for seconds in (
            lambda job: job.done * job.step.without_ina,
            lambda job: job.done * job.step.all,
            lambda job: job.step_began - job.began,
        )
    )
    return (without_ina - time) / (without_ina - all_ina) if without_ina > all_ina else float("nan")
