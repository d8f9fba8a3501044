"""Tests what caches in egress pipes would add, of counters that a test makes up."""

from dataclasses import replace

from sim.netsparse.reproduce import egress_cache
from sim.netsparse.reproduce.egress_load import EgressLoad, egress_load
from sim.netsparse.switch_counts import SwitchCounts
from sim.reproduce.report import holding
from tests.sim.netsparse.reproduce.outcomes import FEW, Order, outcome


def port(*figures):
    ways = ("reads_in", "responses_in", "reads_out", "responses_out")
    return dict(zip((f"{way}_bytes" for way in ways), figures, strict=True))


def switch(pipes):
    """A switch of two nodes and two uplinks."""
    ports = [port(100, 0, 0, 500), port(60, 0, 0, 100), port(0, 400, 70, 10), port(0, 30, 40, 5)]
    return SwitchCounts(ports=ports, pipes=[{"cache_hit": 3}] * pipes)


def test_responses_of_uplinks_are_mirrored_and_hits_are_recirculated():
    each = egress_load([switch(4)], 2, 64)
    assert (each.entered, each.mirrored, each.recirculated) == (590, 430, 4 * 3 * (18 + 64))
    assert (each.busiest, each.busiest_mirrored) == (500, 500)  # of a node; 480 by uplink 2
    assert each.crossbar == 1 + (430 + 984) / 590
    shared = egress_load([switch(2), switch(2)], 2, 64)
    assert (shared.busiest, shared.busiest_mirrored) == (580, 980)  # of node 0 and uplink 2
    assert shared.pipe == 980 / 580


def test_without_middle_pipes_each_port_has_an_egress_pipe():
    assert egress_load([switch(0)], 2, 64) == replace(
        egress_load([switch(4)], 2, 64), recirculated=0
    )


def test_the_figure_shows_what_is_added_and_judges_nothing():
    load = EgressLoad(entered=100, mirrored=50, recirculated=0, busiest=10, busiest_mirrored=15)
    points = egress_cache.points(FEW, quick=False)
    result = {point: outcome(point, Order(egress=load)) for point in points}
    drawn = egress_cache.figure(FEW, False, result)
    assert drawn.shown[0]["busiest egress pipe"] == "x 1.50"
    assert drawn.shown[0]["crossbar"] == "x 1.50"
    assert "statement" not in drawn.text()
    assert holding(drawn.claims) == "none is judged"
