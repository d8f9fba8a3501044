"""Calls ``ingather sweep`` as a user does; designs are swept in tests/gen/sweep."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gen.base.errors import UserError
from gen.commands.sweep import sweep, sweep_app
from gen.designs.catalogue import find_design
from gen.sweep.plan import Plan
from gen.sweep.search import SearchPlan
from gen.sweep.spec import read_spec
from gen.sweep.store import Store
from sim.harness.cache import CHECKOUT as ROOT
from tests.gen.console import without_progress

FORMULA = """
design = "p4sgd-engine"
metrics = ["features_per_cycle"]
[grid]
banks = [4, 8]
lanes = [32, 64]
"""
EXAMPLES = sorted((ROOT / "gen" / "sweep" / "examples").glob("*.toml"))
CALL = "import sys, gen.cli as cli; sys.argv[0] = 'ingather'; cli.main()"


def ingather(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-c", CALL, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    )


def test_a_sweep_by_formula_and_its_repetition(tmp_path):
    (tmp_path / "a.toml").write_text(FORMULA)
    result = ingather("sweep", "a.toml", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "4/4 banks=8, lanes=64: features_per_cycle 512" in result.stdout
    assert result.stdout.endswith("4 points done\nwrote build/a.sqlite\n")
    rows = Store(tmp_path / "build" / "a.sqlite").points()
    assert [row.metrics for row in rows] == [
        {"features_per_cycle": float(n)} for n in (128, 256, 256, 512)
    ]
    again = ingather("sweep", "a.toml", cwd=tmp_path)
    assert "4 of 4 points are there already" in again.stdout.splitlines()


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (FORMULA.replace("banks", "bnaks"), {}, "did you mean banks?"),
        (FORMULA.replace("per_cycle", "per_cycles"), {}, "the nearest are features_per_cycle"),
        (FORMULA.replace("engine", "engin"), {}, "did you mean p4sgd-engine?"),
        (FORMULA + '[derive]\nchunks = "lnaes"', {}, "a.toml: derive.chunks: no parameter 'lnaes'"),
        (FORMULA + '[derive]\nchunks = "banks / 3"', {}, "a.toml: derive.chunks, banks / 3 at ban"),
        (FORMULA, {"output": "a.toml"}, "not the results of a sweep"),
        (FORMULA, {"search": 3, "output": "a.toml"}, "not the results of a sweep"),
        (FORMULA.replace("features_per_cycle", "luts"), {"scheduler": "here"}, "tcp://HOST"),
    ],
)
def test_mistakes_are_reported(text, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.toml").write_text(text)
    if "output" in options:
        options = options | {"output": Path(options["output"])}
    with pytest.raises(UserError) as error:
        sweep(Path("a.toml"), **options)
    assert words in str(error.value)
    assert Path("a.toml").read_text() == text
    built = [path.name for path in tmp_path.iterdir()]
    assert built == ["a.toml"] or "scheduler" in options


def test_a_mistake_is_one_line(tmp_path):
    (tmp_path / "a.toml").write_text("design =")
    result = ingather("sweep", "a.toml", cwd=tmp_path)
    assert (result.returncode, without_progress(result.stdout)) == (2, "")
    assert result.stderr.startswith("ingather: a.toml is not TOML: ")
    assert result.stderr.count("\n") == 1


def test_illegal_points_end_in_1(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.toml").write_text(FORMULA.replace("[4, 8]", "[8, 17]"))
    with pytest.raises(typer.Exit) as end:
        sweep(Path("a.toml"))
    assert end.value.exit_code == 1
    assert "banks must be a whole number from 1 to 16: 17" in capsys.readouterr().out


def test_data_that_do_not_fit_are_named_at_once(tmp_path):
    head = 'design = "p4sgd-worker"\npreset = "tiny"\nmetrics = ["cycles"]\n'
    (tmp_path / "a.toml").write_text(head + "[grid]\nfeatures = [513]")
    result = ingather("sweep", "a.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert "  features=513: 513 features need 17 chunks an engine, the model" in result.stdout


def test_no_legal_point_ends_in_2(tmp_path):
    (tmp_path / "a.toml").write_text(FORMULA.replace("[4, 8]", "[17]"))
    result = ingather("sweep", "a.toml", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (2, "ingather: no point of the sweep is legal\n")
    assert without_progress(result.stdout) == (
        "2 of 2 points are illegal:\n  2 points, such as banks=17, lanes=32: "
        "banks must be a whole number from 1 to 16: 17\n"
    )


@pytest.mark.parametrize("words", [[], ["diff"], ["export"]])
def test_help_has_an_example(words):
    app = typer.Typer(rich_markup_mode=None)
    app.add_typer(sweep_app, name="sweep")
    app.command("other")(lambda: None)
    result = CliRunner().invoke(app, ["sweep", *words, "--help"])
    assert result.exit_code == 0
    assert " ".join(["Example: ingather sweep", *words]) in result.output


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_right(path):
    spec, _ = read_spec(path)
    find_design(spec.design)
    if spec.search:
        assert SearchPlan(spec).aims
    else:
        assert all(point.params for point in Plan(spec).points())


def test_the_example_of_scaling_has_64_points_on_8_kinds_of_hardware():
    plan = Plan(read_spec(ROOT / "gen" / "sweep" / "examples" / "p4sgd-scaling.toml")[0])
    points = plan.points()
    assert len(points) == 64
    assert len({point.params for point in points}) == 8
