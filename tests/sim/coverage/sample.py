"""Writes a folder of coverage runs of one small module by hand."""

import json

from sim.coverage.exclusions import Rule
from sim.harness.coverage_runs import design_of

COMPONENT = "hdl.common.gate.Gate"
VERILOG = """\
module gate_2(clk, open, level);
  input clk;
  wire clk;
  input open;
  wire open;
  output [1:0] level;
  reg [1:0] level = 2'h0;
  wire still;
  always @(posedge clk) begin
    if (open)
      level <= level + 1'h1;
  end
  assign still = 1'h0;
endmodule
"""
AHEAD = "module other();\nendmodule\n\n"  #: stands before it in the file


def line_of(text):
    return 1 + (AHEAD + VERILOG).splitlines().index(text)


def record(page, line, column, what, hits, lines=""):
    fields = {"f": "design.v", "l": line, "n": column, "t": page, "page": f"v_{page}/gate_2"}
    fields |= {"o": what} | ({"S": lines} if lines else {}) | {"h": "TOP.gate_2"}
    return "C '" + "".join(f"\1{key}\2{value}" for key, value in fields.items()) + f"' {hits}\n"


def toggles(signal, line, rises, falls):
    edges = {"0->1": rises, "1->0": falls}
    return "".join(record("toggle", line, 3, f"{signal}:{e}", n) for e, n in edges.items())


WIDE = ("1'h1", "2'h1")  #: what a size of another width has


def coverage_dat(opened, closed, top_bit):
    """Return what Verilator writes after a run with this many hits."""
    at = line_of("    if (open)")
    return (
        "# SystemC::Coverage-3\n"
        + toggles("open", 5, opened, opened)
        + toggles("level[0]", 6, opened, opened)
        + toggles("level[1]", 6, top_bit, 0)
        + toggles("still", 8, 0, 0)
        + toggles("__0241", 8, 0, 0)
        + record("line", at - 1, 3, "block", 9, f"{at - 1}")
        + record("branch", at, 5, "if", opened, f"{at}-{at + 1}")
        + record("branch", at, 6, "else", closed)
        + record("line", line_of("  reg [1:0] level = 2'h0;"), 15, "block", 1, "9")
    )


def write_run(runs, name, data, test="tests/hdl/common/test_gate.py::test_gate", written=("", "")):
    """Write a run's folder in a folder of coverage runs, and the Verilog that it was of.

    In both the first of ``written`` is replaced by the second.
    """
    design = design_of(runs, name)
    design.parent.mkdir(parents=True, exist_ok=True)
    design.write_text((AHEAD + VERILOG).replace(*written))
    folder = runs / name
    folder.mkdir(parents=True)
    (folder / "coverage.dat").write_text(data.replace(*written))
    module = "gate_2".replace(*written)
    about = {"top": "bench", "design": name, "components": {module: COMPONENT}, "test": test}
    (folder / "about.json").write_text(json.dumps(about))


def rule(**choices):
    """Return a rule that excludes what ``choices`` say."""
    about = {"component": "*", "what": "example", "reason": "to see it work"}
    return Rule(**about, **choices)
