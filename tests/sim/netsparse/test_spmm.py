"""Runs a product on two tiny SNICs, what refuses to be run, and what the check would find."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import csr_array

from gen.base.settings import make_params
from gen.designs.catalogue import find_design
from hdl.netsparse.snic import SETTLING
from sim.netsparse.builds import build_gather
from sim.netsparse.gather import GatherError
from sim.netsparse.kernel import Kernel
from sim.netsparse.spmm import SpmmRun, matrix_for
from sim.netsparse.spmm_report import NodeFigures, SpmmReport, together
from sim.netsparse.spmm_workload import SpmmWorkload
from sim.workloads.files import InputError
from sim.workloads.partition import Partition
from tests.sim.netsparse.cases import web

NODES = 2
POLL = 8  #: cycles that a driver may hear of an interrupt later
DESCRIPTOR_CYCLES = 4  #: host memory aside, more than ten writes of registers take


@pytest.fixture(scope="module")
def params():
    design = find_design("netsparse-snic")
    return make_params(design.params_class, design.settings_of("tiny"))


@pytest.fixture(scope="module")
def simulator(params):
    return build_gather(params, NODES)


@pytest.fixture(scope="module")
def built(params, simulator, tmp_path_factory):
    """Return a run that filters, coalesces and concatenates."""
    run = SpmmRun(matrix_for("queen:rows=80", NODES, 1), params, SpmmWorkload(property_bytes=12))
    heard = []
    gathered = run.simulate(*simulator, tmp_path_factory.mktemp("spmm"), heard.append)
    return run, gathered, heard


def test_product_is_exact_and_counters_report_why(built):
    run, gathered, heard = built
    run.check(gathered)
    assert heard == sorted(heard)
    report = SpmmReport(run, "queen", gathered.result)
    figures = report.redundancy
    every = together(report.nodes)
    assert every.unit["consumed"] == run.matrix.nnz == figures.nonzeros
    assert every.remote == figures.remote
    assert every.unit["prs"] == figures.useful  # one client a node: a PR for each distinct idx
    assert every.filter_coalesce_rate == pytest.approx(1 - figures.useful / figures.remote)
    assert every.headers == pytest.approx(every.headers_by_formula)
    assert every.headers < report.headers_alone
    assert every.packet_bytes("sent") == every.packet_bytes("received")
    assert sum(every.histogram("reads")) == every.packets("sent", "reads")
    assert every.prs_per_packet("reads") > 1
    assert 0 < every.goodput < every.utilisation("responses") < 1
    for node, result in zip(report.nodes, gathered.result.nodes, strict=True):
        # Eight words and the submission, then the completion is dropped; whether it was refused,
        # whether there is a completion, and its three fields.
        assert node.requests == len(result.completions) > 0
        assert result.accesses["writes"] == 10 * node.requests
        assert result.accesses["reads"] >= 5 * node.requests


def test_links_are_as_they_were_requested(params):
    requested = SpmmWorkload(link_latency=3, link_stall=7, seed=5)
    link = SpmmRun(matrix_for("queen:rows=80", NODES, 1), params, requested).gather.link
    assert link == {"latency": 3, "in_stall": 7, "out_stall": 7, "seed": 5}


def test_clients_get_requests_in_turn_or_a_share_of_them():
    params = find_design("netsparse-snic").params_of("tiny", nodes=NODES, units=6)
    matrix, requested = matrix_for("queen:rows=80", NODES, 1), SpmmWorkload(clients=4, batch=40)
    in_turn, shares = (
        SpmmRun(matrix, params, replace(requested, shares=each)).gather.idxs[0]
        for each in (False, True)
    )
    stream = Partition.blocks(matrix.shape[0], NODES).idx_stream(matrix, 0)
    assert len(stream) > 8 * 40  # more than two requests of each client
    assert [own[0].tolist() for own in in_turn] == stream[:160].reshape(4, 40).tolist()
    assert np.concatenate([request for own in shares for request in own]).tolist() == (
        stream.tolist()
    )


def test_classes_share_a_line():
    """Both classes together are the share of the line that is used."""
    busy = {"reads_received_bytes": 64 * 20, "responses_received_bytes": 64 * 80}
    accesses = {"writes": 10, "reads": 5}
    node = NodeFigures(
        {"responses": 200},
        busy,
        cycles=100,
        property_bytes=16,
        clients=1,
        requests=2,
        accesses=accesses,
        done=90,
    )
    assert [node.utilisation(kind) for kind in ("reads", "responses")] == [0.2, 0.8]
    assert node.goodput == 0.5


@pytest.mark.parametrize("where", ["a property", "a poisoned slot", "an idx"])
def test_a_wrong_byte_would_be_detected(built, where):
    run, gathered, _ = built
    needed = run.gather.flat(0)
    missing = np.setdiff1d(np.arange(run.partition.count), [*needed, *range(40)])
    size = run.requested.property_bytes
    byte = {
        "a property": needed.max() * size,
        "a poisoned slot": missing[0] * size if missing.size else 40 * size,
        "an idx": run.gather.idx_address,
    }[where]
    memory = bytearray(gathered.hosts[0])
    memory[int(byte)] ^= 1
    with pytest.raises(GatherError, match="host memory of node 0"):
        run.check(replace(gathered, hosts=[bytes(memory), gathered.hosts[1]]))


@pytest.mark.parametrize("kernel", [Kernel.SPMV, Kernel.SDDMM])
def test_other_kernels_use_what_has_come(params, simulator, tmp_path, rng, monkeypatch, kernel):
    """They need what SpMM does, of web pages in any order; wrong numbers show in the product."""
    pages = rng.permutation(1000)[: int(rng.integers(300, 600))]
    words = 1 if kernel is Kernel.SPMV else int(rng.integers(1, 17))
    requested = SpmmWorkload(
        kernel=kernel, property_bytes=4 * words, seed=int(rng.integers(1 << 31))
    )
    run = SpmmRun(csr_array(web()[pages][:, pages]), params, requested)
    gathered = run.simulate(*simulator, tmp_path)
    run.check(gathered)
    plain = SpmmRun(run.matrix, params, replace(requested, kernel=Kernel.SPMM, model=True))
    counted = plain.model(simulator[0])
    for node, other in zip(gathered.result.nodes, counted.nodes, strict=True):
        for name in ("consumed", "local", "prs", "responses", "served"):
            assert node.totals[name] == other.totals[name]
        assert node.totals["responses"] > 10
    monkeypatch.setattr("sim.netsparse.spmm.check", lambda gather, gathered: None)
    node = int(rng.integers(NODES))
    memory = np.frombuffer(gathered.hosts[node], np.uint8).copy()
    memory[: run.gather.properties.nbytes : 4] ^= 1
    hosts = [memory.tobytes() if k == node else host for k, host in enumerate(gathered.hosts)]
    with pytest.raises(GatherError, match=f"node {node}: its part of the product is wrong"):
        run.check(replace(gathered, hosts=hosts))


def test_a_property_is_a_number_of_a_vector():
    assert SpmmWorkload().property_bytes == SpmmWorkload(kernel=Kernel.SDDMM).property_bytes == 64
    assert SpmmWorkload(kernel=Kernel.SPMV).property_bytes == 4
    assert SpmmWorkload(kernel=Kernel.SPMV, model=True).as_json()["kernel"] == "spmv"
    with pytest.raises(ValueError, match="must be 4 of spmv, whose dense side is a vector: 64"):
        SpmmWorkload(kernel=Kernel.SPMV, property_bytes=64)


def test_every_mechanism_off(params, simulator, tmp_path):
    """Each remote nonzero is a PR, and each PR a packet; the product is the same.

    Requests go by rings: a register is written at most once a request, and none is read.
    """
    options = SpmmWorkload(
        property_bytes=128,
        batch=100,
        filter=False,
        coalesce=False,
        concatenate=False,
        aligned=False,
        rings=True,
        read_delay=0,
        response_delay=0,
        host_latency=3,
        dram_latency=0,
        link_latency=0,
    )
    run = SpmmRun(matrix_for("stokes:rows=80", NODES, 1), params, options)
    gathered = run.simulate(*simulator, tmp_path)
    run.check(gathered)
    every = together(SpmmReport(run, "stokes", gathered.result, "").nodes)
    assert every.unit["prs"] == every.remote > 0
    assert every.prs_per_packet("reads") == every.prs_per_packet("responses") == 1
    assert every.headers == pytest.approx(164 / (164 + 128))
    for node in gathered.result.nodes:
        assert node.accesses["writes"] <= len(node.completions)
        assert not node.accesses["reads"]


def test_the_last_reads_wait_for_no_others(params, simulator, tmp_path):
    """With DelayCycles of 500 for reads, a PR that is alone leaves as soon as without.

    By a ring its first packet is later by what the descriptor takes, less what the ten writes of
    registers took.
    """
    matrix = csr_array(np.eye(2, dtype=np.int32)[::-1])
    took, first = [], []
    for number, (delay, rings) in enumerate(((0, False), (500, False), (500, True))):
        options = SpmmWorkload(read_delay=delay, response_delay=0, rings=rings)
        run = SpmmRun(matrix, params, options)
        gathered = run.simulate(*simulator, tmp_path / str(number))
        run.check(gathered)
        took.append(gathered.result.cycles)
        first.append(gathered.result.first_packet)
        assert 0 < first[-1] < took[-1]
    assert took[1] <= took[0] + SETTLING + POLL
    assert first[2] <= first[1] + options.host_latency + DESCRIPTOR_CYCLES, first


def test_a_matrix_without_remote_nonzeros(params, simulator, tmp_path):
    matrix = csr_array(np.diag(np.arange(1, 10)))
    run = SpmmRun(matrix, params, SpmmWorkload())
    gathered = run.simulate(*simulator, tmp_path)
    run.check(gathered)
    report = SpmmReport(run, "diagonal", gathered.result)
    assert report.details()["partition"]["su"] is None
    assert report.details()["all"]["filter_coalesce_rate"] == 0
    report.plot(tmp_path / "spmm.png", "diagonal")
    assert (tmp_path / "spmm.png").read_bytes().startswith(b"\x89PNG")


def test_files_get_whole_values(tmp_path):
    mmwrite(tmp_path / "real.mtx", csr_array([[0.5, 0], [1.5, 2.5]]))
    matrix = matrix_for(str(tmp_path / "real.mtx"), NODES, 1)
    assert matrix.nnz == 3
    assert matrix.data.dtype.kind == "i"


def test_families_are_built_for_the_nodes():
    assert matrix_for("queen", 2, 1).shape == matrix_for("queen:nodes=2", 4, 1).shape
    assert (matrix_for("uk:rows=50", 2, 1) != matrix_for("uk:rows=50,seed=2", 2, 1)).nnz
    with pytest.raises(InputError, match="did you mean 'queen'"):
        matrix_for("quen", 2, 1)


@pytest.mark.parametrize(
    ("nodes", "changes", "says"),
    [
        (3, {}, r"from 2 to the 2 of the build: 3; --set nodes=3 builds for that many$"),
        (1025, {}, r"nodes must be from 2 to 1024: 1025$"),
        (129, {}, r"nodes must be at most 128 in a simulation: 129; --model takes more$"),
        (66, {"racks": 33}, r"racks must be at most 32 in a simulation: 33; --model"),
        (2, {"racks": 65}, r"racks must be from 1 to 64: 65$"),
        (3, {"racks": 2}, r"3 are not divisible by 2 racks$"),
        (66, {"racks": 2}, r"at most 32 together, the ports of its switch: 33 and 1; --racks"),
        (2, {"property_bytes": 6}, "multiple of 4"),
        (2, {"property_bytes": 0}, "from 4"),
        (2, {"property_bytes": 516}, "to the 512 of the build"),
        (2, {"clients": 2, "servers": 1}, "2 units of the build, not 2 and 1"),
        (2, {"clients": 2}, "not 2 and 1"),
        (2, {"clients": 0}, "not 0 and 1"),
        (2, {"servers": 2}, "not 0 and 2"),
        (2, {"batch": 0}, "batch must be"),
        (2, {"read_delay": 512}, "read_delay must be from 0 to 511"),
        (2, {"response_delay": -1}, "response_delay"),
        (2, {"host_latency": 1024}, "host_latency"),
        (2, {"link_latency": 1024}, "link_latency"),
    ],
)
def test_what_the_build_cannot_do(params, nodes, changes, says):
    matrix = csr_array(np.eye(4, dtype=np.int32))
    with pytest.raises(ValueError, match=says):
        SpmmRun(matrix, params, SpmmWorkload(nodes=nodes, **changes))


@pytest.mark.parametrize(
    ("rows", "options", "says"),
    [
        ((1 << 20) + 1, {}, "does not fit idxs of 20 bits"),
        (1 << 18, {"property_bytes": 128}, "address_bits=25"),
        (1 << 17, {"property_bytes": 128}, "do not fit host memory"),
        (140_000, {"batch": 1, "property_bytes": 4}, "70000 work requests"),
        (70_000, {"batch": 1}, None),
    ],
)
def test_what_does_not_fit(params, rows, options, says):
    ones = np.ones(rows, np.int32)
    matrix = csr_array((ones, np.arange(rows), np.arange(rows + 1)), (rows, rows))
    with pytest.raises(ValueError, match=says) if says else nullcontext():
        SpmmRun(matrix, params, SpmmWorkload(**options))
