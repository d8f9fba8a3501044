"""Runs every tutorial from its first line to its last, in a folder of the reader's own."""

import os
import subprocess
import sys

import pytest

from sim.harness.cache import CHECKOUT, cache_root

FOLDER = CHECKOUT / "gen/tutorials"
#: the tutorials, and what each prints near its end
TUTORIALS = {
    "train_sweep_report": ["wrote report.html", "weights equal the golden model's bit for bit"],
    "own_matrix": ["the product equals scipy's", "no-cache     0% hits"],
    "add_component": ["stalls=NONE: passed", "3 of 3 cocotb tests failed", "first wrong beat"],
    "add_design": ["tally              a counter of events", "4 points done"],
}


def test_every_script_is_listed():
    page = (FOLDER / "README.md").read_text()
    scripts = {path.stem for path in FOLDER.glob("*.py")} - {"terminal", "largest"}
    assert scripts == set(TUTORIALS)
    assert [name for name in sorted(scripts) if f"| `{name}.py` |" not in page] == []


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs(name, tmp_path):
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
