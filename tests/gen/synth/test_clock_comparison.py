"""Compares clocks that both have, that one of both has, and that none has."""

import io

import pytest
from rich.console import Console

from gen.synth.clock_comparison import clocks_table, compare_clocks, differences
from gen.synth.report import WIDTH
from gen.synth.vivado_timing import VivadoClock, VivadoTiming
from tests.gen.synth.packed import HBM, SYNC

MET, MISSED = (
    VivadoClock(wns=wns, failing=failing, path=None) for wns, failing in ((0.1, 0), (-1.0, 1_234))
)


def rows_of(**clocks):
    return compare_clocks((SYNC, HBM), VivadoTiming(wns=0, tns=0, path=None, clocks=clocks), {})


@pytest.mark.parametrize(
    ("clocks", "lines"),
    [
        ({"sync": MET}, ["estimate and Vivado agree on which clocks are met"]),
        (
            {"sync": MISSED},
            ["sync: the estimate has 7 levels of 8, so that it should be met"],
        ),
        (
            {"hbm": MET},
            [
                "sync: the estimate has paths and Vivado has none",
                "hbm: Vivado has paths and the estimate has none",
            ],
        ),
    ],
)
def test_what_both_disagree_on(clocks, lines):
    reported = [
        line.partition("; Vivado has -1.000 ns")[0] for line in differences(rows_of(**clocks))
    ]
    assert reported == lines


def test_the_table_has_a_dash_for_what_is_not_there():
    built = Console(file=io.StringIO(), width=WIDTH)
    built.print(clocks_table(rows_of(sync=MISSED)))
    sync, hbm = (line for line in built.file.getvalue().splitlines() if line[:1] == "│")
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in (sync, hbm)]
    assert cells[0][:6] == ["sync", "250", "7 > -", "3.550 > 5.000", "0.450 > -1.000", "1,234"]
    assert cells[1] == ["hbm", "450", "- > -", "- > -", "- > -", "-", "- > -"]
