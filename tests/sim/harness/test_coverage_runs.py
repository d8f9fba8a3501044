import json

from sim.harness.coverage_runs import COVERAGE_RUNS, design_of, keep_coverage


def test_a_run_is_kept_with_its_design_whatever_becomes_of_the_simulator(monkeypatch, tmp_path):
    """A harness test builds in a cache of its own, which is gone before runs are added up."""
    runs, simulator = tmp_path / "runs", tmp_path / "cache" / "key"
    monkeypatch.setenv(COVERAGE_RUNS, str(runs))
    simulator.mkdir(parents=True)
    (simulator / "design.v").write_text("module top; endmodule\n")
    for number in range(2):
        scratch = tmp_path / f"scratch_{number}"
        scratch.mkdir()
        (scratch / "coverage.dat").write_text("hits\n")
        keep_coverage(scratch, simulator / "design.v", {"top": "top"})
    (simulator / "design.v").unlink()
    stored = [json.loads(path.read_text()) for path in runs.glob("*/about.json")]
    assert stored == [{"top": "top", "design": "key"}] * 2
    assert design_of(runs, "key").read_text() == "module top; endmodule\n"
    assert [path.name for path in design_of(runs, "key").parent.iterdir()] == ["key.v"]
