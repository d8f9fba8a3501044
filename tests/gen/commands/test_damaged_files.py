"""Damages files of each format: a result, or one line and status 2, in little memory."""

import gzip
import io
import json
import re
import resource
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import csr_array

from gen.base.errors import UserError
from gen.cli import called
from gen.commands.interruption import Interruption
from gen.sweep.spec import axes, read_spec
from sim.golden.choices import Loss
from sim.mina.jobs import read_jobs
from sim.switchgnn.graphs.graph import load_graph
from sim.switchgnn.planning.workers import WorkerPartition, read_workers
from sim.workloads.arrays import read_array
from sim.workloads.datasets import load
from sim.workloads.files import InputError
from sim.workloads.matrices import load_matrix
from tests.gen.report import sample
from tests.gen.synth.built import REPORTS
from tests.long import long

pytestmark = pytest.mark.filterwarnings("ignore")
ROOM = 3 << 29  #: bytes: a gather draws a table of up to 1 << 30
NUMBERS = (b"0", b"-1", b"7", b"1e999", b"nan", b"1_0", b"0x10", b"2.5", b"9" * 10, b"9" * 23)
RNG = np.random.default_rng(1)
GRAPH = csr_array((RNG.random((40, 40)) < 0.1).astype(np.float32))
OWNERS = np.arange(40) % 4
ROWS = np.column_stack([np.arange(60) % 2, RNG.integers(1, 99, (60, 4))])
ARRAYS = {name: getattr(GRAPH, name) for name in ("shape", "data", "indices", "indptr")}
ARRAYS |= {"format": np.array(b"csr"), "labels": OWNERS % 2, "train": OWNERS < 2}
PARTITION = {"schema": WorkerPartition.schema, "workers": 4, "owner": OWNERS.astype(np.int32)}
MODEL = {"duration": 0.05, "allreduces": [{"start": n / 9, "size": 1000} for n in range(3)]}
JOBS = {"models": {"mine": MODEL}, "jobs": [{"model": "mine", "hosts": 2, "steps": 3}] * 3}
MANIFEST = {"design": "p4sgd-worker", "preset": "tiny", "settings": {}, "board": {"name": "u280"}}
SWEEP = b"""design = "p4sgd-worker"
metrics = ["cycles_per_epoch", "luts"]
grid = {bits = [1, 2], features = {from = 64, to = 256, step = 64}}
"""


def written(write, *values, **named):
    file = io.BytesIO()
    write(file, *values, **named)
    return file.getvalue()


def as_samples(path):
    load(str(path), loss=Loss.LINEAR, label="y" if path.suffix == ".csv" else None)


as_workers = partial(read_workers, vertices=40, workers=4)
MTX = written(mmwrite, GRAPH, symmetry="general")
SVM = written(np.savetxt, ROWS, "%d 1:%d 2:%g 7:%g # %d")
CSV = written(np.savetxt, ROWS, "%g", ",", header="y,a,b,c,d", comments="")
NPZ = written(np.savez_compressed, features=RNG.random((40, 3)), **ARRAYS)
NPY, TABLE = written(np.save, OWNERS), written(np.save, np.ones((9, 8)))
RPT = (REPORTS / "hierarchical.rpt").read_bytes()
#: Maps a file's name to its content, to what reads it, and to the command that takes its name.
CASES = {
    "idx.npy": (NPY, read_array, "gather --graph uk:rows=50 --idx"),
    "table.npy": (TABLE, read_array, "gather --graph uk:rows=9 --table"),
    "workers.npy": (NPY, as_workers, "gcn --data g.npz --labels 1 --partition"),
    "workers.txt": (written(np.savetxt, OWNERS, fmt="%d"), as_workers, ""),
    "workers.npz": (written(np.savez, **PARTITION), as_workers, ""),
    "graph.npz": (NPZ, load_graph, "gcn --workers 1 --data"),
    "samples.npz": (written(np.savez, X=np.eye(30, 5), y=np.arange(30) / 3), as_samples, ""),
    "a.svm": (SVM, as_samples, "train --loss linear --data"),
    "a.csv": (CSV, as_samples, "train --loss linear --label y --data"),
    "general.mtx": (MTX, load_matrix, "spmm --matrix"),
    "symmetric.mtx": (written(mmwrite, GRAPH + GRAPH.T), load_graph, ""),
    "a.mtx.gz": (gzip.compress(MTX), load_matrix, "gather --fan-outs 2 --graph"),
    "jobs.json": (json.dumps(JOBS).encode(), read_jobs, "schedule --jobs"),
    "sweep.toml": (SWEEP, lambda path: [*axes(read_spec(path)[0].grid)], "sweep"),
    "result.json": (json.dumps(sample.training()).encode(), None, "report -o out.html"),
    "sweep.sqlite": (b"", None, "sweep export -o out.csv"),
    "a.rpt": (RPT, None, "import-reports p4sgd-engine --utilization"),
    "manifest.json": (json.dumps(MANIFEST).encode(), None, "first-epoch"),
}
BOTH = [(name, by) for name, case in CASES.items() for by in (1, 2) if case[by]]
WORK = "commands.run.simulate commands.schedule.written_whole commands.import_reports.estimate"
WORK += " commands.first_epoch.train_an_epoch sweep.sweeping.sweep"


def damaged(content, random):
    """Return it with a bit flipped, bytes cut or doubled, or another number; in .npz repacked."""
    if content.startswith(b"PK") and random.random() < 0.7:
        built = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(built, "w") as new:
            victim = random.choice(old.namelist())
            for name in old.namelist():
                array = old.read(name)
                new.writestr(name, damaged(array, random) if name == victim else array)
        return built.getvalue()
    start = random.randrange(len(content))
    end = start + random.choice((1, 1, 8, 100))
    changed = content[start:end] * random.choice((0, 2))
    numbers = list(re.compile(rb"-?[\d.]+").finditer(content, start, start + 200))
    if random.random() < 0.5:
        end, changed = start + 1, bytes([content[start] ^ 1 << random.randrange(8)])
    elif numbers and random.random() < 0.7:
        (start, end), changed = random.choice(numbers).span(), random.choice(NUMBERS)
    return content[:start] + changed + content[end:]


def stop(*arguments, **named):
    raise UserError("all was read")


def run(words, path):
    """Run a command until all is read; raise InputError with its lines if it refuses the file."""
    words = [*words.split(), "." if path.name == "manifest.json" else path.name]
    with redirect_stderr(io.StringIO()) as said, redirect_stdout(io.StringIO()):
        status = called(words, Interruption())
    lines = [line for line in said.getvalue().splitlines() if not line.endswith(" s")]  # progress
    assert status == (2 if lines else 0), (status, lines)
    if lines and "all was read" not in lines[0]:
        raise InputError("\n".join(lines))


@pytest.mark.parametrize("many", [False, long(True)])
@pytest.mark.parametrize(("name", "by"), BOTH)
def test_damaged_files(name, by, many, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    for work in WORK.split():
        monkeypatch.setattr(f"gen.{work}", stop)
    sample.write_sweep(tmp_path / "sweep.sqlite", sample.grid())
    (tmp_path / "g.npz").write_bytes(NPZ)
    path, seed, refused = tmp_path / name, request.config.getoption("--seed", 1), 0
    content, read = CASES[name][0] or path.read_bytes(), CASES[name][by]
    read = read if callable(read) else partial(run, read)
    path.write_bytes(content)
    read(path)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits, number = resource.getrlimit(resource.RLIMIT_AS), 0
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, limits[1]))
    try:
        for number in range({1: (50, 10_000), 2: (2, 50)}[by][many]):
            path.write_bytes(damaged(content, Random(f"{seed} {number}")))
            try:
                read(path)
            except (UserError, InputError) as error:
                if "\n" in str(error):
                    raise
                refused += 1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        print(f"{name}: {refused} refused of {number + 1}, seed {seed}")
