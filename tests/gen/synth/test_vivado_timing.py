from pathlib import Path

import pytest

from gen.base.errors import UserError
from gen.synth.vivado_timing import read_timing, timing_of

REPORT = Path(__file__).parent / "reports" / "timing.rpt"


def test_slack_and_the_worst_setup_path():
    timing = read_timing(REPORT)
    assert (timing.wns, timing.tns) == (-0.213, -4.817)
    assert timing.path.source == "core/forward/in_batch_reg[9]/C"
    assert timing.path.destination == "core/word_fifo/stored_reg[9]/D"
    assert timing.path.levels == 8
    assert timing.path.cells == "CARRY8=2 LUT4=1 LUT6=5"


def test_levels_without_cells_are_of_their_own_path(tmp_path):
    path = tmp_path / "met.rpt"
    path.write_text(REPORT.read_text().replace("(VIOLATED) :        -0.213", "(MET) :  0.300"))
    timing = read_timing(path)
    assert timing.path.source == "shell/inst/a_reg/C"
    assert (timing.path.levels, timing.path.cells) == (0, "")


def test_a_summary_alone_has_no_path(tmp_path):
    path = tmp_path / "short.rpt"
    path.write_text(REPORT.read_text().partition("Max Delay Paths")[0])
    timing = read_timing(path)
    assert timing.path is None
    assert timing.wns == -0.213


def test_a_path_is_not_read_into_the_next(tmp_path):
    path = tmp_path / "cut.rpt"
    cut = "  Logic Levels:           8  (CARRY8=2 LUT4=1 LUT6=5)\n"
    assert cut in REPORT.read_text()
    path.write_text(REPORT.read_text().replace(cut, ""))
    assert read_timing(path).path.source == "shell/inst/a_reg/C"


def test_another_kind_of_timing_file():
    with pytest.raises(UserError, match="is no timing summary"):
        read_timing(REPORT.with_name("flat.rpt"))


def test_each_clock_has_its_slack_and_its_worst_path():
    timing = read_timing(REPORT)
    assert list(timing.clocks) == ["core_clk", "hbm_clk"]
    core, hbm = timing.clocks.values()
    assert (core.wns, core.failing, core.path.levels, core.path.delay) == (-0.213, 61, 8, 4.101)
    assert core.path == timing.path
    assert (hbm.wns, hbm.failing, hbm.path.source) == (0.105, 0, "shell/inst/a_reg/C")


def test_a_path_between_clocks_is_of_neither():
    crossed = REPORT.read_text().replace("FDRE clocked by core_clk", "FDRE clocked by hbm_clk", 1)
    assert timing_of(crossed, "x").clocks["core_clk"].path is None
