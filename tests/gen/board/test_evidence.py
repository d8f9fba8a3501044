"""Tests ``make evidence``: what enters the file, and what must not."""

import pytest

from gen.board.boards import find_board
from gen.cli import main
from gen.synth.clock_timing import ClockTiming
from gen.synth.depth import Depth
from gen.synth.evidence import read_evidence
from gen.synth.resources import Resources
from tests.gen.board.conftest import HERE, MODULES, package_of
from tests.gen.board.sample import DESIGN
from tests.gen.synth.built import REPORTS, module, synthesis_of

CORE = ClockTiming(
    name="core", mhz=250.0, module="core", depth=Depth(levels=9, most_levels=9, start="a", end="b")
)
ESTIMATE = synthesis_of(
    module("core", "Core", Resources(lut=100, ff=20), depth=CORE.depth),
    module("sample_board", "SampleBoard", Resources(lut=4), children={"core": 1}),
    clocks=(CORE,),
)
COLUMNS = "Instance|Module|Total LUTs|Logic LUTs|LUTRAMs|SRLs|FFs|RAMB36|RAMB18|URAM|DSP Blocks"
USE = f"""+--+--+
| {COLUMNS.replace("|", " | ")} |
+--+--+
| sample_board |  (top) | 150 | 150 | 0 | 0 | 30 | 0 | 0 | 0 | 0 |
|   core       |  core  | 120 | 120 | 0 | 0 | 25 | 0 | 0 | 0 | 0 |
+--+--+
"""
#: what reports and logs may have of the machine; the stand-in's timing report has the last two
SECRETS = ("/home/secret-user/", "secret-user", "secret-host")
HEAD = (
    "| Host         : secret-host running 64-bit Ubuntu\n"
    "| Command      : report -file /home/secret-user/package/reports/x.rpt\n"
    "Something of /home/secret-user/x on secret-host\n"
)


@pytest.fixture(scope="module")
def estimated(emission, tmp_path_factory):
    """Make the sample's package with an estimate."""
    folder = tmp_path_factory.mktemp("evidence") / "secret-user"
    board, described = find_board("u280"), ESTIMATE.describe()
    return package_of(emission, DESIGN, board, folder, estimate=described)


@pytest.fixture
def evidence(estimated, vivado):
    """Build the package, and return what ``make evidence`` has packed."""
    files = {name: (HERE / "vivado" / f"{name}.rpt").read_text() for name in ("cdc", "messages")}
    files["messages"] += "WARNING: [Other 1-1] in /home/secret-user/x [/home/secret-user/x.v:1]\n"
    flat = (REPORTS / "flat.rpt").read_text()
    files |= {"utilization": flat, "utilization_hierarchical": USE}
    reports = " ".join(f"{name} {{{HEAD}{text}}}" for name, text in files.items())
    for target in ("bitstream", "evidence"):
        result, _ = vivado(estimated, target, modules=MODULES, reports=reports)
        assert result.returncode == 0, result.stderr
    return estimated / "build" / "evidence.txt"


def test_a_build_s_reports_and_estimate_come_back(evidence, monkeypatch, capsys):
    text = evidence.read_text()
    for secret in (*SECRETS, "Command", "Ubuntu"):
        assert secret not in text
    read = read_evidence(evidence)
    assert (read.package["design"], read.vivado) == ("sample", "2022.1.1")
    assert read.synthesis.clocks == (CORE,)
    assert read.clocks["core"] == "clk_out1_clocking"
    assert read.findings == {
        "check_timing": ("5. checking no_input_delay (1)", "6. checking no_output_delay (1)"),
        "findings on clock crossings": ("CDC-3  Info          1", "CDC-6  Warning       1"),
        "findings on methodology": ("TIMING-18 | Warning | 1",),
        "messages of the runs": (
            "2 CRITICAL WARNING Constraints 18-1056",
            "2 CRITICAL WARNING Vivado 12-4739",
            "2 WARNING Other 1-1",
        ),
    }
    monkeypatch.setattr("sys.argv", ["ingather", "import-reports", str(evidence)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "100 > 120 (1.20)" in out
    assert "9 > 3" in out
    assert "core: the estimate has 9 levels of 8, so that it should be missed; Vivado has" in out
    assert "2 CRITICAL WARNING Vivado 12-4739" in out


def test_a_build_that_ended_early_has_what_there_is(copy, vivado, monkeypatch, capsys):
    result, _ = vivado(copy, "bitstream", modules=MODULES, failing="synth_1 synth_1")
    assert result.returncode == 2
    result, _ = vivado(copy, "evidence", modules=MODULES)
    assert result.returncode == 0, result.stderr
    path = copy / "build" / "evidence.txt"
    monkeypatch.setattr("sys.argv", ["ingather", "import-reports", str(path)])
    with pytest.raises(SystemExit):
        main()
    out = capsys.readouterr().out
    assert "there is no report of timing: the build ended before" in out
    assert "the package has no estimate" in out


def test_without_a_project_there_is_none(copy, vivado):
    result, _ = vivado(copy, "evidence", modules=())
    assert "there is no project; make bitstream first" in result.stderr


def test_a_path_that_enters_ends_it(copy, vivado):
    (copy / "estimate.json").write_text(f'{{"x": "{copy}"}}')
    vivado(copy, "project", modules=MODULES)
    result, _ = vivado(copy, "evidence", modules=MODULES)
    assert result.stderr.startswith(f"ERROR: evidence would have the path {copy}")
    assert not (copy / "build" / "evidence.txt").exists()
