from sim.coverage.source import Source, modules_of

VERILOG = """\
module low(x, y, idle);
  input x;
  input [1:0] idle;
  output [3:0] y;
  assign y = { 2'h0, x, 1'h1 };
endmodule

module \\high.one (clk, x, y);
  input clk;
  input x;
  output [1:0] y;
  wire [3:0] z;
  reg never = 1'h0;
  wire masked;
  wire [1:0] rest;
  wire spare;
  low inner (
    .idle({ masked, spare }),
    .x(x),
    .y(z)
  );
  always @(posedge clk)
    if (x) never <= 1'h0;
  assign masked = x & never;
  assign y = { z[1], masked };
  assign rest = { ~x, z[1] };
  assign spare = ~z[1];
endmodule
"""


def test_modules_and_where_they_start():
    low, high = modules_of(VERILOG).values()
    assert (low.name, low.start, high.name, high.start) == ("low", 0, "high.one", 7)
    assert low.lines[1] == "module low(x, y, idle);"
    assert high.lines[-1] == "endmodule"
    assert (low.parts, high.parts) == ((), (low,))


def test_key_changes_with_the_parts():
    key = modules_of(VERILOG)["high.one"].key
    assert modules_of("\n" + VERILOG)["high.one"].key == key
    assert modules_of(VERILOG.replace("2'h0", "2'h1"))["high.one"].key != key


def test_bodies_differ_in_no_name():
    longer = VERILOG.replace("low", "lower").replace("high.one", "high.two")
    first, second = modules_of(VERILOG), modules_of(longer)
    assert first["high.one"].body == second["high.two"].body
    assert first["low"].body == second["lower"].body != first["high.one"].body
    assert "yellow" in Source("low", 0, "module low(yellow);").body
