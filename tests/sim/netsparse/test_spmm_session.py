"""Tests sessions of a sparse product; test_spmm and test_gather simulate them."""

from types import SimpleNamespace

import pytest

from gen.designs.catalogue import find_design
from hdl.netsparse.snic_counters import CLASSES, SNIC_COUNTERS, UNIT_COUNTERS
from sim.netsparse.network_figures import NETWORK_FIGURES
from sim.netsparse.spmm_report import NodeFigures, SpmmReport
from sim.netsparse.spmm_session import SpmmSession, figures
from sim.netsparse.spmm_workload import SpmmWorkload
from sim.netsparse.switch_counts import SwitchCounts
from sim.netsparse.switch_session import NetSparseSwitchSession, NetSparseSwitchWorkload
from tests.hdl.netsparse.switch.bench import SPINE, TOR
from tests.rejects import refuses

PARAMS = find_design("netsparse-snic").params_of("tiny")


def counters(bank, **known):
    return dict.fromkeys((name for name, _ in bank.counters), 0) | known


def test_figures_come_from_counters():
    unit = counters(UNIT_COUNTERS, coalesced=5, filtered=3, prs=12, consumed=40, served=12)
    sent = {"reads_sent_packets": 2, "reads_sent_bytes": 400, "reads_sent_prs": 12}
    sent |= {"responses_sent_packets": 4, "responses_sent_bytes": 800, "responses_sent_prs": 12}
    every = NodeFigures(
        unit, counters(SNIC_COUNTERS, **sent), 160, 32, 1, 4, {"writes": 2, "reads": 0}, 80
    )
    result = figures(every, 100)
    assert result["prs_saved"] == 8
    assert result["packets"] == 6
    assert result["header_bytes"] == 1200 - 12 * 32
    assert result["prs_per_packet_reads"] == 6
    assert result["idxs_per_cycle"] == 0.25
    assert result["idxs_per_second"] == 25e6
    assert result["register_writes_per_request"] == 0.5
    assert result["unit_prs"] == 12
    assert result["snic_reads_sent_bytes"] == 400
    rest = {"cycles", "exact", *NETWORK_FIGURES}
    assert result.keys() | rest == SpmmSession.counted.keys()
    assert not result.keys() & rest


def test_a_simulator_is_of_hardware_and_nodes():
    def hardware(**settings):
        return SpmmSession.hardware(PARAMS, SpmmWorkload(**settings))

    assert hardware(property_bytes=4) == hardware(read_delay=3)
    assert hardware(nodes=4) != hardware(nodes=4, racks=2)
    with pytest.raises(ValueError, match="from 2 to the 2 of the build: 3; --set nodes=3"):
        SpmmSession.build(hardware(nodes=3))


def test_racks_have_snics_that_know_all_their_nodes():
    assert not SpmmSession.needs(SpmmWorkload(nodes=8))
    needs = SpmmSession.needs(SpmmWorkload(nodes=8, racks=2))
    params = find_design("netsparse-snic").params_of("small", **needs)
    assert params.rig.nodes == 8


def test_measuring_runs_the_gather_and_says_whether_it_is_exact(monkeypatch, tmp_path):
    from sim.netsparse import spmm
    from sim.netsparse.gather import GatherError

    unit = counters(UNIT_COUNTERS, served=1)
    node = SimpleNamespace(
        totals=unit,
        snic=counters(SNIC_COUNTERS),
        completions=[None],
        accesses={"writes": 10, "reads": 5},
        cycles=70,
    )
    kinds = {kind: {"packets": 2, "bytes": 200} for kind in CLASSES}
    result = SimpleNamespace(
        nodes=[node, node],
        cycles=77,
        links=[kinds] * 4,
        switches=[SwitchCounts(ports=[], pipes=[])],
    )
    monkeypatch.setattr(spmm.SpmmRun, "simulate", lambda *arguments: SimpleNamespace(result=result))
    requested = SpmmWorkload(matrix="stokes:rows=64", property_bytes=16, clients=1, servers=1)
    monkeypatch.setattr(SpmmReport, "details", lambda self: {})

    def measured(failure):
        def check(self, gathered):
            if failure:
                raise failure

        monkeypatch.setattr(spmm.SpmmRun, "check", check)
        return SpmmSession(PARAMS, requested).run(None, tmp_path)

    right, wrong = measured(None), measured(GatherError("no"))
    assert right.figures["link_bytes"] == 4 * 2 * 200
    assert right.figures["tail_cycles"] == 70
    assert (right.figures["cycles"], right.figures["exact"], right.exact) == (77, 1, True)
    assert (wrong.figures["exact"], wrong.exact, wrong.difference) == (0, False, "no")


def test_a_pipe_keeps_its_rate(tmp_path):
    session = NetSparseSwitchSession(TOR, NetSparseSwitchWorkload(property_bytes=64, packets=30))
    build = session.build(session.hardware(session.params, session.requested))
    result = session.run(build, tmp_path, clock_mhz=250).figures
    print(result)
    assert result["read_prs_per_cycle"] > 0.9
    assert result["packets_per_second"] == pytest.approx(result["packets_per_cycle"] * 250e6)
    assert result.keys() == session.counted.keys()


test_refuses = refuses(
    lambda params, size: NetSparseSwitchSession(
        params, NetSparseSwitchWorkload(property_bytes=size)
    ),
    (TOR, 68, "property bytes must be a multiple of 4, from 4 to the 64 of the build: 68"),
    (TOR, 6, "from 4 to the 64 of the build: 6"),
    (SPINE, 64, "a switch without middle pipes has nothing to measure here: pipes=0"),
)
