import pytest

from sim.verify.items import Item, counts, name_of, seed_in

RUN = {"seconds": 2.0, "build_seconds": 0.5, "cycles": 40, "built": True, "cases": []}


@pytest.mark.parametrize(
    ("nodeid", "name", "seed"),
    [
        ("a.py::t", "a.py::t", None),
        ("a.py::t[seed=5]", "a.py::t", 5),
        ("a.py::t[x-1-seed=55]", "a.py::t[x-1]", 55),
        ("a.py::t[seed=5-x]", "a.py::t[seed=5-x]", None),
    ],
)
def test_seed_at_the_end_of_a_name(nodeid, name, seed):
    assert name_of(nodeid) == name
    assert seed_in(nodeid) == seed


def test_sums_of_runs():
    item = Item(test="t", seed=1, outcome="passed", seconds=9, runs=(RUN, {**RUN, "built": False}))
    assert item.good
    assert (item.simulation_seconds, item.build_seconds, item.cycles, item.built) == (4, 1, 80, 1)


def test_as_json():
    item = Item(test="t", seed=1, outcome="failed", seconds=1.23456, message="why", runs=(RUN,))
    assert not item.good
    assert item.with_failure({"case": "c"}).to_json() == {
        "test": "t",
        "seed": 1,
        "outcome": "failed",
        "seconds": 1.235,
        "message": "why",
        "runs": [RUN],
        "failure": {"case": "c"},
    }


def test_counts_are_in_a_fixed_order():
    items = [
        Item(test="t", seed=1, outcome=outcome, seconds=0)
        for outcome in ("skipped", "error", "passed", "passed")
    ]
    assert list(counts(items).items()) == [("passed", 2), ("error", 1), ("skipped", 1)]
