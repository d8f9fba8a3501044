"""Shows that each clause of a tree's rule is needed: without it something goes wrong."""

import pytest

from tests.protocol.allreduce.network import Tree
from tests.protocol.allreduce.nodes import FAULTS, PARTIAL_AS_FULL
from tests.protocol.allreduce.tree_variants import HARMLESS, UNSOUND
from tests.protocol.explore import check


@pytest.mark.parametrize("name", UNSOUND)
def test_each_clause_is_needed(name):
    # A full activation that the root sends too early is a fault once a worker accepts it.
    variant = UNSOUND[name]
    tree = Tree(rules=variant.rules, watched=FAULTS - {PARTIAL_AS_FULL})
    check(name, tree.system(), variant.fault, variant.steps)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_variants_are_sound(name):
    check(name, Tree(rules=HARMLESS[name].rules).system())
