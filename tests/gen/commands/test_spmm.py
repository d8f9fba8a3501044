import json
from dataclasses import fields

import pytest
from scipy.io import mmwrite
from scipy.sparse import csr_array

from sim.netsparse.gather import GatherError
from sim.netsparse.spmm import SpmmRun
from sim.netsparse.spmm_workload import SpmmWorkload
from tests.gen.commands.running import refused, remote_and_local, running

TINY = ["--preset", "tiny"]
SMALL_MATRIX = ["--matrix", "queen:rows=80"]


ingather = running("spmm")


def test_runs_a_family_and_leaves_results(ingather, tmp_path):
    status, out, err = ingather(*TINY, *SMALL_MATRIX, "--property-bytes", 8, "-o", "made")
    assert (status, err) == (0, "")
    assert "the product equals scipy's" in out
    lines = {line[:32].strip(): line[32:].split() for line in out.splitlines()}
    assert lines[""] == ["node", "0", "node", "1", "all"]
    result = json.loads((tmp_path / "made" / "result.json").read_text())
    assert result["exact"]
    assert result["cycles"] > 0
    total = result["all"]["unit_counters"]
    assert lines["idxs"][2] == f"{result['matrix']['nonzeros']:,}" == f"{total['consumed']:,}"
    assert lines["PRs"][2] == f"{total['prs']:,}" == f"{result['partition']['useful']:,}"
    assert lines["headers, measured"] == lines["headers, formula"]
    assert len(result["nodes"]) == 2
    assert (tmp_path / "made" / "spmm.png").read_bytes().startswith(b"\x89PNG")

    status, out, _ = ingather(  # what was made by us may be made again
        *TINY, *SMALL_MATRIX, "--no-filter", "--no-concatenate", "--naive-host", "-o", "made"
    )
    assert status == 0
    again = json.loads((tmp_path / "made" / "result.json").read_text())
    assert again["all"]["unit_counters"]["filtered"] == 0
    assert again["all"]["prs_per_packet"]["reads"] == 1
    assert again["workload"]["coalesce"]
    assert not again["workload"]["aligned"]


@pytest.mark.long
def test_workers_of_a_cluster_find_the_same(ingather, tmp_path):
    """Three processes of Dask simulate two racks; figures and counters are those of one process."""
    rack = ["--racks", 2, "--nodes", 4, "--matrix", "uk:rows=120", "--link-latency", 30]
    remote, local = remote_and_local(ingather, tmp_path, *TINY, *rack)
    assert remote == local


def test_runs_a_file(ingather, tmp_path):
    mmwrite(tmp_path / "mine.mtx", csr_array([[0.5, 2.5], [-1.5, 0]]))
    status, out, err = ingather(*TINY, "--matrix", "mine.mtx", "--read-delay", 0, "-o", "made")
    assert (status, err) == (0, "")
    assert "mine.mtx: 2 rows, 3 nonzeros" in out


def test_another_kernel(ingather, tmp_path):
    status, out, err = ingather(*TINY, *SMALL_MATRIX, "--kernel", "sddmm", "-o", "made")
    assert (status, err) == (0, "")
    assert "the products at nonzeros equal NumPy's" in out
    workload = json.loads((tmp_path / "made" / "result.json").read_text())["workload"]
    assert (workload["kernel"], workload["property_bytes"]) == ("sddmm", 64)


def test_a_wrong_result_is_said_and_kept(ingather, tmp_path, monkeypatch):
    def check(self, gathered):
        raise GatherError("node 1: its rows of the product differ")

    monkeypatch.setattr(SpmmRun, "check", check)
    status, out, _ = ingather(*TINY, *SMALL_MATRIX, "-o", "made")
    assert status == 1
    assert "NOT what it must be: node 1: its rows of the product differ" in out
    assert "equals" not in out
    assert not json.loads((tmp_path / "made" / "result.json").read_text())["exact"]


def test_help_says_why_hardware_has_no_dragonfly():
    topology = next(each for each in fields(SpmmWorkload) if each.name == "topology")
    says = topology.metadata["help"]
    assert "could wait in a circle in this hardware" in says
    assert "free of deadlock" not in says, "as if no hardware could be"


def bad_files(folder):
    (folder / "text.mtx").write_text("1 2 3\n")
    mmwrite(folder / "flat.mtx", csr_array([[1, 0, 2]]))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--matrix", "quen"], "did you mean 'queen'"),
        (["--matrix", "queen:row=5"], "has no option 'row'"),
        (["--matrix", "queen:rows=few"], "rows must be an integer"),
        (["--matrix", "queen:rows=0"], "rows must be at least 1"),
        (["--matrix", "nothing.mtx"], "no such file"),
        (["--matrix", "text.mtx"], "not a Matrix Market file"),
        (["--matrix", "flat.mtx"], "must be square"),
        (["--matrix", "europe:rows=400000"], "do not fit host memory"),
        (["--nodes", "3"], "from 2 to the 2 of the build: 3"),
        (["--nodes", "3", "--racks", "2"], "3 are not divisible by 2 racks"),
        (["--nodes", "8", "--topology", "dragonfly:2x2"], "in this hardware, which has no"),
        (["--partition", "blocs"], "did you mean blocks? there are: blocks, metis, hyper"),
        (["--nodes", "8", "--topology", "ring"], "topology must be leaf-spine, hyperx:"),
        (["--nodes", "4", "--racks", "2", "--set", "nodes=2"], "from 2 to the 2 of the build: 4"),
        (["--nodes", "66", "--racks", "2"], "at most 32 together, the ports of its switch"),
        (["--racks", "0"], "racks"),
        (["--switch", "smal"], "did you mean small?"),
        (["--switch", "small:wais=4"], "did you mean ways?"),
        (["--switch-read-delay", "1024"], "switch_read_delay must be from 0 to 1023"),
        (["--racks", "2", "--nodes", "4", "--switch", "tiny"], "beats must be"),
        (["--nodes", "1"], "nodes"),
        (["--nodes", "17"], "nodes"),
        (["--property-bytes", "6"], "multiple of 4"),
        (["--property-bytes", "0"], "from 4 to the 512"),
        (["--kernel", "spmv", "--property-bytes", "64"], "property_bytes must be 4 of spmv"),
        (["--kernel", "sdmm"], "--kernel"),
        (["--property-bytes", "1024"], "to the 512"),
        (["--units", "2", "--servers", "1"], "at most the 2 units of the build"),
        (["--units", "0"], "at least 1"),
        (["--batch", "0"], "--batch"),
        (["--batch", "many"], "batch"),
        (["--read-delay", "512"], "read_delay must be from 0 to 511"),
        (["--host-latency", "5000"], "host-latency"),
        (["--link-latency", "1024"], "link-latency"),
        (["--preset", "tiy"], "did you mean tiny?"),
        (["--set", "lsq_entry=3"], "did you mean lsq_entries?"),
        (["--set", "pending_entries=2"], "must be one of 4, 5, 6"),
        (["--seed", "-1"], "seed"),
        (["--scheduler", "here"], "a scheduler is tcp://HOST:PORT"),
        (["--scheduler", "tcp://127.0.0.1:9", "--model"], "a model is not cut"),
        (["--scheduler", "tcp://127.0.0.1:9", "--link-latency", "1"], "at least 2 cycles"),
        (["-o", "taken"], "was not made by ingather"),
        (["-o", "taken/precious.txt"], "not a folder"),
        (["-o", "taken/precious.txt/out"], "cannot write"),
    ],
)
def test_bad_input_is_one_line_and_status_2(ingather, tmp_path, arguments, says):
    bad_files(tmp_path)
    preset = [] if "--preset" in arguments else TINY
    matrix = [] if "--matrix" in arguments else SMALL_MATRIX
    refused(ingather, tmp_path, ("-o", "made", *preset, *matrix, *arguments), says)
