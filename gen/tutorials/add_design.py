"""Tutorial: make hardware a design that every command of ingather knows.

The design is the package ``tally`` beside this script, a counter of events. Read its files in this
order: ``tally/golden.py`` (what must come out), ``tally/hardware.py`` (component, parameters,
registers), ``tally/run.py`` (what it does in simulation, and its host), ``tally/descriptor.py``
(what ingather reads), ``tests/test_tally.py``, and at last ``pyproject.toml``, whose entry point
makes it a design.
"""

# %% 1. Install the package
# `pip install -e tally` in the environment of ingather is what you would do. The tutorial copies
# the package and installs it into a folder, so that your environment stays as it is.

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from terminal import terminal

shutil.copytree(Path(__file__).parent / "tally", "tally", dirs_exist_ok=True)
pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
pip += ["--no-index", "--no-deps", "--no-build-isolation", "--upgrade", "--target", "installed"]
subprocess.run([*pip, "./tally"], check=True)
paths = [str(Path("installed").resolve()), os.environ.get("PYTHONPATH", "")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))

# %% 2. It is a design
# `ingather list --params` now shows it with its presets and parameters, and it is generated as the
# others are: Verilog, registers, a datasheet.

terminal("ingather list")
terminal("ingather generate tally --preset wide -o made")
assert json.loads(Path("made/manifest.json").read_text())["parameters"] == {"bits": 32}

# %% 3. It has a run
# The descriptor names a session with `command="count"`. That is a command now; the fields of its
# workload are the options. A host reads the count, by the driver `built/tally_driver.py`, here over
# the simulated bus.

terminal("ingather count --events 20 -o run")
result = json.loads(Path("run/result.json").read_text())
print(result["figures"])
assert result["exact"]
assert result["figures"]["wraps"] == 1

# %% 4. It can be swept
# Parameters of the hardware and settings of the run may be mixed in one grid.

Path("tally.toml").write_text("""\
design = "tally"
metrics = ["count", "wraps"]

[grid]
bits = [3, 4]
events = [5, 20]
""")
terminal("ingather sweep tally.toml -o tally.sqlite --jobs 1")

# %% 5. Into the checkout
# A design of Ingather itself needs no package: its descriptor is a file in gen/designs, and its
# hardware, session and test lie in hdl, sim and tests. gen/README.md ("Add a design") has the
# steps, and what a card needs besides.
