import pytest

from sim.coverage.data import CoverageError, Toggle
from sim.coverage.merge import MAX_MISSED, Seen, assess, collect, measure, mirrors, nature
from sim.coverage.nets import Nets
from tests.sim.coverage.sample import (
    COMPONENT,
    WIDE,
    coverage_dat,
    line_of,
    record,
    rule,
    write_run,
)


@pytest.fixture
def runs(tmp_path):
    """Return two runs, of which one never closes and one never opens."""
    folder = tmp_path / "coverage-runs"
    write_run(folder, "run-a", coverage_dat(opened=4, closed=0, top_bit=2))
    write_run(folder, "run-b", coverage_dat(opened=0, closed=3, top_bit=0))
    return folder


def test_runs_add_up(runs):
    (component,) = measure(runs)["components"]
    assert (component["component"], component["modules"]) == (COMPONENT, ["gate_2"])
    # The declaration with a value is out; the block, `if` and `else` are in.
    assert component["line"] == {"hit": 3, "total": 3, "excluded": 1}
    # $1 has no name in the source, `still` is constant; level[1] never falls.
    assert component["toggle"] == {"hit": 5, "total": 6, "excluded": 4}
    missed = {"kind": "toggle", "module": "gate_2", "where": "level[1] falls"}
    assert component["missed"] == [missed]


def test_a_run_alone_misses_a_side(tmp_path):
    write_run(tmp_path / "coverage-runs", "run-b", coverage_dat(opened=0, closed=3, top_bit=0))
    result = measure(tmp_path / "coverage-runs")
    (component,) = result["components"]
    assert component["line"] == {"hit": 2, "total": 3, "excluded": 1}
    at = line_of("    if (open)") - 3
    assert component["missed"][0]["where"] == f"{at} if: if (open)"
    assert result["below"] == [
        f"{COMPONENT}: line coverage 66.7 % (2 of 3), below 95 %",
        f"{COMPONENT}: toggle coverage 0.0 % (0 of 6), below 85 %",
    ]


def test_rules_are_counted(runs):
    lines, upper = rule(kind="line", side="if"), rule(kind="toggle", signal="level", from_bit=1)
    elsewhere = rule(kind="line", side="else").__class__(
        **rule(kind="line", side="else").__dict__ | {"component": "hdl.p4sgd.*"}
    )
    result = assess(collect(runs), [lines, upper, elsewhere], bins={})
    (component,) = result["components"]
    assert component["line"] == {"hit": 3, "total": 3, "excluded": 1}
    assert component["toggle"] == {"hit": 4, "total": 8, "excluded": 2}
    assert [entry["points"] for entry in result["exclusions"]] == [1, 2, 0]
    assert result["exclusions"][0]["reason"] == "to see it work"


def test_toggles_join_over_sizes_and_lines_do_not(tmp_path):
    runs = tmp_path / "coverage-runs"
    write_run(runs, "run-a", coverage_dat(opened=4, closed=3, top_bit=0))
    write_run(runs, "run-b", coverage_dat(opened=0, closed=3, top_bit=1), written=WIDE)
    (component,) = measure(runs)["components"]
    assert component["line"] == {"hit": 5, "total": 6, "excluded": 2}
    assert component["toggle"] == {"hit": 5, "total": 6, "excluded": 4}


def test_same_text_under_another_name_is_the_same(tmp_path):
    runs = tmp_path / "coverage-runs"
    write_run(runs, "run-a", coverage_dat(opened=4, closed=0, top_bit=0))
    renamed = ("gate_2", "gate_2_wide")
    write_run(runs, "run-b", coverage_dat(opened=0, closed=3, top_bit=0), written=renamed)
    (component,) = measure(runs)["components"]
    assert component["modules"] == ["gate_2", "gate_2_wide"]
    assert component["line"] == {"hit": 3, "total": 3, "excluded": 1}


def other_size(tmp_path, test):
    """Return a run of a size that has another text."""
    write_run(tmp_path / "coverage-runs", "run-b", coverage_dat(0, 3, 1), test, WIDE)


def test_sizes_of_other_tests_add_hits_only(tmp_path):
    write_run(tmp_path / "coverage-runs", "run-a", coverage_dat(opened=4, closed=3, top_bit=0))
    other_size(tmp_path, "tests/hdl/common/test_gates.py::test_gates")
    (component,) = measure(tmp_path / "coverage-runs")["components"]
    assert component["line"] == {"hit": 3, "total": 3, "excluded": 1}
    assert component["toggle"] == {"hit": 5, "total": 6, "excluded": 4}


def test_without_own_tests_all_sizes_count(tmp_path):
    test = "tests/hdl/p4sgd/test_worker.py::test_worker"
    write_run(tmp_path / "coverage-runs", "run-a", coverage_dat(4, 3, 0), test)
    other_size(tmp_path, test)
    (component,) = measure(tmp_path / "coverage-runs")["components"]
    assert component["line"] == {"hit": 5, "total": 6, "excluded": 2}


def test_a_top_is_a_size_of_its_own_tests(tmp_path):
    test = "tests/hdl/p4sgd/test_worker.py::test_worker"
    write_run(tmp_path / "coverage-runs", "run-a", coverage_dat(4, 3, 0), test)
    about = tmp_path / "coverage-runs" / "run-a" / "about.json"
    about.write_text(about.read_text().replace('"bench"', '"gate_2"'))
    other_size(tmp_path, test)
    (component,) = measure(tmp_path / "coverage-runs")["components"]
    assert component["line"] == {"hit": 3, "total": 3, "excluded": 1}


def test_nature_of_a_bit():
    bits = {"a": frozenset({1})}
    for kind in ("constant", "again", "unread"):
        nets = Nets(**{"constant": {}, "again": {}, "unread": {}} | {kind: bits})
        assert nature(Toggle("a", 1, True), nets) == kind
        assert nature(Toggle("a", 0, True), nets) == ""


def test_a_bit_that_moves_in_one_size_is_not_constant():
    seen = Seen("gate_2")
    for kind in ("constant", "constant"):
        seen.add(kind)
    assert seen.nature == "constant"
    seen.add("")
    seen.add("constant")
    assert seen.nature == ""


def test_what_mirrors_a_component():
    assert mirrors("tests/hdl/common/test_fifo.py::test_fifo[8x2]", "hdl.common.fifo.Fifo")
    assert not mirrors("tests/hdl/common/test_fifo_of.py::test_fifo", "hdl.common.fifo.Fifo")
    assert not mirrors("tests/hdl/p4sgd/test_fifo.py::test_fifo", "hdl.common.fifo.Fifo")
    opener = "hdl.switchgnn.switch.turns.turn_opener.TurnOpener"  # which has no file of its own
    assert mirrors(
        "tests/hdl/switchgnn/switch/turns/test_turn_table.py::test_turn_table[3x2]", opener
    )


def test_targets(runs):
    assert measure(runs, ["hdl.common.gate"])["components"]
    assert measure(runs, ["hdl.common.gat", "hdl.p4sgd"])["components"] == []


def test_bins_stand_with_their_component(runs):
    bins = {COMPONENT: [{"group": "level", "bin": "full", "hits": 3}], "hdl.x.X": []}
    result = measure(runs, bins=bins)["components"]
    assert [entry["component"] for entry in result] == [COMPONENT, "hdl.x.X"]
    assert result[0]["bins"] == bins[COMPONENT]


def test_missed_points_are_listed_up_to_a_limit(tmp_path):
    many = [record("toggle", 6, 3, f"level[{bit}]:0->1", 0) for bit in range(MAX_MISSED + 9)]
    write_run(tmp_path / "coverage-runs", "run-a", "# SystemC::Coverage-3\n" + "".join(many))
    (component,) = measure(tmp_path / "coverage-runs")["components"]
    assert component["toggle"]["total"] == MAX_MISSED + 9
    assert len(component["missed"]) == MAX_MISSED


def test_runs_without_coverage_are_left_out(runs):
    (runs / "run-b" / "coverage.dat").unlink()
    assert measure(runs)["components"][0]["line"]["hit"] == 2


def test_damaged_file_is_named(runs):
    (runs / "run-a" / "coverage.dat").write_text("nothing")
    with pytest.raises(CoverageError, match=r"run-a/coverage\.dat: no coverage data"):
        measure(runs)
