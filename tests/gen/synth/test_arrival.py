from gen.synth.arcs import Arc
from gen.synth.arrival import Route, advance, begin, worst_of

LUT = Route(1, Arc(1, 2, 1))
ENTER = Route(1, Arc(1, 2, 0, True, 3))
GO_ON = Route(1, Arc(1, 2, 0, False, 4))


def after(*ways, backward=False):
    arrival = begin("register")
    for path in ways:
        arrival = advance(arrival, path, backward)
    return arrival


def test_levels_and_chains_are_steps():
    arrival = after(LUT, ENTER, GO_ON, LUT, ENTER)
    assert (arrival.steps, arrival.levels, arrival.chains) == (4, 2, 2)
    assert arrival.carry == 7
    assert arrival.carry_sum == 10
    assert arrival.start == "register"


def test_backward_finds_the_same():
    ways = (LUT, ENTER, GO_ON, LUT, ENTER)
    forward, backward = after(*ways), after(*reversed(ways), backward=True)
    assert forward[:5] == backward[:5]


def test_a_chain_that_leads_into_another_is_not_longer():
    for backward in (False, True):
        ways = (ENTER, GO_ON, ENTER)
        arrival = after(*(reversed(ways) if backward else ways), backward=backward)
        assert (arrival.carry, arrival.most_carry, arrival.chains) == (7, 7, 2)


def test_the_worse_path_wins_and_the_most_of_each_is_kept():
    deep, carried = after(LUT, LUT), after(ENTER)
    both = worst_of(carried, deep)
    assert both == worst_of(deep, carried)
    assert (both.levels, both.chains) == (2, 0)
    assert (both.most_levels, both.most_chains, both.most_carry) == (2, 1, 3)


def test_of_equal_steps_the_longer_carry_is_worse():
    assert worst_of(after(LUT), after(ENTER)).chains == 1


def test_a_child_adds_its_own_and_ends_the_chain():
    arrival = advance(after(LUT, ENTER), Route(1, None, after(LUT, ENTER, GO_ON)))
    assert (arrival.levels, arrival.chains, arrival.carry, arrival.pending) == (2, 2, 7, 0)
