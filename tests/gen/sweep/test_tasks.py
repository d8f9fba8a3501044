"""Tests what workers do, in this process."""

from pathlib import Path

from gen.sweep import tasks
from gen.sweep.subject import Subject
from gen.sweep.tasks import attempt, last_words, log_file, remembered
from sim.harness.part_builds import of_parts
from tests.gen.sweep import fake
from tests.gen.sweep.fake import PROGRAM, SUBJECT, FakeParams, FakeSession, FakeWorkload, noted


def test_what_goes_well_leaves_no_log(fakes, capsys):
    outcome = attempt("a", lambda: print("words") or 3)
    assert (outcome.value, outcome.error, outcome.log) == (3, "", "")
    assert not log_file("a").exists()
    assert capsys.readouterr().out == ""


def test_what_fails_says_why_and_keeps_its_log(fakes):
    def work():
        print("words")
        raise AssertionError("1 of 2 cocotb tests failed\n  train: ValueError: no\n  seed: 1")

    outcome = attempt("a", work)
    assert outcome.error == "1 of 2 cocotb tests failed: train: ValueError: no"
    assert outcome.log.startswith("words\nTraceback")


def test_unexpected_errors_are_named(fakes):
    assert attempt("a", lambda: [][0]).error == "IndexError: list index out of range"


def test_a_process_that_dies_leaves_its_last_words(fakes):
    log_file("a").parent.mkdir(parents=True)
    log_file("a").write_text("\n".join(map(str, range(1000))))
    assert last_words("a").splitlines() == [str(n) for n in range(800, 1000)]
    assert last_words("b") == ""


def test_results_are_remembered(fakes):
    def work():
        fake.note("done", "x")
        return {"a": 1.5}

    assert [remembered("kind", "key", work) for _ in range(2)] == [{"a": 1.5}] * 2
    assert noted(fakes, "done") == ["x"]


def test_hardware_is_built_once_and_measured(fakes):
    params, subject = FakeParams(size=3), SUBJECT
    built = [tasks.build("build-3", subject, params).value for _ in range(2)]
    assert built[0] == built[1]
    assert noted(fakes, "builds") == ["3"]
    outcome = tasks.measure("point", subject, params, FakeWorkload(load=2), built[0], 10.0)
    assert outcome.value == {"speed": 60.0, "cost": 9}


def test_a_build_that_is_not_there_is_built_again(fakes):
    params, subject = FakeParams(size=3), SUBJECT
    built = tasks.build("build-3", subject, params).value
    for file in Path(built["folder"]).iterdir():
        file.unlink()
    assert not tasks.measure("point", subject, params, FakeWorkload(), built, 10.0).error
    assert noted(fakes, "builds") == ["3", "3"]
    for file in Path(built["folder"]).iterdir():
        file.unlink()
    Path(built["folder"]).rmdir()
    assert tasks.build("build-3", subject, params).value == built
    assert noted(fakes, "builds") == ["3", "3", "3"]


class CutSession(FakeSession):
    @classmethod
    def build(cls, hardware):
        return of_parts([super(CutSession, cls).build(FakeParams(size=n)) for n in (1, 2)])

    def run(self, simulator, folder, **options):
        assert [each.folder.name for each in simulator.parts] == ["build-1-False", "build-2-False"]
        return super().run(simulator, folder, **options)


def test_all_parts_of_a_cut_system_are_measured(fakes, monkeypatch):
    params, subject = FakeParams(size=3), Subject(fake.DESIGN)
    monkeypatch.setitem(vars(subject), "session", CutSession)
    built = [tasks.build("cut", subject, params).value for _ in range(2)]
    assert built[0] == built[1]
    assert noted(fakes, "builds") == ["1", "2"]
    outcome = tasks.measure("point", subject, params, FakeWorkload(load=2), built[0], 10.0)
    assert outcome.value == {"speed": 60.0, "cost": 9}
    assert noted(fakes, "builds") == ["1", "2"]
    Path(fakes, "build-2-False", PROGRAM).unlink()
    assert not tasks.measure("point", subject, params, FakeWorkload(), built[0], 10.0).error
    assert noted(fakes, "builds") == ["1", "2", "1", "2"]


def test_estimates_are_built_once(fakes, monkeypatch):
    requested = []
    monkeypatch.setattr(tasks, "estimate", lambda built: requested.append(built) or {"luts": 7.0})
    for _ in range(2):
        outcome = tasks.synthesise("synth-1", fake.DESIGN, FakeParams(size=3))
        assert outcome.value == {"luts": 7.0}
    assert len(requested) == 1
