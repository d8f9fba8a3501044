"""Runs every tutorial from its first line to its last, in a folder of the reader's own."""

import ast
import json
import os
import subprocess
import sys

import pytest

from sim.harness.cache import CHECKOUT, cache_root

FOLDER = CHECKOUT / "gen/tutorials"
#: the tutorials, and what each prints near its end
TUTORIALS = {
    "train_sweep_report": ["wrote report.html", "saturations equal the golden model's bit for bit"],
    "add_component": ["stalls=NONE: passed", "3 of 3 cocotb tests failed", "first wrong beat"],
    "train_graphsage": ["epoch 4: loss", "all rows of 30 mini-batches equal features[vertices]"],
    "add_design": ["tally              a counter of events", "4 points done"],
}


def test_every_script_is_listed():
    page = (FOLDER / "README.md").read_text()
    scripts = {path.stem for path in FOLDER.glob("*.py")} - {"terminal", "largest"}
    assert scripts == set(TUTORIALS)
    assert "| `own_matrix.ipynb` |" in page
    assert [name for name in sorted(scripts) if f"| `{name}.py` |" not in page] == []


def test_the_whole_design_is_read_in_minutes():
    files = [path for path in (FOLDER / "tally").rglob("*") if path.suffix in (".py", ".toml")]
    assert {"golden.py", "hardware.py", "run.py", "test_tally.py"} <= {path.name for path in files}
    assert sum(len(path.read_text().splitlines()) for path in files) <= 250


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs(name, tmp_path):
    if name == "train_graphsage":
        pytest.importorskip("torch", reason="PyTorch is not installed: its tutorial did not run")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    environment = clean | {"PYTHONPATH": str(CHECKOUT), "INGATHER_CACHE": str(cache_root())}
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [text for text in TUTORIALS[name] if text not in done.stdout] == []


def shown(source, names):
    """Run a cell; return the value of its last line if that is an expression."""
    body = ast.parse(source).body
    last = [ast.Expression(body.pop().value)] if isinstance(body[-1], ast.Expr) else []
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(compile(last[0], "cell", "eval"), names) if last else None


def test_a_notebook_runs_and_shows_little_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    cells = json.loads((FOLDER / "own_matrix.ipynb").read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    values = [value for source in sources if (value := shown(source, names)) is not None]
    assert [text for text in map(repr, values) if len(text) > 300] == []
    pages = [value._repr_html_() for value in values if hasattr(value, "_repr_html_")]
    assert [page.startswith("<iframe srcdoc=") for page in pages] == [True, True]
    assert "&lt;svg" in pages[0]
    assert "data:image/png;base64,iVBOR" in pages[1]
    assert "the product equals scipy&amp;#39;s" in pages[1]
    assert "no cache  0% hits" in capsys.readouterr().out
    assert not any(cell.get("outputs") for cell in cells)
