"""Checks that the rows of NetSparse's benches hold what is measured to the limits."""

from types import SimpleNamespace

import pytest

from hdl.netsparse.protocol import Kind
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.netsparse.bench import gather
from sim.netsparse.bench.depth import row
from sim.netsparse.bench.pending_table import held
from sim.netsparse.bench.switch import HARDWARE, ideal, latency_rows, rate_rows


def module(component, levels):
    return {"component": component, "depth": {"most_levels": levels}}


def test_a_row_holds_the_deepest_module_to_the_limit():
    for levels, holds in ((8, True), (9, False)):
        modules = [module("Crossbar", 3), module("Concatenator", levels), module("Fifo", 1)]
        result = row("small", {"modules": modules, "depth": {"most_levels": levels}})
        assert (result.value, result.holds) == (levels, holds)
        assert result.note.startswith("in Concatenator,")


def test_the_hardware_has_room_for_its_rows():
    rig = gather.HARDWARE.rig
    assert gather.ROWS * rig.most_property_bytes < 1 << rig.address_bits


def test_marks():
    assert gather.LEAST_PIPELINE.holds(0.95)
    assert not gather.LEAST_PIPELINE.holds(0.949)
    assert not gather.ALIGNED.holds(6)


def test_reads_of_a_node_are_those_of_its_clients():
    nodes = [
        SimpleNamespace(totals={"table_stall": stalls}, snic={"cycles": 100}) for stalls in (0, 400)
    ]
    row = gather.reads_row("exchange, 4 B", nodes)
    assert row.value == 4 * gather.HARDWARE.rig.pending_entries == 1024
    assert "before 256; clients wait for one to end in 50% of all cycles" in row.note


SIZES = {"lut": 1_821, "lutram": 544, "ff": 827}


def figures(entries=256, **sizes):
    return {
        "parameters": {"rig": {"pending_entries": entries}},
        "modules": [
            {"component": "PendingWay"},
            {"component": "PendingTable", "inclusive": SIZES | sizes},
        ],
    }


def test_more_entries_in_less_area():
    assert [row.value for row in held(figures())] == [256, 1_821, 544, 827]
    assert all(row.holds for row in held(figures()))


@pytest.mark.parametrize("worse", [{"entries": 128}, {"lut": 2_101}, {"ff": 2_436}])
def test_what_a_table_must_keep(worse):
    assert sum(not row.holds for row in held(figures(**worse))) == 1


@pytest.mark.parametrize(
    ("kind", "size", "rate"),
    [
        (Kind.READ, 64, 1),  # 79 PRs in 24 beats
        (Kind.RESPONSE, 4, 1),  # 65 in 24
        (Kind.RESPONSE, 64, 17 / 23),  # 17 of 82 bytes and 64, in 23
        (Kind.RESPONSE, 512, 2 / 18),
    ],
)
def test_ideal_is_a_pr_or_a_beat_a_cycle(kind, size, rate):
    assert ideal(kind, size) == rate


def test_rows_hold_what_is_measured_to_the_limits():
    names = ("read", "hit", "response")
    rates = {f"{name}_prs_per_cycle": 0.7 for name in names}
    assert [row.holds for row in rate_rows(rates, 64)] == [False, False, False]
    rates |= {"read_prs_per_cycle": 0.96, "hit_prs_per_cycle": 0.73}
    assert [row.holds for row in rate_rows(rates, 64)] == [True, True, False]
    expected = NetSparseSwitch(HARDWARE).latencies
    for late, holds in ((2, True), (3, False)):
        result = {f"{name}_latency_cycles": expected[name] + late for name in names}
        assert [row.holds for row in latency_rows(result)] == [holds] * 3
