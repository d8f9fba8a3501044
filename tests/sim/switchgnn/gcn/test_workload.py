"""Tests what a training may be asked to do."""

from pathlib import Path

from sim.switchgnn.gcn.workload import Adder, GcnWorkload
from tests.rejects import rejects

test_what_cannot_be_is_refused = rejects(
    GcnWorkload,
    ({"bits": 9}, "bits must be 8, 12, 16: 9"),
    ({"layers": 5}, "layers must be from 1 to 4: 5"),
    ({"layers": 0}, "layers must be from 1 to 4: 0"),
    ({"hidden": 0}, "hidden must be from 1 to 1024: 0"),
    ({"epochs": 0}, "epochs must be at least 1: 0"),
    ({"labels": 0}, "labels must be at least 1: 0"),
    ({"eta": 0.0}, "eta must be above 0 and at most 1000: 0.0"),
    ({"eta": float("nan")}, "eta must be above 0 and at most 1000: nan"),
    ({"workers": 33}, "workers must be from 1 to 32: 33"),
    ({"open_turns": 3}, "open_turns must be from 1 to 2: 3"),
    ({"drop": 0.95}, "drop must be from 0 to 0.9: 0.95"),
    ({"plan": "none"}, "plan must be destinations, multi-level: 'none'"),
    ({"order": "none"}, "order must be priority-bfs, random, degree, finish-first: 'none'"),
    ({"workers": 1, "drop": 0.1}, "a single worker has no links"),
    ({"adder": Adder.EXACT, "reorder": 0.1}, "--adder exact has no links"),
    ({"workers": 1, "partition": "x.npy"}, "a single worker owns all vertices"),
    ({"racks": 3}, "racks must be as many as divide the workers: 3 racks, 4 workers"),
    ({"racks": 17}, "racks must be from 1 to 16: 17"),
    ({"spines": 2}, "a single rack needs no spines: 2"),
    ({"seed": -1}, "seed must be from 0 to 2147483647: -1"),
    match="^{}",
)


def test_files_are_those_that_are_named():
    assert GcnWorkload().paths == []
    requested = GcnWorkload(data="graph.mtx.gz", partition="parts.npy")
    assert requested.paths == [Path("graph.mtx.gz"), Path("parts.npy")]
    assert GcnWorkload(data="graph.mtx", drop=0.25, corrupt=0.5).faults.drop == 0.25
