"""Shows that each clause of a tree's rule is needed: without it something goes wrong."""

import pytest

from tests.protocol.explore import STUCK, explore
from tests.protocol.tree.network import Tree
from tests.protocol.tree.nodes import FREED_EARLY, WRONG_SUM
from tests.protocol.tree.variants import HARMLESS, UNSOUND

#: What goes wrong first, after how many steps: two leaves with two workers each, w = 1.
EXPECTED = {
    "own sum goes down": (WRONG_SUM, 5),
    "own sum answers repetitions": (WRONG_SUM, 6),
    "own word goes down": (FREED_EARLY, 16),
    "own word answers repetitions": (FREED_EARLY, 17),
    "incomplete sum goes up": (WRONG_SUM, 10),
    "incomplete acknowledgement goes up": (FREED_EARLY, 22),
    "next use before the parent's word": (FREED_EARLY, 43),
    "full activation of the use before kept": (WRONG_SUM, 5),
    "word of the use before kept": (FREED_EARLY, 16),
    "sum not sent up again": (STUCK, 4),
    "acknowledgement not sent up again": (STUCK, 15),
    "repeated partial not answered": (STUCK, 11),
    "repeated acknowledgement not answered": (STUCK, 23),
    "acknowledgement of the use before dropped": (STUCK, 26),
    "full activation not kept": (STUCK, 1),
    "parent's word not kept": (STUCK, 1),
    "parent's packets of any use": (WRONG_SUM, 31),
    "full activation by any port": (WRONG_SUM, 6),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_each_clause_is_needed(name):
    found = explore(Tree().system(UNSOUND[name]))
    print(f"{name}: {found}")
    assert (found.fault, len(found.trace)) == EXPECTED[name], str(found)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_variants_are_sound(name):
    found = explore(Tree().system(HARMLESS[name]))
    print(f"{name}: {found}")
    assert found.fault == "", str(found)
