"""Measures, on switches in RTL, how long a job takes to move from its tree to another one."""

import random
from pathlib import Path

import cocotb

from sim.harness.clock import cycle
from sim.harness.in_simulator import params_in_simulator, report, workload_in_simulator
from sim.harness.measuring import run_workload
from sim.harness.streams import start
from sim.harness.verilator import Simulation
from sim.mina.as_golden import golden_cluster, golden_jobs
from sim.mina.golden.trees import all_trees
from sim.mina.rtl.comparison import SwitchRun, simulator_of
from sim.mina.rtl.ends import Ends
from sim.mina.rtl.in_simulator import configure
from sim.mina.rtl.jobs import RtlJobs
from sim.mina.surroundings.cluster_system import ClusterParams, ClusterSystem

FRAMES = 4  #: of the all-reduce that follows a migration, whose sums are checked


def migrate(requested: SwitchRun, count: int, folder: Path) -> list[tuple[int, int]]:
    """Move a job of all hosts ``count`` times; return the cycles of release and reallocation.

    A reallocation registers the job with the switches of the new tree, and acquires them. After it
    the job adds up on the new tree. SimulationError if a sum is wrong or a switch refuses.
    """
    simulation = Simulation(test_module=__name__, params=requested.params, component=ClusterSystem)
    simulator = simulator_of(requested)
    seed = requested.requested.seed
    result = run_workload(simulator, simulation, (requested, count), folder, seed)
    return [(release, reallocation) for release, reallocation in result]


@cocotb.test()
async def moves_from_tree_to_tree(dut):
    """Move the job to another root each time, and add up there."""
    params = params_in_simulator(ClusterParams)
    run, count = workload_in_simulator(tuple)
    requested = run.requested
    ends = Ends(dut, params)
    await start(dut)
    await configure(dut, params, requested.unit)
    cocotb.start_soon(ends.move())
    job, cluster = golden_jobs(run.provided, requested)[0], params.cluster
    job.hosts, job.placed = cluster.hosts, [*range(cluster.hosts)]
    trees = all_trees(job.placed, cluster.down, cluster.up, requested.unit.value == "port")
    job.root, job.tree = 0, trees[0]
    jobs = RtlJobs(golden_cluster(requested), [job], [[FRAMES]], params, ends)
    members = await jobs.enter(job, 0)
    grant = await jobs.acquire(job, 0)
    moves = []
    for index in range(1, count + 1):
        began = cycle()
        await jobs.release(job, grant)
        released = cycle()
        job.root = random.choice([root for root in range(len(trees)) if root != job.root])
        job.tree = trees[job.root]
        members = await jobs.enter(job, 0)
        grant = await jobs.acquire(job, index)
        moves.append((released - began, cycle() - released))
        await jobs.sum_up(members, grant, FRAMES)
    report(moves)
