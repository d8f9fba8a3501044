"""Cuts clusters into processes, a node or a switch each: nothing differs from the whole."""

import threading
from dataclasses import replace

import pytest

from sim.coverage.merge import collect
from sim.harness.captures import CAPTURES, capture_of
from sim.harness.coverage_runs import COVERAGE_RUNS
from sim.harness.environment import changed
from sim.harness.failures import SimulationError
from sim.harness.session import Listener
from sim.harness.verilate import WAVES
from sim.netsparse.builds import build_cluster, build_parts, one_rack
from sim.netsparse.gather import simulate_gather
from sim.netsparse.spmm import SpmmRun, matrix_for
from sim.netsparse.spmm_session import SpmmSession
from sim.netsparse.spmm_workload import SpmmWorkload
from tests.sim.harness.captured_frames import read
from tests.sim.harness.running import part_that_runs, simulations
from tests.sim.netsparse.cases import CLUSTER, NODES, SNIC

CLUSTERS = {"rack": one_rack(SNIC, NODES), "racks": CLUSTER}
LATENCY = 40
MATRIX = "uk:nodes=4,rows=120"
#: a packet is lost between switches or nodes, its request ends by its watchdog; links stall
FAULTS = {"responses": {"drop": 1, "drop_at": 0}, "in_stall": 60, "out_stall": 90, "seed": 5}


def gather_of(cluster, latency=LATENCY, faults=False, **settings):
    """Return a gather, and whether its links have faults."""
    topology = cluster.network.topology
    requested = SpmmWorkload(
        matrix=MATRIX,
        nodes=topology.nodes,
        racks=topology.racks,
        property_bytes=16,
        link_latency=latency,
        read_delay=30,
        response_delay=30,
        watchdog=1500,
        batch=40,
        **settings,
    )
    gather = SpmmRun(matrix_for(MATRIX, topology.nodes, 1), SNIC, requested).gather
    if not faults:
        return gather
    # Of a node's switch with a spine, or of the only switch with node 1.
    link = len(topology.links) // topology.racks - 1
    return replace(gather, link={"latency": latency, **FAULTS}, faulty_link=link)


def both(cluster, gather, folder, processes):
    """Simulate a gather as a whole and in parts; return what came of it."""
    for name, build, most in (("whole", build_cluster, 1), ("parts", build_parts, processes)):
        yield simulate_gather(
            gather, cluster, build(cluster), folder=folder / name, seed=3, processes=most
        )


@pytest.mark.parametrize(
    ("cluster", "faults", "processes"),
    [
        ("racks", True, 5),
        *(
            pytest.param(cluster, faults, processes, marks=pytest.mark.long)
            for cluster, faults, processes in (
                ("rack", False, 2),
                ("rack", False, 5),
                ("rack", True, 2),
                ("racks", False, 2),
                ("racks", True, 2),
            )
        ),
    ],
)
def test_parts_are_the_whole(tmp_path, cluster, faults, processes):
    """Memories, counters, completions and their order, cycles and those of links are equal."""
    cluster = CLUSTERS[cluster]
    gather = gather_of(cluster, faults=faults, rings=faults)
    whole, parts = both(cluster, gather, tmp_path, processes)
    causes = {done.cause for node in whole.result.nodes for done in node.completions}
    assert causes == ({"DONE", "WATCHDOG"} if faults else {"DONE"})
    assert parts == whole


@pytest.mark.long
@pytest.mark.parametrize("latency", [2, 3, 990])
def test_links_of_any_length_are_cut(tmp_path, latency):
    """Parts run a cycle, or hundreds, without each other."""
    whole, parts = both(CLUSTER, gather_of(CLUSTER, latency), tmp_path, 2)
    assert parts == whole


def test_a_part_that_dies_ends_all(tmp_path):
    """A line says which it was; no process is left."""
    cluster, builds = CLUSTER, build_parts(CLUSTER)
    before = set(simulations())

    def kill():
        while (node := part_that_runs("node_2")) is None:
            pass
        node.kill()

    threading.Thread(target=kill).start()
    with pytest.raises(SimulationError) as caught:
        simulate_gather(gather_of(cluster), cluster, builds, folder=tmp_path, seed=1)
    assert caught.value.line.startswith("node 2: ")
    assert set(simulations()) <= before


@pytest.mark.long
def test_one_node_has_waves(tmp_path):
    cluster = CLUSTERS["rack"]
    with changed({WAVES: "1"}):
        builds = build_parts(cluster, waves_node=1)
    assert [build.traced for build in builds.parts] == [False, True, *[False] * (NODES - 1)]
    simulate_gather(gather_of(cluster), cluster, builds, folder=tmp_path, seed=1)
    assert "node_part" in (tmp_path / "dump.vcd").read_text()[:100_000]
    assert [*tmp_path.glob("**/*.vcd")] == [tmp_path / "dump.vcd"]


@pytest.mark.long
def test_frames_are_those_of_the_whole(tmp_path):
    cluster = CLUSTERS["rack"]
    with changed({CAPTURES: "1"}):
        _ = [*both(cluster, gather_of(cluster), tmp_path, 2)]
    whole, parts = (
        sorted((ns, octets, *other) for _, ns, octets, *other in read(capture_of(tmp_path / name)))
        for name in ("whole", "parts")
    )
    assert len(whole) > 100
    assert parts == whole


@pytest.mark.long
def test_each_part_has_its_coverage(tmp_path, monkeypatch):
    """Coverage of a part is added up as that of any component: a node's, and a switch's."""
    monkeypatch.setenv(COVERAGE_RUNS, str(tmp_path / "runs"))
    (tmp_path / "runs").mkdir()
    cluster = one_rack(SNIC, 2)
    builds = build_parts(cluster, coverage=True)
    simulate_gather(gather_of(cluster), cluster, builds, folder=tmp_path / "run", seed=1)
    assert len([*(tmp_path / "runs").glob("run-*/coverage.dat")]) == 3
    modules = {each.component: each for each in collect(tmp_path / "runs").values()}
    for component in ("hdl.netsparse.snic.Snic", "hdl.netsparse.switch.switch.NetSparseSwitch"):
        assert any(modules[component].toggles.values()), component


def test_a_session_shows_the_cycles_of_all_parts(tmp_path):
    """Its simulators and its result are those of parts."""
    lines = []

    class Show(Listener):
        def progress(self, text, done=None, total=None):
            lines.append(text)

    topology = CLUSTER.network.topology
    requested = SpmmWorkload(
        matrix=MATRIX,
        nodes=NODES,
        racks=topology.racks,
        spines=topology.spines,
        property_bytes=16,
        processes=3,
    )
    session = SpmmSession(SNIC, requested)
    builds = session.build(session.hardware(SNIC, requested))
    assert len(builds.parts) == NODES + topology.racks + topology.spines
    assert session.run(builds, tmp_path, Show()).exact
    assert any("cycles" in line for line in lines), lines


def test_links_without_delay_are_not_cut():
    with pytest.raises(ValueError, match="several processes need links of at least 2 cycles"):
        SpmmWorkload(processes=2, link_latency=1)
    with pytest.raises(ValueError, match="waves_node must be below the 2 nodes: 2"):
        SpmmWorkload(waves_node=2)
    assert SpmmWorkload(nodes=7).at_a_time == 1
    assert SpmmWorkload(nodes=8, link_latency=9).at_a_time == 1
    assert SpmmWorkload(nodes=8, model=True, processes=3).at_a_time == 1
    assert SpmmWorkload(processes=3).at_a_time == 3
