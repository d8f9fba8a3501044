"""Compares the tail node of 128 in RTL with the model's, and checks what is said of it."""

import csv

import pytest

from sim.netsparse.reproduce import report
from sim.netsparse.reproduce.points import SHAPE_MODEL
from sim.netsparse.reproduce.requested import FIGURES, NetSparseRequest
from sim.netsparse.reproduce.runs import measured
from sim.netsparse.reproduce.tail_node_rtl import figure, points
from tests.sim.netsparse.reproduce.outcomes import Order, broken, outcome


def test_claims_compare_both_engines(tmp_path):
    outcomes = {point: outcome(point) for point in points((), False)}
    result = figure((), False, outcomes)
    assert broken(result.claims) == []
    result.write(tmp_path)
    with open(tmp_path / "tail-node-rtl.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["engine"] for row in rows] == ["RTL", "model"] * 5
    engines = [row["matrix"].partition(", ")[2] for row in result.shown]
    assert engines == ["RTL", "model", "paper"] * 5
    nodes = [str(each.tail_node) for each in outcomes.values()]
    assert [row["node"] for row in result.shown if row["node"] != "-"] == nodes
    assert "| uk, paper | - |" in result.text()
    modelled = next(point for point in outcomes if point.cluster == SHAPE_MODEL)
    for expected, text in (
        (Order(counted=1001.0), "PRs"),
        (Order(link_bytes=1.06e6), "bytes"),
        (Order(speed_up=40.0), "cycles"),
    ):
        bent = figure((), False, outcomes | {modelled: outcome(modelled, expected)})
        texts = broken(bent.claims)
        assert texts[0].startswith(text)


@pytest.mark.parametrize("quick", [False, True])
def test_only_its_name_makes_it(monkeypatch, quick):
    """A reproduction of all figures leaves out what takes hours."""
    chosen = []
    monkeypatch.setattr(
        report, "figures_of", lambda order, names, *rest: chosen.extend(names) or []
    )
    for names in (FIGURES, ("tail-node-rtl",)):
        report.reproduce(names, NetSparseRequest(), quick=quick, progress=lambda *_: None)
    left_out = {"tail-node-rtl", "calibration"} if quick else {"tail-node-rtl"}
    assert chosen == [*(name for name in FIGURES if name not in left_out), "tail-node-rtl"]


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_128_nodes_in_rtl():
    """Products are exact, and the model is as near as elsewhere.

    It takes some minutes of two free cores, as many again to build, and 5 GB of memory.
    """
    result = {point: measured(point) for point in points((), True)}
    assert broken(figure((), True, result).claims) == []
