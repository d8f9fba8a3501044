"""The rule of resets in all interleavings of two clocks, and rules that are not as good."""

import pytest

from hdl.common.crossing.reset_handshake import Side, Told, advance, runs
from tests.hdl.common.crossing.reset_model import (
    NOT_EMPTIED,
    STALE,
    Rule,
    explore,
    never_start,
)


def test_every_reset_at_every_phase():
    """Both sides start from zero together, always; nobody waits for ever."""
    rule = Rule()
    found = explore(rule)
    assert not found.fault, found.trace
    assert len(found.pairs) > 10_000
    for reached in (
        lambda write, read: rule.moves(*write[:3:2]) and rule.moves(*read[:3:2]),
        lambda write, read: write.side.wants and read.side.wants,
        lambda write, read: write.side.told.asks and read.side.told.asks,
        lambda write, read: write.side.wants and read.side.told.asks,
        lambda write, read: write.generation != read.generation,
    ):
        assert any(reached(*pair) for pair in found.pairs)
    assert never_start(rule, found.pairs) == []


def asks_at_once(side, heard, reset):
    """A reset asks whatever went before, and ``cleared`` of the ask before ends it."""
    asks, stopped, cleared = side.told
    told = Told(
        reset | (asks & ~(cleared & heard.cleared)), asks | heard.asks, stopped & heard.stopped
    )
    return Side(side.wants & False, told)


def forgets(side, heard, reset):
    """A reset that may not ask yet is forgotten."""
    return advance(side, heard, reset)._replace(wants=reset & False)


def looks_at_its_own(side, heard, reset):
    """A new ask does not wait for the other's ``cleared`` to go away."""
    asks, _, cleared = side.told
    after = advance(side, heard, reset)
    begins = (side.wants | reset) & ~asks & ~cleared
    return Side(after.wants & ~begins, after.told._replace(asks=after.told.asks | begins))


def stops_late(side, heard):
    """A side that was reset goes on until it has told so."""
    _, stopped, cleared = side.told
    return ~stopped & ~cleared & ~heard.stopped


def does_not_listen(side, heard):
    """A side runs although the other still stands."""
    return runs(side, heard._replace(stopped=heard.stopped & False))


@pytest.mark.parametrize(
    ("rule", "faults"),
    [
        (Rule(advance=asks_at_once), {STALE}),
        (Rule(advance=forgets), {NOT_EMPTIED}),
        (Rule(advance=looks_at_its_own), {STALE}),
        (Rule(runs=stops_late), {NOT_EMPTIED}),
        (Rule(runs=does_not_listen), {STALE}),
    ],
    ids=["asks_at_once", "forgets", "looks_at_its_own", "stops_late", "does_not_listen"],
)
def test_worse_rules_are_found_out(rule, faults):
    assert explore(rule, frozenset(faults)).fault in faults


def never_lets_go(side, heard, reset):
    """An ask that goes on until the other asks no more."""
    after = advance(side, heard, reset)
    asks = after.told.asks | (side.told.asks & heard.asks)
    return after._replace(told=after.told._replace(asks=asks))


def test_a_rule_that_waits_for_ever_is_found_out():
    rule = Rule(advance=never_lets_go)
    assert never_start(rule, explore(rule).pairs)
