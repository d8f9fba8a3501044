import io
from dataclasses import replace

import pytest
from rich.console import Console

from gen.synth.clock_timing import ClockTiming
from gen.synth.depth import Depth
from gen.synth.device import U280
from gen.synth.fan_out import Net
from gen.synth.paper import p4sgd
from gen.synth.report import WIDTH, console, depth_text, report
from gen.synth.resources import Resources
from tests.gen.synth.built import memory, module, synthesis_of, worker


def text_of(synthesis, comparisons=None):
    text = io.StringIO()
    Console(file=text, width=WIDTH).print(report(synthesis, U280, comparisons))
    return text.getvalue()


DEEP = Depth(levels=5, chains=1, carry=38, start="a.b[3]", end="c", most_levels=6, rings=2)
SMALL = synthesis_of(
    module(
        "leaf",
        "Leaf",
        Resources(lut=1_234, ff=5),
        count=3,
        depth=DEEP,
        memory=memory(72, 4096, "ultra", "bram"),
    ),
    module("top", "Top", Resources(uram=7), children={"leaf": 3}),
)


def test_modules_are_multiplied_and_summed():
    rows = {line.split()[1]: line for line in text_of(SMALL).splitlines() if line[:1] == "│"}
    assert "1,234" in rows["leaf"]
    assert "3,702" in rows["leaf"]
    assert "5+1 (38)" in rows["leaf"]
    assert "3,702" in rows["total"]


def test_the_device_and_its_slrs_in_per_cent():
    rows = {line.split()[1]: line for line in text_of(SMALL).splitlines() if line[:1] == "│"}
    assert rows["SLR1"].split()[1:6] == ["SLR1", "│", "432,000", "│", "0.9"]
    assert "2.2" in rows["SLR1"]  # 7 of 320 URAM
    assert "SLR2" in rows


def test_what_must_not_be_missed_is_a_line_each():
    text = text_of(SMALL)
    assert "from a.b[3] to c" in text
    assert "most on any path: 6 LUT levels" in text
    assert "leaf: 2 arcs close combinational rings" in text
    assert "not mapped as intended: leaf.words, 4096 x 72, asked for ultra, became bram" in text
    assert "fits u280 with the shell" in text


def test_what_does_not_fit_is_reported():
    text = text_of(synthesis_of(module("top", "Top", Resources(uram=961))))
    assert "does not fit u280: URAM needs 961, 960 are free, 1 too many" in text
    assert "fits u280 with the shell" not in text


def with_top(depth, *crowded, mhz=250.0):
    top = module("top", "Top", depth=depth, crowded=crowded)
    clock = ClockTiming(name="hbm", mhz=mhz, module="top", depth=depth)
    idle = ClockTiming(name="idle", mhz=100.0)
    return text_of(synthesis_of(top, clocks=(clock, idle)))


@pytest.mark.parametrize(("mhz", "most"), [(250.0, 8), (300.0, 6), (322.265625, 6), (450.0, 4)])
def test_each_clock_has_a_limit_of_its_own(mhz, most):
    path = Depth(levels=1, start="a", end="c", most_levels=most, most_chains=1)
    text = with_top(path, mhz=mhz)
    assert "keeps the limits of levels, carry chains and fan-out\n" in text
    text = with_top(replace(path, most_levels=most + 1), mhz=mhz)
    line = f"{most + 1} levels on a path of clock hbm, {most} are the most at {mhz:g} MHz"
    assert f"too slow: {line}; top: a to c" in text


def test_clocks_stand_in_a_table():
    text = with_top(Depth(levels=3, start="a", end="c", most_levels=5), mhz=450.0)
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines()]
    assert ["hbm", "450", "2.222", "4", "5", "top: a to c"] in rows
    assert ["idle", "100", "10.000", "21", "-", ""] in rows


def test_each_limit_that_is_passed_is_a_line():
    net = Net(driver="part.reset", loads=1_001)
    text = with_top(Depth(levels=9, end="c", most_levels=9, most_chains=2), net)
    assert "too slow: 9 levels on a path of clock hbm, 8 are the most at 250 MHz" in text
    assert "too slow: 2 carry chains on a path, 1 is the most" in text
    assert "too slow: 1,001 loads at part.reset of top, 1,000 are the most" in text
    assert "keeps the limits" not in text


def test_the_widest_reset_is_a_line():
    net = Net(driver="sync_reset.reset", registered=True, loads=9, resets=2_345)
    top = module("top", "Top")
    text = text_of(synthesis_of(top, replace(top, name="board", reset=net)))
    assert "most registers that a wire resets: 2,345, by sync_reset.reset of board" in text
    assert "resets" not in text_of(synthesis_of(top))


def test_the_papers_figures_stand_beside_our_own():
    text = text_of(worker(8), p4sgd(worker(8)))
    assert "paper: LUT K" in text
    assert "904" in text
    assert "148.5" in text


def test_depth_in_short():
    assert depth_text(Depth()) == "-"
    assert depth_text(Depth(levels=3, end="x")) == "3+0"


def test_pipes_are_wide_enough(capsys):
    assert console().width == WIDTH
