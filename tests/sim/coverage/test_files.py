import json

from sim.coverage.exclusions import read_rules
from sim.coverage.files import write
from tests.sim.coverage.sample import COMPONENT, coverage_dat, write_run


def test_all_files_of_a_regression(tmp_path):
    write_run(tmp_path / "coverage-runs", "run-a", coverage_dat(opened=4, closed=3, top_bit=2))
    bins = {COMPONENT: [{"group": "level", "bin": "full", "hits": 1}], "hdl.p4sgd.x.X": []}
    left_out = {"kind": "bin", "component": "*", "what": "o", "reason": "always ready", "points": 2}
    folder = tmp_path / "report"
    measured = write(
        tmp_path / "coverage-runs", [COMPONENT], folder, bins=bins, exclusions=[left_out]
    )
    assert json.loads((folder / "coverage.json").read_text()) == measured
    assert measured["format"] == 1
    assert measured["thresholds"] == {"line": 95, "toggle": 85}
    assert measured["components"][0]["bins"] == bins[COMPONENT]
    assert [entry["component"] for entry in measured["components"]] == [COMPONENT]
    assert measured["exclusions"][-1] == left_out
    assert len(measured["exclusions"]) == len(read_rules()) + 1
    assert "end_of_record" in (folder / "coverage.lcov").read_text()
    assert [path.name for path in (folder / "rtl").iterdir()] == ["gate_2.v"]


def test_what_no_simulation_contains_is_there_and_falls_short(tmp_path):
    write_run(tmp_path / "coverage-runs", "run-a", coverage_dat(opened=4, closed=3, top_bit=2))
    fifo = "hdl.common.fifo.Fifo"
    false = ["false exclusion: hdl.common.fifo.Fifo i: full was hit, though: never"]
    measured = write(
        tmp_path / "coverage-runs", [COMPONENT, fifo], tmp_path / "report", false=false
    )
    result = {entry["component"]: entry for entry in measured["components"]}
    assert set(result) == {COMPONENT, fifo}
    assert result[fifo]["line"] == {"hit": 0, "total": 1, "excluded": 0}
    assert result[fifo]["missed"][0]["where"] == "no simulation contains it"
    assert f"{fifo}: line coverage 0.0 % (0 of 1), below 95 %" in measured["below"]
    assert measured["below"][-1:] == false
