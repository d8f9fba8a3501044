"""Tests that a part is not called as one of its own signals is."""

import pytest

from gen.base.emission.emit import emit
from gen.base.emission.hidden_names import refuse_hidden
from tests.gen.sample import Leaf, LeafParams, Pair, PairParams

PARENT = "module top(\n);\n    leaf word (.x(a));\n    leaf other (\n    );\nendmodule\n"


@pytest.mark.parametrize(
    "declared",
    ["input wire word", "output reg [7:0] word", "wire signed [3:0] word;", "reg word = 1'h1;"],
)
def test_a_signal_that_hides_its_part_is_refused(declared):
    with pytest.raises(ValueError, match="called word, and leaf has a signal word itself"):
        refuse_hidden(PARENT, [("leaf", f"module leaf(\n    {declared}\n")])


@pytest.mark.parametrize("declared", ["wire words;", "wire x = word;", "assign word = x;", ""])
def test_other_names_are_not(declared):
    refuse_hidden(PARENT, [("leaf", f"module leaf(\n    {declared}\n"), ("none", "wire word;")])


def test_the_emitter_refuses_it():
    class Hiding(Pair):
        def build(self, m):
            m.submodules.b = leaf = Leaf(LeafParams())
            m.d.comb += [leaf.a.eq(self.x), self.y.eq(leaf.b)]

    with pytest.raises(ValueError, match="a part is called b, and leaf_4 has a signal b itself"):
        emit(Hiding(PairParams()))
