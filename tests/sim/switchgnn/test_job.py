"""Runs planned tables on bad links: every sum is A X, whatever the plan."""

import numpy as np
import pytest

from sim.switchgnn.evaluation.frames import FrameSizes
from sim.switchgnn.golden.aggregation import aggregate, edges_between
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.golden.switch_rule import Verdict
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.links import join, run
from sim.switchgnn.planning.levels import levels
from sim.switchgnn.planning.preparation import PLANS, prepare
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.racked_job import RackedJob
from tests.sim.switchgnn.cases import directed
from tests.sim.switchgnn.golden.cut_graphs import EARLY, bad_links

WIDTHS = [5, 3]  #: of two aggregations, in slices of 4


@pytest.mark.parametrize(
    ("plan", "theta", "open_turns"), [(PLANS[0], 0, 2), (PLANS[0], 2, 1), (PLANS[1], 0, 1)]
)
def test_every_sum_is_exact(rng, plan, theta, open_turns):
    adjacency, partition = directed(vertices=40, edges=160)
    shape = SwitchShape(ports=4, banks=2, depth=8, lanes=4)
    tables = prepare(adjacency, partition, shape, WIDTHS, plan=plan, theta=theta).tables
    assert tables.blocks > 1
    features = [
        rng.integers(-(1 << 15), 1 << 15, (adjacency.shape[0], width)).astype(np.int16)
        for width in WIDTHS
    ]
    job = PlannedJob(tables, features, depth=shape.depth, window=3)
    assert len(job.slices) == tables.program[:, 1].sum()
    links = bad_links(rng, shape.lanes)
    switch = SwitchModel(ports=4, banks=2, depth=16, jobs=1)
    links.ends["switch"] = switch.take
    setup = job.setup(open_turns, ack_every=3)
    assert switch.start_job(0, setup=setup, epoch=9, base=0) is None
    workers = {w: job.worker(w, 0, 9, open_turns) for w in range(tables.workers)}
    for port, worker in workers.items():
        join(links, port, worker, "switch", port)
    run(links, {"switch": switch}, workers, early=EARLY)
    cut = edges_between(adjacency, partition.owner)
    for result, values in zip(job.sums(list(workers.values())), features, strict=True):
        assert np.array_equal(result, aggregate(cut, values))
    assert switch.table.active[0].errors == {}


LEAF_PORTS = 4


@pytest.mark.parametrize(
    ("rack", "spines", "theta", "open_turns"),
    [
        ([0, 0, 1, 1], 1, 0, 1),
        ([0, 0, 1, 1], 2, 2, 2),
        ([2, 0, 1, 0], 2, 0, 2),
        ([1, 1, 0, 1], 1, 0, 1),
        ([0, 1, 1, 2], 2, 0, 1),
    ],
)
def test_every_sum_is_exact_on_two_levels(rng, rack, spines, theta, open_turns):
    adjacency, partition = directed(vertices=40, edges=160, workers=4)
    shape = SwitchShape(ports=4, banks=2, depth=8, lanes=4)
    built = prepare(adjacency, partition, shape, WIDTHS, theta=theta)
    features = [
        rng.integers(-(1 << 15), 1 << 15, (adjacency.shape[0], width)).astype(np.int16)
        for width in WIDTHS
    ]
    planned = levels(built, rack, LEAF_PORTS, spines)
    job = RackedJob(planned, features, depth=shape.depth, window=3)
    links, switches = bad_links(rng, shape.lanes), {}
    for name, setup in job.setups(open_turns, ack_every=3).items():
        switches[name] = SwitchModel(ports=LEAF_PORTS, banks=2, depth=16, jobs=1)
        assert switches[name].start_job(0, setup=setup, epoch=9, base=0) is None
        links.ends[name] = switches[name].take
    for cable in job.cables:
        links.connect(*cable)
    workers = {w: job.worker(w, 0, 9, open_turns) for w in range(len(rack))}
    for worker, (name, port) in enumerate(job.places):
        join(links, worker, workers[worker], name, port)
    run(links, switches, workers, early=EARLY)
    cut = edges_between(adjacency, partition.owner)
    for result, values in zip(job.sums(list(workers.values())), features, strict=True):
        assert np.array_equal(result, aggregate(cut, values))
    assert all(not switch.table.active[0].errors for switch in switches.values())
    assert all(switch.counts.repeats for switch in switches.values())
    results = sum(switch.counts.results - switch.counts.repeats for switch in switches.values())
    taken = [len(worker.sums) for worker in workers.values()]
    ends = [*zip(*job.cables, strict=True)][::-1]  # at which PARTIALs that go up, and down, arrive
    came = [[switches[name].counters[port, Verdict.ADDED] for name, port in of] for of in ends]
    assert results == np.sum(came) + sum(taken)
    carried = sum(job.link_bytes[:, item.block] for item in job.slices)
    size, count = FrameSizes.of(shape.lanes).sums, len(rack)
    assert (carried[:, count:] == size * np.array(came)).all()
    assert (carried[1, :count] == size * np.array(taken)).all()
