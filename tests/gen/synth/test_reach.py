from gen.synth.arcs import Arc
from gen.synth.reach import Way, advance, begin, join

LUT = Way(1, Arc(1, 2, 1))
ENTER = Way(1, Arc(1, 2, 0, True, 3))
GO_ON = Way(1, Arc(1, 2, 0, False, 4))


def after(*ways, backward=False):
    reach = begin("register")
    for way in ways:
        reach = advance(reach, way, backward)
    return reach


def test_levels_and_chains_are_steps():
    reach = after(LUT, ENTER, GO_ON, LUT, ENTER)
    assert (reach.steps, reach.levels, reach.chains) == (4, 2, 2)
    assert reach.carry == 7
    assert reach.carry_sum == 10
    assert reach.start == "register"


def test_backward_finds_the_same():
    ways = (LUT, ENTER, GO_ON, LUT, ENTER)
    forward, backward = after(*ways), after(*reversed(ways), backward=True)
    assert forward[:5] == backward[:5]


def test_a_chain_that_leads_into_another_is_not_longer():
    for backward in (False, True):
        ways = (ENTER, GO_ON, ENTER)
        reach = after(*(reversed(ways) if backward else ways), backward=backward)
        assert (reach.carry, reach.most_carry, reach.chains) == (7, 7, 2)


def test_the_worse_way_wins_and_the_most_of_each_is_kept():
    deep, carried = after(LUT, LUT), after(ENTER)
    both = join(carried, deep)
    assert both == join(deep, carried)
    assert (both.levels, both.chains) == (2, 0)
    assert (both.most_levels, both.most_chains, both.most_carry) == (2, 1, 3)


def test_of_equal_steps_the_longer_carry_is_worse():
    assert join(after(LUT), after(ENTER)).chains == 1


def test_a_child_adds_its_own_and_ends_the_chain():
    reach = advance(after(LUT, ENTER), Way(1, None, after(LUT, ENTER, GO_ON)))
    assert (reach.levels, reach.chains, reach.carry, reach.pending) == (2, 2, 7, 0)
