"""Compares the tail node of 128 in RTL with the model's, and checks what is said of it."""

import csv

import pytest

from sim.netsparse.reproduce.points import SHAPE_MODEL
from sim.netsparse.reproduce.report import OF_RUNS
from sim.netsparse.reproduce.runs import measured
from sim.netsparse.reproduce.tail_node_rtl import figure, points
from tests.sim.netsparse.reproduce.outcomes import Order, broken, outcome


def test_claims_compare_both_engines(tmp_path):
    result = {point: outcome(point) for point in points((), False)}
    made = figure((), False, result)
    assert broken(made.claims) == []
    made.write(tmp_path)
    with open(tmp_path / "tail-node-rtl.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["engine"] for row in rows] == ["RTL", "model"] * 5
    assert [row["matrix"].partition(",")[2] for row in made.shown] == [" RTL", " model", " paper"] * 5
    modelled = next(point for point in result if point.cluster == SHAPE_MODEL)
    for expected, text in (
        (Order(counted=1001.0), "PRs"),
        (Order(link_bytes=1.06e6), "bytes"),
        (Order(speed_up=40.0), "cycles"),
    ):
        bent = figure((), False, result | {modelled: outcome(modelled, expected)})
        texts = broken(bent.claims)
        assert texts[0].startswith(text)
