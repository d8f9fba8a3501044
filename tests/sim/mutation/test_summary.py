import pytest

from sim.mutation.summary import LEAST, REASONS, Reason, below, idle, read_reasons, score, union

MUTANT = "fifo: inv $add $1.Y[0]"


def result(fates, **changes):
    mutants = [
        {"mutant": f"fifo: inv $add ${n}.Y[0]", "group": "data", "fate": fate}
        for n, fate in enumerate(fates)
    ]
    return {
        "component": "hdl.Fifo",
        "mutants": mutants,
        "sizes": [{"module": "fifo"}],
        "seconds": 3,
        "error": "",
        **changes,
    }


def test_score_leaves_out_what_is_proven_equivalent():
    item = score(result(["found"] * 9 + ["survived"] + ["equivalent"] * 5), [])
    assert (item.mutants, item.detected, item.equivalent, len(item.survivors)) == (15, 9, 5, 1)
    assert item.percent == 90
    assert item.enough
    assert item.unexplained == 1
    worse = score(result(["found"] * 8 + ["survived"] * 2), [])
    assert worse.percent == 80
    assert not worse.enough


def because(mutant="", **changes):
    return Reason(**{"component": "hdl.Fifo", "mutant": mutant, "reason": "because"} | changes)


def test_reasons_explain_but_do_not_raise_the_score():
    reasons = [because("fifo: inv $add $0.Y[0]"), because(like="*$1.Y[0]*", reason="so")]
    item = score(result(["survived", "survived", "survived", "found"]), reasons)
    assert [survivor["reason"] for survivor in item.survivors] == ["because", "so", ""]
    assert item.unexplained == 1
    assert item.excluded == 0
    assert item.percent == 25


def test_what_a_review_excludes_does():
    reasons = [because("fifo: inv $add $0.Y[0]", excluded=True)]
    item = score(result(["survived", "survived", "found", "equivalent"]), reasons)
    assert item.excluded == 1
    assert [survivor["excluded"] for survivor in item.survivors] == [True, False]
    assert item.percent == 50


def test_forty_of_fifty_are_eighty_per_cent():
    """Ten survive, whatever is said of them except that they cannot be told apart."""
    long = because(like="fifo: *", reason="it would take long")
    assert score(result(["found"] * 40 + ["survived"] * 10), [long]).percent == 80


def test_each_group_has_a_score_of_its_own():
    item = result(["survived"] + ["found"] * 99)
    item["mutants"][0]["group"] = "control"
    scored = score(item, [])
    assert scored.percent == 99
    assert {name: share.percent for name, share in scored.groups.items()} == {
        "control": 0,
        "data": 100,
        "fault": None,
    }
    assert below([scored]) == [f"hdl.Fifo: 0 % of control found; it must be {LEAST} %"]


def test_seeds_are_taken_together():
    first = result(["found", "survived", "survived", "equivalent"])
    second = result(["survived", "found", "survived", "survived"])
    item = union([first, second])
    assert [mutant["fate"] for mutant in item["mutants"]] == [
        "found",
        "found",
        "survived",
        "equivalent",
    ]
    assert (item["seconds"], item["error"], item["sizes"]) == (6, "", [{"module": "fifo"}])
    assert union([first, result([], error="no tests")])["error"] == "no tests"


def test_a_reason_for_nothing_is_reported():
    reasons = [because(like="*$0.*"), because(like="*$1.*"), because(component="hdl.Other")]
    assert idle(reasons, [result(["survived", "found"])]) == [reasons[1]]
    assert not idle(reasons, [result([], error="no tests")])


def test_a_reason_is_for_one_component():
    assert because(MUTANT).covers("hdl.Fifo", MUTANT)
    assert not because(MUTANT).covers("hdl.Fork", MUTANT)
    assert not because("fifo").covers("hdl.Fifo", MUTANT)
    assert because(like="fifo*").covers("hdl.Fifo", MUTANT)
    assert because(like="*.Y[[]0]".replace("[[]", "[")).covers("hdl.Fifo", MUTANT)
    assert not because(like="*.Y[1]").covers("hdl.Fifo", MUTANT)


def test_what_falls_short():
    scores = [
        score(result(["found"]), []),
        score(result(["found", "survived"]), []),
        score(result([], error="no tests"), []),
        score(result(["equivalent"]), []),
    ]
    assert below(scores) == [
        f"hdl.Fifo: 50 % of data found; it must be {LEAST} %",
        "hdl.Fifo: no tests",
    ]


def test_reasons_in_a_file(tmp_path):
    file = tmp_path / "survivors.toml"
    file.write_text(
        '[[survivor]]\ncomponent = "hdl.Fifo"\nmutant = "a"\nreason = "b"\n'
        '[[survivor]]\ncomponent = "hdl.Fifo"\nlike = "c"\nreason = "d"\n'
    )
    assert read_reasons(file) == (because("a", reason="b"), because(like="c", reason="d"))
    file.write_text('[[survivor]]\ncomponent = "hdl.Fifo"\nmutant = "a"\nreasn = "b"\n')
    with pytest.raises(ValueError, match=r"survivors.toml: .*reasn"):
        read_reasons(file)
    file.write_text('[[survivor]]\ncomponent = "hdl.Fifo"\nreason = "b"\n')
    with pytest.raises(ValueError, match=r"survivors.toml: give mutant or like"):
        read_reasons(file)


def test_our_own_reasons_are_of_components_that_there_are():
    from sim.mutation.targets import all_targets

    reasons = read_reasons(REASONS)
    assert {item.component for item in reasons} <= all_targets().keys()
    assert all(len(item.reason) > 20 for item in reasons)
