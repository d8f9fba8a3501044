"""Makes a file of evidence of a small build."""

import json

from gen.synth.clock_timing import ClockTiming
from gen.synth.depth import Depth
from gen.synth.resources import Resources
from tests.gen.synth.built import REPORTS, module, synthesis_of

SYNC = ClockTiming(
    name="sync",
    mhz=250.0,
    module="core",
    depth=Depth(levels=7, most_levels=7, chains=1, start="a", end="b"),
)
HBM = ClockTiming(name="hbm", mhz=450.0)
ESTIMATE = synthesis_of(
    module("bank", "Bank", Resources(lut=10, ff=4), count=2, depth=SYNC.depth),
    module("engine_8x8", "Engine", Resources(lut=100), children={"bank": 2}),
    clocks=(SYNC, HBM),
)
PACKAGE = {"design": "p4sgd-engine", "preset": "tiny", "settings": {}, "tools": {"ingather": "1"}}


def packed(estimate=ESTIMATE, **parts):
    """Return a file of evidence as text, and its parts."""
    described = estimate.describe() if estimate else None
    parts = {
        "package": json.dumps(PACKAGE | {"estimate": described}),
        "vivado": "2022.1.1",
        "card_clocks": "sync core_clk",
        "check_timing": "1. checking no_clock (0)\n2. checking loops (3)",
        "timing": (REPORTS / "timing.rpt").read_text().rstrip(),
        "utilization_hierarchical": (REPORTS / "hierarchical.rpt").read_text().rstrip(),
        "messages": "",
        **parts,
    }
    text = "ingather evidence 1\n"
    text += "".join(f"== {name}\n{body}\n" for name, body in parts.items() if body is not None)
    return f"{text}== end {text.count(chr(10))}\n"
