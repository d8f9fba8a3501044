"""Checks that what occurs often is linted once."""

import pytest

from gen.base.emission.emit import emit
from sim.harness import lint as linting
from sim.harness.build_tools import BuildError
from sim.harness.lint import lint, parts
from tests.sim.harness.components import RegisterParams, StreamChain, StreamRegister


@pytest.fixture
def chain(monkeypatch):
    monkeypatch.setattr(linting, "ONCE", 1)
    return emit(StreamChain(RegisterParams()))


def test_copies_are_shells_where_they_stand(chain):
    (alone, whole), (top, shells) = parts(chain)
    assert (alone, top) == ("stream_register_8", "stream_chain_8")
    assert whole["stream_register_8"] == chain.modules["stream_register_8"].verilog
    assert "assign o_valid = 0;" in shells["stream_register_8"]
    assert shells["stream_chain_8"] == chain.top.verilog
    lint(chain)


def test_a_small_design_is_looked_at_whole():
    emission = emit(StreamChain(RegisterParams()))
    assert [(top, len(texts)) for top, texts in parts(emission)] == [("stream_chain_8", 2)]


@pytest.mark.parametrize("name", ["stream_register_8", "stream_chain_8"])
def test_a_warning_is_detected_inside_and_outside(chain, name):
    module = chain.modules[name]
    module.verilog = module.verilog.replace("endmodule", "wire [1:0] w; assign w = 4'd9; endmodule")
    with pytest.raises(BuildError, match="WIDTHTRUNC"):
        lint(chain)


def test_one_register_is_one_part():
    assert len(list(parts(emit(StreamRegister(RegisterParams()))))) == 1


def test_what_was_accepted_is_not_looked_at_again(chain, monkeypatch):
    lint(chain)
    monkeypatch.delattr(linting, "execute")
    lint(chain)
    chain.top.verilog += "// another"
    with pytest.raises(NameError):
        lint(chain)
