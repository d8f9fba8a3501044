import io

from rich.console import Console

from gen.synth.comparison import compare
from gen.synth.comparison_report import comparison_report
from gen.synth.depth import Depth
from gen.synth.report import WIDTH
from gen.synth.vivado_timing import VivadoTiming
from tests.gen.synth.test_comparison import ENGINE, hierarchical

TIMING = VivadoTiming(wns=-0.2, tns=-4.0, source="a/C", destination="b/D", levels=8, cells="LUT6=8")


def text_of(timing):
    rows = compare(ENGINE, hierarchical().instances)
    made = Console(file=io.StringIO(), width=WIDTH)
    made.print(
        comparison_report(rows, rows[-1], Depth(levels=7, chains=1, start="s", end="e"), timing)
    )
    return made.file.getvalue()


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
