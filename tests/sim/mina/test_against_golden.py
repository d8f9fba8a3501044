"""Compares the compiled scheduler with the golden models, on small clusters that seeds draw."""

from itertools import combinations, product

import numpy as np
import pytest

from sim.mina.as_golden import golden_cluster, golden_jobs, golden_step
from sim.mina.engine.library import load
from sim.mina.engine.setup import Run
from sim.mina.golden import placement as golden_placement
from sim.mina.golden.simulation import Simulation, simulate_group
from sim.mina.golden.trees import all_trees
from sim.mina.models import known_models
from sim.mina.schedule import schedule
from sim.mina.sharing import group_score
from sim.mina.workload import Lock, Placement, ScheduleWorkload, Sharing, Trees, Unit
from tests.sim.mina.cases import TOPOLOGIES, drawn_list

SEEDS = range(12)


def random_of(seed):
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def compiled_place(requested, free, penalty, required):
    run = Run(requested, drawn_list(np.random.default_rng(0), 1, 1))
    hosts = np.zeros(required, np.int64)
    open_hosts = np.array([host in free for host in range(requested.cluster.hosts)], np.int8)
    count = load().mina_place(
        run.pointer, open_hosts.ctypes.data, penalty.ctypes.data, required, hosts.ctypes.data
    )
    return hosts[:count].tolist()


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("penalised", [False, True])
def test_places_as_algorithm_1(topology, penalised):
    """No other choice of hosts has a lower score."""
    for seed in SEEDS:
        random = random_of(seed)
        alpha = float(random.choice([0, 0.5, 0.5, 2]))
        requested = ScheduleWorkload(topology=topology, placement=Placement.DP, alpha=alpha)
        down, hosts = requested.cluster.down, requested.cluster.hosts
        free = set(np.flatnonzero(random.random(hosts) < random.choice([0.5, 0.8, 1])).tolist())
        expected = int(random.integers(1, max(2, len(free) + 1)))
        penalty = random.choice([0, 0.25, 0.7], hosts // down[0]) * penalised
        least, golden = golden_placement.allocate(
            range(hosts), down, expected, free, alpha, lambda leaf, of=penalty: of[leaf]
        )
        assert compiled_place(requested, free, penalty, expected) == golden

        def score(taken, free=free, down=down, alpha=alpha, penalty=penalty):
            leaves = {host // down[0] for host in taken}
            paid = sum(penalty[leaf] for leaf in leaves)
            return golden_placement.score(set(taken), free, down, alpha) + paid

        choices = map(score, combinations(sorted(free), expected))
        assert (len(golden) == expected) == (len(free) >= expected)
        if golden:
            assert least == pytest.approx(score(golden)) == pytest.approx(min(choices))


def test_first_placement():
    for seed in SEEDS:
        random = random_of(seed)
        requested = ScheduleWorkload(topology="4,2:1,2", placement=Placement.FIRST)
        free = set(np.flatnonzero(random.random(8) < 0.6).tolist())
        expected = int(random.integers(1, 6))
        result = compiled_place(requested, free, np.zeros(2), expected)
        assert result == golden_placement.first(free, expected)


def largest_independent(count, edges):
    """Find it by trying all sets."""
    for size in range(count, 0, -1):
        for chosen in combinations(range(count), size):
            if not any(a in chosen and b in chosen for a, b in edges):
                return size
    return 0


def independent(count, edges):
    ends = np.array([*edges, (0, 0)], np.int64).ravel()
    chosen = np.zeros(count, np.int64)
    size = load().mina_independent(count, len(edges), ends.ctypes.data, chosen.ctypes.data)
    return set(chosen[:size].tolist())


def test_no_exchange_makes_an_independent_set_larger():
    """No vertex can make room for two that have no other neighbour in the set."""
    for seed in range(40):
        random = random_of(seed)
        edges = {pair for pair in combinations(range(40), 2) if random.random() < 0.15}
        result = independent(40, sorted(edges))
        bound = {v: [w for w in result if (min(v, w), max(v, w)) in edges] for v in range(40)}
        for stored in result:
            ones = [v for v, near in bound.items() if near == [stored]]
            assert all(pair in edges for pair in combinations(ones, 2))


def test_independent_sets_are_large():
    """They are never dependent, can never be added to, and are nearly always the largest."""
    all_results = largest_all = 0
    for seed in range(60):
        random = random_of(seed)
        count = int(random.integers(1, 12))
        pairs = list(combinations(range(count), 2))
        edges = [pair for pair in pairs if random.random() < random.choice([0.2, 0.5])]
        result = independent(count, edges)
        assert not any(a in result and b in result for a, b in edges)
        for vertex in set(range(count)) - result:
            assert any(vertex in edge and result & (set(edge) - {vertex}) for edge in edges)
        largest = largest_independent(count, edges)
        assert len(result) >= largest - 1
        all_results, largest_all = all_results + len(result), largest_all + largest
    assert all_results >= 0.98 * largest_all


@pytest.mark.parametrize("trees", [Trees.MIS, Trees.EXACT])
def test_trees_of_an_independent_set(trees):
    """Jobs that come at once, without sharing, get as many trees as any choice allows."""
    for seed in SEEDS:
        random = random_of(seed)
        requested = ScheduleWorkload(
            topology="2,2,2:1,2,2",
            placement=Placement.FIRST,
            trees=trees,
            sharing=Sharing.NEVER,
            candidates=64,
            bandwidth=1e9,
        )
        provided = drawn_list(random, 3, 4)
        provided = type(provided)(
            models=provided.models, jobs=[job for job in provided.jobs if job.hosts > 1]
        )
        if sum(job.hosts for job in provided.jobs) > 8 or not provided.jobs:
            continue
        result = schedule(requested, provided)
        choices = [
            all_trees(hosts.tolist(), requested.cluster.down, requested.cluster.up, False)
            for hosts in result.placed
        ]
        weight = result.hosts * (result.without_ina - result.all) / result.without_ina
        most = 0.0
        for roots in product(*([None, *each] for each in choices)):
            provided_trees = [tree for tree in roots if tree is not None]
            if sum(map(len, provided_trees)) == len(frozenset().union(*provided_trees)):
                value = sum(
                    (weight[i] if trees is Trees.EXACT else 1)
                    for i, tree in enumerate(roots)
                    if tree is not None
                )
                most = max(most, value)
        with_tree = ~result.conflicts.astype(bool)
        got = weight[with_tree].sum() if trees is Trees.EXACT else with_tree.sum()
        # Groups of the paper's trees may add jobs that share a switch.
        assert got >= most - 1e-9 if trees is Trees.MIS else got == pytest.approx(most)


SETTINGS = [
    (Placement.FIRST, Trees.FIRST, Sharing.GREEDY, Lock.GROUP),
    (Placement.DP, Trees.FIRST, Sharing.NEVER, Lock.TREE),
    (Placement.DP, Trees.SPREAD, Sharing.GREEDY, Lock.GROUP),
    (Placement.DP, Trees.SPREAD, Sharing.R, Lock.GROUP),
    (Placement.AWARE, Trees.SPREAD, Sharing.R, Lock.TREE),
    (Placement.DP, Trees.SPREAD, Sharing.RATE, Lock.GROUP),
    (Placement.FIRST, Trees.SPREAD, Sharing.RATE, Lock.TREE),
    (Placement.AWARE, Trees.SPREAD, Sharing.BEST, Lock.TREE),
    (Placement.FIRST, Trees.SPREAD, Sharing.BEST, Lock.GROUP),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda each: "-".join(map(str, each)))
@pytest.mark.parametrize("unit", list(Unit))
def test_simulates_as_the_golden_model(settings, unit):
    """Hosts, roots, begin and end of all jobs, and their time in INA, are equal."""
    for seed, topology in enumerate(2 * TOPOLOGIES):
        random = random_of(seed)
        requested = ScheduleWorkload(
            **dict(zip(("placement", "trees", "sharing", "lock"), settings, strict=True)),
            unit=unit,
            topology=topology,
            bandwidth=float(random.choice([10e9, 20e9, 40e9])),
            ratio=float(random.choice([1.5, 2, 3])),
            gpu_speed=float(random.choice([1, 1.5])),
        )
        provided = drawn_list(random, min(6, requested.cluster.hosts), late=seed % 2 > 0)
        jobs = golden_jobs(provided, requested)
        Simulation(golden_cluster(requested), jobs).run()
        result = schedule(requested, provided)
        assert [hosts.tolist() for hosts in result.placed] == [job.placed for job in jobs]
        assert result.root.tolist() == [job.root for job in jobs]
        for name, values in [
            ("begun", [job.training.began for job in jobs]),
            ("finished", [job.training.next for job in jobs]),
            ("in_ina", [job.training.in_ina for job in jobs]),
            ("without_ina", [job.step.without_ina * job.steps for job in jobs]),
            ("all", [job.step.all * job.steps for job in jobs]),
        ]:
            if name == "finished":
                values = [job.training.step_began for job in jobs]
            assert getattr(result, name) == pytest.approx(values, abs=1e-9), name


def test_groups_share_as_the_golden_model():
    """R is equal, on the recorded models."""
    requested = ScheduleWorkload(ratio=1.5, gpu_speed=1.5, sharing=Sharing.R)
    models = [*known_models()]
    for seed in range(8):
        random = random_of(seed)
        members = [
            (models[random.integers(len(models))], int(random.integers(2, 9)))
            for _ in range(random.integers(1, 4))
        ]
        golden = simulate_group(
            [
                (golden_step(known_models()[name], requested, hosts), hosts)
                for name, hosts in members
            ],
            3,
        )
        result = group_score(requested, members, 3)
        assert result == pytest.approx(golden) if result is not None else np.isnan(golden)
