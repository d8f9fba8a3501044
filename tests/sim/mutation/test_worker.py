import json
from pathlib import Path

from sim.mutation import worker
from sim.mutation.campaign import Plan
from sim.mutation.targets import Target, all_targets
from tests.sim.mutation import sample


def test_what_dies_leaves_its_last_words(tmp_path):
    target = Target(component=sample.Tally, source=Path(sample.__file__), tests=())
    said = []
    result = worker.examine_apart(target, Plan(), tmp_path / "a.json", said.append)
    assert "KeyError: 'tests.sim.mutation.sample.Tally'" in result["error"]
    assert result["mutants"] == []
    assert said
    assert list(tmp_path.iterdir()) == []


def test_keeps_what_was_written(monkeypatch, tmp_path):
    class Done:
        stdout = ("busy\n", "done\n")

        def __init__(self, command, **options):
            assert json.loads(command[-2])["seed"] == 5
            Path(command[-1]).write_text('{"component": "x"}')

        def wait(self):
            return 0

    monkeypatch.setattr(worker.subprocess, "Popen", Done)
    target = Target(component=sample.Tally, source=Path(sample.__file__), tests=())
    said = []
    file = tmp_path / "parts" / "a.json"
    result = worker.examine_apart(target, Plan(seed=5), file, said.append)
    assert result == json.loads(file.read_text()) == {"component": "x"}
    assert said == ["busy", "done"]
    assert [path.name for path in file.parent.iterdir()] == ["a.json"]


def test_writes_what_it_finds(monkeypatch, tmp_path, capsys):
    def examine(target, plan, progress):
        progress("busy")
        return {"component": target.name, "sample": plan.sample}

    monkeypatch.setattr(worker, "examine", examine)
    name = next(iter(all_targets()))
    worker.main(name, json.dumps({"sample": 7}), str(tmp_path / "out"))
    assert json.loads((tmp_path / "out").read_text()) == {"component": name, "sample": 7}
    assert capsys.readouterr().out == "busy\n"
