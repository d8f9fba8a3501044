import io
import json

import pytest
from rich.console import Console

from gen.synth.comparison import compare, compare_totals, comparison_report, describe, module_of
from gen.synth.depth import Depth
from gen.synth.report import WIDTH
from gen.synth.resources import Resources
from gen.synth.vivado import Placed, read_utilization
from gen.synth.vivado_timing import VivadoPath, VivadoTiming
from tests.gen.synth.built import REPORTS, module, synthesis_of

ENGINE = synthesis_of(
    module("tree_8x32", "Tree", Resources(lut=100, ff=50), count=2),
    module("bank_8x8", "Bank", Resources(lut=60), count=2, children={"tree_8x32": 1}),
    module("fifo_8x16", "Fifo", Resources(lut=4, lutram=8)),
    module("gone", "Gone", Resources(lut=1)),
    module("engine_8x8", "Engine", Resources(lut=8_675), children={"bank_8x8": 2, "fifo_8x16": 1}),
)


def test_modules_are_detected_under_the_names_that_vivado_makes():
    rows = {row.module: row for row in compare(ENGINE, hierarchical().instances)}
    assert list(rows) == ["tree_8x32", "bank_8x8", "fifo_8x16", "engine_8x8"]
    bank = rows["bank_8x8"]
    assert (bank.count, bank.listed) == (2, 2)
    assert bank.estimate == Resources(lut=160, ff=50)
    assert bank.vivado.lut == 102  # the mean of 100 and 103, to even
    assert bank.ratios["ff"] == 4.0
    assert bank.ratios["dsp"] is None
    assert rows["fifo_8x16"].vivado.lutram == 16


def hierarchical():
    return read_utilization(REPORTS / "hierarchical.rpt")


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("fifo_8", "fifo_8"),
        ("fifo_8_1", "fifo_8_1"),
        ("fifo_8_12", "fifo_8"),
        ("fifo_8_1_3", "fifo_8_1"),
        ("fifo_8__parameterized0", "fifo_8"),
        ("fifo_8__xdcDup__1", "fifo_8"),
        ("fifo_8x", None),
        ("my_fifo_8", None),
    ],
)
def test_the_longest_name_wins(name, module):
    assert module_of(name, ["fifo_8", "fifo_8_1"]) == module


def test_the_total_is_of_the_top_and_not_of_the_board():
    report = hierarchical()
    total = compare_totals(ENGINE, compare(ENGINE, report.instances), [report])
    assert total.vivado.lut == 9000
    assert total.ratios["lut"] == 1.0


def test_the_top_of_a_design_built_alone_is_detected():
    use = Resources(lut=5)
    (row,) = compare(ENGINE, [Placed(path="engine_8x8", module="(top)", use=use)])
    assert (row.module, row.vivado) == ("engine_8x8", use)


def test_a_flat_report_gives_the_total():
    report = read_utilization(REPORTS / "flat.rpt")
    total = compare_totals(ENGINE, [], [report])
    assert total.vivado.uram == 66
    assert compare_totals(ENGINE, [], []) is None


def test_it_is_json():
    rows = compare(ENGINE, hierarchical().instances)
    content = json.loads(json.dumps(describe(rows, rows[-1], None)))
    assert content["total"]["ratios"]["lut"] == 1.0
    assert [row["module"] for row in content["modules"]] == [row.module for row in rows]


PATH = VivadoPath(
    slack=-0.2, source="a/C", destination="b/D", clock="c", delay=4.1, levels=8, cells="LUT6=8"
)
TIMING = VivadoTiming(wns=-0.2, tns=-4.0, path=PATH)


def text_of(timing):
    rows = compare(ENGINE, hierarchical().instances)
    built = Console(file=io.StringIO(), width=WIDTH)
    built.print(
        comparison_report(rows, rows[-1], Depth(levels=7, chains=1, start="s", end="e"), timing)
    )
    return built.file.getvalue()


def test_estimate_and_vivado_stand_side_by_side():
    rows = {line.split()[1]: line for line in text_of(None).splitlines() if line[:1] == "│"}
    assert "160 > 102 (0.64)" in rows["bank_8x8"]
    assert "0 > 32" in rows["bank_8x8"]
    assert "8,999 > 9,000 (1.00)" in rows["total"]
    assert "WNS" not in text_of(None)


def test_timing_is_of_both():
    text = text_of(TIMING)
    assert "timing missed: WNS -0.200 ns, TNS -4.000 ns" in text
    assert "8 logic levels (LUT6=8), from a/C to b/D" in text
    assert "7 LUT levels and 1 carry chains, from s to e" in text
