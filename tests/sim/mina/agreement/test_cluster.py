"""Runs jobs that share switches on bad links, with restarts and deaths: sums are exact, INA
returns.
"""

import pytest

from sim.mina.agreement.controller_rule import Phase
from sim.mina.agreement.frames import Place, Role
from sim.mina.agreement.hold_rule import Step
from tests.long import short_and_long
from tests.sim.mina.agreement.cluster import GOOD, Cluster

JOBS = ((0, (0, 1)), (1, (2, 3, 4)), (2, (5,)))
TREES = ((0,), (0, 1), (1,))
OPERATIONS = 12


def assert_usable(cluster):
    """Check that, with good links and all alive, every job that is left uses INA again."""
    cluster.links.faults = GOOD
    jobs = cluster.controller.stable.jobs
    left = {job for job, hosts in jobs if not cluster.dead & set(hosts)}
    models = [model for model in cluster.hosts.values() if model.setup.job in left]
    first = {model.setup.host: model.ready for model in models}
    for _ in range(200):
        for model in models:
            model.ready += 2
        cluster.run(300)
        if all(max(model.ina, default=-1) >= first[model.setup.host] for model in models):
            break
    else:
        raise AssertionError(f"no INA any more: {cluster.state()}")
    cluster.check()


@pytest.mark.parametrize("seed", short_and_long(range(60), range(3)))
def test_bad_links(seed):
    cluster = Cluster(seed, JOBS, TREES, OPERATIONS)
    cluster.run(4000)
    cluster.check()
    assert not any(model.member.host.ended for model in cluster.hosts.values())
    assert_usable(cluster)
    print(cluster.links.counts, cluster.controller.counters, cluster.with_ina())


@pytest.mark.parametrize("seed", short_and_long(range(100), range(4)))
def test_restarts_and_deaths(seed):
    cluster = Cluster(seed, JOBS, TREES, OPERATIONS)

    def happens():
        if cluster.rng.random() < 0.02:
            cluster.restart_controller()
        if cluster.rng.random() < 0.02:
            cluster.restart_switch(int(cluster.rng.integers(2)))
        if cluster.rng.random() < 0.01 and not cluster.dead:
            cluster.kill(int(cluster.rng.integers(6)))

    cluster.run(6000, happens)
    cluster.check()
    lost = {cluster.job_of[host] for host in cluster.dead}
    assert {job for job, _ in cluster.controller.stable.dropped} <= lost
    assert_usable(cluster)
    print(cluster.events, cluster.links.counts, cluster.controller.counters, cluster.with_ina())


def go_on(cluster, until):
    """Let all hosts do one operation after the other."""
    while not until():
        for model in cluster.hosts.values():
            model.ready += 1
        cluster.run(300)


@pytest.mark.parametrize("dies", [False, True], ids=["owner lives", "owner dies"])
def test_a_switch_that_was_cut_off_comes_back(dies):
    """It is still that of the job told to stop, as the controller has not reached it."""
    cluster = Cluster(0, JOBS[:2], ((0,),), 4, faults=GOOD)
    go_on(cluster, lambda: cluster.hosts[0].member.host.used)
    cluster.cut = {Place(Role.SWITCH, 0)}
    go_on(cluster, lambda: cluster.controller.counters["switches lost"])
    if dies:
        cluster.kill(0)
        go_on(cluster, lambda: cluster.controller.stable.dropped)
    cluster.check()
    assert cluster.switches[0].state.tenants[0].holds
    cluster.cut = set()
    assert_usable(cluster)


@pytest.mark.parametrize("restarts", [False, True], ids=["goes on", "restarts"])
@pytest.mark.parametrize("phase", [Phase.REQUESTING, Phase.REPORTING])
def test_the_last_job_leaves_its_switches_to_others(phase, restarts):
    """Its host dies when the controller asks it, or tells it of its grant."""
    cluster = Cluster(0, ((0, (0,)),), ((0, 1),), 0, faults=GOOD)
    for tick in range(200):
        cluster.tick()
        while cluster.links.flying:
            cluster.links.deliver()
            group = cluster.controller.group
            if group.hold.step is Step.HELD and group.controller.phase is phase:
                cluster.dead = {0}
        if restarts and tick == 100:
            cluster.restart_controller()
    assert not cluster.controller.stable.jobs
    assert not any(switch.state.tenants[0].holds for switch in cluster.switches.values())
