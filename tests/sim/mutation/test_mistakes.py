import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sim.harness.cache import CHECKOUT
from sim.mutation import mistakes
from sim.mutation.mistakes import Mistake, read_mistakes, try_mistake

TURN = Mistake(
    name="no-turns",
    kind="constant",
    file="hdl/common/round_robin.py",
    what="The lower requester always has priority.",
    old="upper_first.eq(grant[lower:upper].any())",
    new="upper_first.eq(0)",
)


@pytest.mark.parametrize("mistake", read_mistakes(), ids=lambda item: item.name)
def test_each_can_be_planted(mistake):
    source = (CHECKOUT / mistake.file).read_text()
    broken = mistake.plant(source)
    assert broken != source
    compile(broken, mistake.file, "exec")
    assert mistake.tests, "its component has no test of its own"
    assert mistake.what.endswith(".")


def test_names_are_unique():
    names = [item.name for item in read_mistakes()]
    assert len(set(names)) == len(names)


def test_entries_of_a_wrong_form_are_refused(tmp_path):
    file = tmp_path / "some.toml"
    for text, said in (
        ('[[mistake]]\nname = "a"\n', "some.toml: .*missing"),
        ("[[mistakes]]\n", "some.toml: 'mistake'"),
        ('[[mistake]]\nname = "a"\nkind = "b"\nfile = ""\nwhat = ""\nold = ""\nnew = ""\n', "kind"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=said):
            read_mistakes(tmp_path)
    with pytest.raises(ValueError, match="occurs 0 times"):
        TURN.plant("nothing")


@pytest.mark.parametrize(("new", "fate"), [(TURN.new, "found"), (f"{TURN.old}  # so", "survived")])
def test_one_is_tried_by_the_tests_of_its_component(new, fate):
    result = try_mistake(replace(TURN, new=new), 1, 300)
    assert result["fate"] == fate, result["how"]
    assert ("test_round_robin" in result["how"]) == (fate == "found")


def test_no_verdict_in_time_is_undecided():
    assert try_mistake(TURN, 1, 0.1)["fate"] == "undecided"


def test_tests_that_fail_without_the_mistake_decide_nothing(monkeypatch):
    ran = []

    def fails(command, cwd, **_):
        ran.append("if 0" in Path(cwd, TURN.file).read_text())
        return subprocess.CompletedProcess(command, 1, f"FAILED {ran[-1]}\n", "")

    monkeypatch.setattr(subprocess, "run", fails)
    monkeypatch.setattr(mistakes, "COPIED", ["hdl/common"])
    for new in ("if 0", "if 0 "):
        result = try_mistake(replace(TURN, new=new), 99, 300)
        assert (result["fate"], result["how"]) == ("undecided", "without the mistake: FAILED False")
    assert ran == [True, False, True]  # the control is remembered
