"""Tutorial: a sparse matrix of your own on NetSparse.

For a product of a sparse matrix A with a dense matrix X, the rows of both are spread over nodes.
A node that has a nonzero in column j needs row j of X, its *property*, from the node that owns it.
NetSparse's NIC (the SNIC) fetches them: the host gives it the column numbers (*idxs*) of its
nonzeros, and it sends a *property request* (PR) for each that is really needed.
"""

# %% 1. A matrix
# Any Matrix Market file will do. This is a grid of 24 x 24 points, each of which is joined to its
# neighbours and to some random others.

import json
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse
from terminal import terminal

side = 24
rng = np.random.default_rng(1)
place = np.arange(side)
line = abs(place[:, None] - place) <= 1
grid = np.kron(line, line)
matrix = scipy.sparse.coo_array(grid | (rng.random(grid.shape) < 0.004))
scipy.io.mmwrite("mine.mtx", matrix)
print(f"mine.mtx: {side * side} rows, {matrix.nnz} nonzeros")

# %% 2. Two SNICs in RTL
# Two nodes, each with the Verilog of a tiny SNIC, and a link between them. The properties that
# arrive are compared with the golden model's byte for byte, the product with scipy's.

terminal("ingather spmm --matrix mine.mtx --preset tiny --nodes 2 -o rtl")

# The table has a column for each node and one for all. result.json has the sums under "figures".


def figures(folder: str) -> dict[str, float]:
    """Return the figures of the run that wrote ``folder``."""
    return json.loads(Path(folder, "result.json").read_text())["figures"]


rtl = figures("rtl")
assert rtl["exact"]
assert rtl["unit_prs"] + rtl["prs_saved"] == rtl["remote"]
print(f"{rtl['remote']} idxs of other nodes, {rtl['unit_prs']} PRs, {rtl['cycles']} cycles")

# %% 3. What does each mechanism save?
# *Filtering* drops idxs whose property is in host memory already, *coalescing* those whose PR is
# under way, *concatenation* puts several PRs into one packet. `--no-...` switches each off. With
# --model a compiled model runs in place of the RTL: it takes a second, and no data are moved.

model = "ingather spmm --model --matrix mine.mtx --preset tiny --nodes 2"
terminal(f"{model} -o all")
terminal(f"{model} --no-filter -o no-filter")
terminal(f"{model} --no-coalesce -o no-coalesce")

print("\n             cycles  bytes over all links")
for folder in ("rtl", "all", "no-filter", "no-coalesce"):
    found = figures(folder)
    print(f"{folder:12} {found['cycles']:6.0f}  {found['link_bytes']:8.0f}")
assert figures("no-filter")["link_bytes"] > figures("all")["link_bytes"]

# The model is held to the RTL by tests; sim/netsparse/model/README.md says how near it is.

# %% 4. Racks
# Matrices of the web have hubs: columns that many rows need. Here a few columns are in most rows.
# In racks, switches with Property Caches answer for what another node of the rack has asked for.

rows = 16384
columns = rng.zipf(1.3, size=200_000) - 1
columns = columns[columns < rows] * 7919 % rows  # the hubs lie anywhere
places = (rng.integers(rows, size=len(columns)), columns)
hubs = scipy.sparse.csr_array((np.ones(len(columns)), places), shape=(rows, rows))
scipy.io.mmwrite("hubs.mtx", hubs)

racks = "ingather spmm --model --matrix hubs.mtx --racks 2 --nodes 8 --preset paper --switch paper"
terminal(f"{racks} -o cache")
terminal(f"{racks} --no-switch-cache -o no-cache")
for folder in ("cache", "no-cache"):
    found = figures(folder)
    print(f"{folder:12} {found['cache_hit_rate']:.0%} hits, {found['link_bytes']:.0f} bytes")
assert figures("cache")["link_bytes"] < figures("no-cache")["link_bytes"]
