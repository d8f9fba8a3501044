"""Runs workers and switches on links that lose, double and reorder: every sum is A X, exactly."""

import numpy as np
import pytest

from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.golden.switch_rule import Verdict
from sim.switchgnn.golden.worker import WorkerModel
from sim.switchgnn.links import join, run
from tests.protocol.switchgnn import two_levels
from tests.protocol.switchgnn.two_levels import TwoLevels
from tests.sim.switchgnn.golden.cut_graphs import EARLY, LANES, Cut, bad_links


@pytest.mark.parametrize("open_turns", [1, 2])
@pytest.mark.parametrize("blocks", [1, 3])
def test_two_jobs_on_bad_links(rng, open_turns, blocks):
    """Tables are random; each job has its own ports, region and window; ECN does no harm.

    The second job has maxima in place of sums.
    """
    links = bad_links(rng)
    switch = SwitchModel(ports=6, banks=2, depth=16, jobs=3)
    switch.congested_in, switch.congested_out = 0b000110, 0b001100
    links.ends["switch"] = switch.take
    sizes = {"banks": 2, "open_turns": open_turns, "blocks": blocks}
    cuts = {
        1: Cut(rng, ports=[0, 2, 3], depth=4, window=2, **sizes),
        2: Cut(rng, ports=[1, 5], depth=3, window=5, maximum=True, **sizes),
    }
    workers, base = {}, 0
    for number, cut in cuts.items():
        assert switch.start_job(number, setup=cut.setup(), epoch=7 + number, base=base) is None
        base += open_turns * cut.depth
        for port in cut.ports:
            workers[port] = cut.worker(port, number, 7 + number)
            join(links, port, workers[port], "switch", port)
    run(links, {"switch": switch}, workers, early=EARLY)
    for cut in cuts.values():
        cut.check({port: workers[port] for port in cut.ports})
    for job in switch.table.active.values():
        assert (job.errors, job.first_error) == ({}, None)
    seen = {verdict for _, verdict in switch.counters}
    assert switch.counts.turns == sum(cut.turns for cut in cuts.values())
    if blocks > 1:
        assert {Verdict.ADDED, Verdict.REPEATED, Verdict.FETCHED, Verdict.UNREADY} <= seen
        assert {Verdict.OVER, Verdict.CLOSED} <= seen
        assert switch.counts.marks > 0
        assert sum(worker.marks for worker in workers.values()) > 0


class Racks(TwoLevels):
    """Has a leaf and a spine, with features of several lanes."""

    def feature(self, turn, source):
        return np.random.default_rng((turn, source)).integers(-(1 << 15), 1 << 15, LANES)


@pytest.mark.parametrize("open_turns", [1, 2])
def test_two_levels_on_bad_links(rng, open_turns):
    """Sums go from a leaf to a spine and from the spine to the leaf as PARTIALs."""
    racks, links = Racks(upwards=2, turns=8, open_turns=open_turns), bad_links(rng)
    switches = {
        two_levels.LEAF: SwitchModel(ports=3, banks=1, depth=8, jobs=1),
        two_levels.SPINE: SwitchModel(ports=2, banks=1, depth=8, jobs=1),
    }
    for place, setup in zip(switches, (racks.leaf, racks.spine), strict=True):
        assert switches[place].start_job(0, setup=setup, epoch=3, base=0) is None
        links.ends[place] = switches[place].take
    links.connect((two_levels.LEAF, two_levels.UP), (two_levels.SPINE, two_levels.DOWN))
    workers = {}
    for node in racks.nodes[2:]:
        place = two_levels.NODES[node.name]
        switch, port = node.peer
        workers[place] = WorkerModel(node.setup, port, job=0, epoch=3, ready=racks.turns)
        join(links, place, workers[place], switch, port)
    run(links, switches, workers, early=EARLY)
    for place, count in ((two_levels.A, 1), (two_levels.B, 2), (two_levels.C, 0)):
        assert len(workers[place].sums) == count * racks.turns
        for (turn, aggregator), result in workers[place].sums.items():
            assert result.tolist() == racks.right_sum(place, turn, aggregator).tolist()
    seen = {verdict for switch in switches.values() for _, verdict in switch.counters}
    assert {Verdict.ADVANCED, Verdict.ACKNOWLEDGED, Verdict.REPEATED, Verdict.OVER} <= seen
    assert all(switch.counts.repeats for switch in switches.values())
