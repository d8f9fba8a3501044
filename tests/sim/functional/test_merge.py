import json

import pytest

from sim.functional.merge import Exclusion, merge, reviewed, survey

FIFO = "hdl.common.fifo.Fifo"


def leave(folder, name, **hits):
    """Return what a run of a FIFO leaves: bins of two ports."""
    (folder / name).mkdir()
    bins = [
        {"group": f"{FIFO} {port}", "bin": bin, "hits": count}
        for key, count in hits.items()
        for port, bin in [key.split("__")]
    ]
    (folder / name / "bins.json").write_text(json.dumps(bins))


@pytest.fixture
def runs(tmp_path):
    leave(tmp_path, "a", i__full=2, i__empty=0, o__full=0)
    leave(tmp_path, "b", i__full=3, i__empty=0, o__full=1)
    return tmp_path


def rule(group, *bins):
    return Exclusion(component="hdl.common.*", group=group, bins=bins, reason="never")


def test_hits_add_up(runs):
    assert merge(runs) == {
        FIFO: [
            {"group": f"{FIFO} i", "bin": "empty", "hits": 0},
            {"group": f"{FIFO} i", "bin": "full", "hits": 5},
            {"group": f"{FIFO} o", "bin": "full", "hits": 1},
        ]
    }
    assert survey(runs).missed == [f"{FIFO} i: empty"]


def test_what_is_excluded_is_left_out_unless_it_was_hit(runs):
    result = survey(runs, [rule("i", "emp*", "full"), rule("o", "*")])
    assert result.false == (
        f"false exclusion: {FIFO} i: full was hit, though: never",
        f"false exclusion: {FIFO} o: full was hit, though: never",
    )
    assert survey(runs, [rule("i", "emp*")]).false == ()
    assert [(bin["bin"], bin["hits"]) for bin in result.bins[FIFO]] == [("full", 5), ("full", 1)]
    assert result.exclusions == [
        {
            "kind": "bin",
            "component": "hdl.common.*",
            "what": "i: emp*, full",
            "reason": "never",
            "points": 1,
        }
    ]


def test_brackets_are_no_pattern():
    assert rule("i[]", "*").covers(FIFO, "i[]", "full")
    assert rule("i[].a[]", "*").covers(FIFO, "i[].a[]", "full")


def test_an_exclusion_needs_a_reason(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[[exclusion]]\ncomponent = "a"\ngroup = "b"\nbins = ["c"]\nreason = " "\n')
    with pytest.raises(ValueError, match=r"rules.toml: a b: give a reason"):
        reviewed(path)


def test_the_reviewed_ones_can_be_read():
    assert all(len(rule.reason) > 15 for rule in reviewed())
