"""Tutorial: generate a worker, train on it, measure variants of it, report.

P4SGD trains linear models on FPGAs. An FPGA with its share of the model is a *worker*: it has
engines, an engine has banks (one for each sample under way), a bank has lanes (one for each feature
that arrives in a clock cycle).
"""

# %% 1. Generate
# A design comes in presets. "tiny" is the smallest worker, whose simulator is built in seconds;
# "u280" is the one for the card. `ingather list --params` shows all of them, with their parameters.

import json
from pathlib import Path

import numpy as np
from terminal import terminal

terminal("ingather generate p4sgd-worker --preset tiny -o worker")

# The folder has the Verilog, a datasheet with a programming guide, registers in four forms, and the
# host software. manifest.json lists it for programs.

manifest = json.loads(Path("worker/manifest.json").read_text())
print("parameters:", manifest["parameters"])
assert (Path("worker") / "datasheet.html").exists()

# %% 2. Train
# Data are a file in LIBSVM's form or an .npz of `features` [samples, features] and `labels`
# [samples]. These are 256 points on both sides of a plane, with some noise.

rng = np.random.default_rng(1)
features = rng.random((256, 40))
plane = rng.normal(size=40)
labels = (features - 0.5) @ plane + rng.normal(scale=0.1, size=256) > 0
np.savez("points.npz", features=features, labels=labels.astype(int))

# The Verilog is simulated; memory and host are models. After every epoch its weights are compared
# with those of the golden model, a NumPy program that was written from the paper: "= golden" says
# that they are equal bit for bit. The columns "float64" are SGD without any rounding.

terminal("ingather train --data points.npz --test 0.25 --preset tiny --epochs 6 --batch 16 -o run")

result = json.loads(Path("run/result.json").read_text())
print("exact:", result["exact"], " cycles of an epoch:", result["figures"]["cycles"])
assert result["exact"]

# run/weights.npz has the weights in the units of your data, run/training.png the curves.

with np.load("run/weights.npz") as file:
    print("run/weights.npz:", {name: file[name].shape for name in file.files})

# %% 3. Sweep
# A sweep measures many points of a design. Names below [set] and [grid] are parameters of the
# hardware or settings of the run: here the precision, and how many samples make a mini-batch.

Path("precision.toml").write_text("""\
about = "what precision and mini-batch cost a tiny worker"
design = "p4sgd-worker"
preset = "tiny"
metrics = ["cycles_per_epoch", "efficiency", "memory_stalls", "dependency_stalls"]

[set]
samples = 64
features = 64

[grid]
bits = [1, 2, 4]
batch = [16, 64]
""")
terminal("ingather sweep precision.toml -o precision.sqlite --jobs 1")

# Six points are one simulator, because neither setting changes the hardware. A sweep that was
# interrupted goes on where it was: the same command again finds all six and measures none.

terminal("ingather sweep precision.toml -o precision.sqlite --jobs 1")

# Fewer bits are fewer words to read, so an epoch takes fewer cycles. With a larger mini-batch the
# worker waits less often for the last update before it may go on ("dependency_stalls").

# %% 4. Report
# The report finds every kind of result in a folder, here the training and the sweep.

terminal("ingather report . -o report.html")
assert "precision" in Path("report.html").read_text()

# Open report.html in a browser: it needs no server and no network.

# What the commands do can be called from Python as well, with arrays in place of files:
# own_matrix.ipynb shows how.
