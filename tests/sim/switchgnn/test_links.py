"""Tests links of the golden models: what they do to frames, and that timers wait for them."""

from dataclasses import fields

import numpy as np
import pytest

from sim.harness.session import RunFailed
from sim.switchgnn.golden.frames import Frame, Kind, Quality
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.links import Faults, Links, join, run
from sim.switchgnn.planning.preparation import prepare
from sim.switchgnn.planning.shape import SwitchShape
from tests.sim.switchgnn.cases import directed

SENT = 400


def arrivals(rng, **faults):
    """Return the turns of frames that arrive, of those sent in a row, and what links counted."""
    links, result = Links(rng, lanes=2, faults=Faults(**faults)), []
    links.connect((0, 0), ("end", 3))
    links.ends["end"] = lambda port, arrival: result.append((port, arrival)) or []
    links.send(0, [(0, Frame(kind=Kind.ADVANCE, turn=turn)) for turn in range(SENT)])
    while links.flying:
        links.deliver()
    assert {port for port, _ in result} <= {3}
    return [arrival for _, arrival in result], links.counts


def test_good_links_hand_on_everything_in_order(rng):
    result, counts = arrivals(rng)
    assert [frame.turn for frame in result] == list(range(SENT))
    assert counts == {"frames": SENT, "bytes": SENT * 60} | {
        item.name: 0 for item in fields(Faults)
    }


@pytest.mark.parametrize("fault", [item.name for item in fields(Faults)])
def test_each_fault_happens_as_often_as_it_is_counted(rng, fault):
    result, counts = arrivals(rng, **{fault: 0.3})
    happened = counts[fault]
    assert SENT * 0.15 < happened < SENT
    lost = {"drop": -happened, "duplicate": happened, "again": happened}.get(fault, 0)
    assert len(result) == SENT + lost
    assert result.count(Quality.CORRUPT) == (happened if fault == "corrupt" else 0)
    turns = [frame.turn for frame in result if isinstance(frame, Frame)]
    assert (turns == sorted(turns)) == (fault in ("drop", "corrupt"))


def cluster(rng, faults, ack_every=3):
    adjacency, partition = directed(vertices=40, edges=160)
    shape = SwitchShape(ports=4, banks=2, depth=8, lanes=4)
    tables = prepare(adjacency, partition, shape, [9]).tables
    job = PlannedJob(tables, [np.ones((40, 9), np.int16)], depth=8, window=3)
    links, switch = Links(rng, lanes=4, faults=faults), SwitchModel(4, 2, 8, 1)
    links.ends["switch"] = switch.take
    assert switch.start_job(0, setup=job.setup(ack_every=ack_every), epoch=1, base=0) is None
    workers = {port: job.worker(port, 0, 1) for port in range(tables.workers)}
    for port, worker in workers.items():
        join(links, port, worker, "switch", port)
    return links, {"switch": switch}, workers


@pytest.mark.parametrize("ack_every", [1, 3, 4])  # 4: a window's frames wait for the ACKs' delay
def test_nothing_is_repeated_on_good_links(rng, ack_every):
    links, switches, workers = cluster(rng, Faults(), ack_every)
    run(links, switches, workers)
    assert all(worker.ended and not worker.repeats for worker in workers.values())
    assert switches["switch"].counts.repeats == 0


def test_timers_may_run_out_early(rng):
    links, switches, workers = cluster(rng, Faults())
    run(links, switches, workers, early=0.02)
    assert sum(worker.repeats for worker in workers.values()) > 0


def test_links_that_lose_everything_end(rng):
    links, switches, workers = cluster(rng, Faults(drop=1.0))
    with pytest.raises(RunFailed, match="the turns are not over after 1,000 frames"):
        run(links, switches, workers, most=1_000)
