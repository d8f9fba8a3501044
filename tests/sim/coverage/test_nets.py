import pytest

from sim.coverage.data import CoverageError
from sim.coverage.nets import nets_of, worth
from sim.coverage.source import Source, modules_of
from tests.sim.coverage.test_source import VERILOG


def found():
    """Return the nets of the two modules."""
    low, high = modules_of(VERILOG).values()
    nets = nets_of([high])
    return nets[low.key], nets[high.key]


def test_constant_bits():
    low, high = found()
    assert low.constant == {"y": {0, 2, 3}}
    # A register that cannot leave its value, what follows, and what an instance ties.
    assert high.constant == {"never": {0}, "masked": {0}, "y": {0}, "z": {0, 2, 3}}


def test_net_of_several_names():
    low, high = found()
    assert low.again == {"y": {1}}
    assert high.again == {"z": {1}, "rest": {0}}


def test_what_nothing_reads():
    low, high = found()
    assert low.unread == {"idle": {0, 1}}
    assert high.unread == {"rest": {1}, "clk": {0}, "spare": {0}}


def test_best_name_is_the_innermost_field():
    names = ["$1", "beat.head", "b", "beat.head.size", "beat", "_0_"]
    assert sorted(names, key=worth) == ["beat.head.size", "beat.head", "b", "beat", "$1", "_0_"]


def test_nets_come_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    nets = found()
    monkeypatch.delattr("sim.coverage.nets.analyse")
    assert found() == nets


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
