"""Runs ``ingather synth`` as a user does, and returns what it says."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sim.bench.limits import cpu_seconds


def synth(
    design: str, *, preset: str = "", card: str = "", shell: str = "", cache: Path | None = None
) -> tuple[float, dict]:
    """Return CPU seconds and figures of an estimate; ``cache`` is a folder for the usual one.

    With ``card`` the design stands inside its top for the card of that name, with ``shell`` inside
    its kernel or plugin.
    Raises RuntimeError with what the command says if it fails.
    """
    environment: dict[str, Any] = {"INGATHER_CACHE": str(cache)} if cache else {}
    with tempfile.TemporaryDirectory(prefix="ingather-bench-") as folder:
        file = Path(folder) / "figures.json"
        command = [sys.executable, "-m", "gen", "synth", design, "--json", str(file)]
        start = cpu_seconds()
        command += ["--preset", preset] if preset else []
        command += ["--board", card, "--card"] if card else []
        command += ["--board", shell] if shell else []
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, env=os.environ | environment
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return cpu_seconds() - start, json.loads(file.read_text())
