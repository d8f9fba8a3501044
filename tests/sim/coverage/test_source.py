import pytest

from sim.coverage.data import CoverageError
from sim.coverage.nets import nets_of, worth
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


def result():
    """Return the nets of the two modules."""
    low, high = modules_of(VERILOG).values()
    nets = nets_of([high])
    return nets[low.key], nets[high.key]


def test_constant_bits():
    low, high = result()
    assert low.constant == {"y": {0, 2, 3}}
    # A register that cannot leave its value, what follows, and what an instance ties.
    assert high.constant == {"never": {0}, "masked": {0}, "y": {0}, "z": {0, 2, 3}}


def test_net_of_several_names():
    low, high = result()
    assert low.again == {"y": {1}}
    assert high.again == {"z": {1}, "rest": {0}}


def test_what_nothing_reads():
    low, high = result()
    assert low.unread == {"idle": {0, 1}}
    assert high.unread == {"rest": {1}, "clk": {0}, "spare": {0}}


def test_best_name_is_the_innermost_field():
    names = ["$1", "beat.head", "b", "beat.head.size", "beat", "_0_"]
    assert sorted(names, key=worth) == ["beat.head.size", "beat.head", "b", "beat", "$1", "_0_"]


def test_nets_come_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    nets = result()
    monkeypatch.delattr("sim.coverage.nets.analyse")
    assert result() == nets


TIED_UNDER_AN_ALIAS = """\
module tied(clk, en, x, y);
  input clk;
  input en;
  input x;
  (* init = 2'h0 *)
  output [1:0] y;
  wire [1:0] y;
  reg [1:0] held = 2'h0;
  always @(posedge clk)
    if (en) held <= { 1'h0, x };
  assign y = held;
endmodule
"""


def test_values_at_power_up_of_a_wire_disturb_nothing():
    tied = Source("tied", 0, TIED_UNDER_AN_ALIAS)
    assert nets_of([tied])[tied.key].constant == {"y": {1}, "held": {1}}


def test_rejects_what_yosys_cannot_read():
    with pytest.raises(CoverageError, match=r"Yosys cannot analyse a module: .*syntax error"):
        nets_of([Source("bad", 0, "module bad(;\nendmodule")])
