"""Explores the rule of resets in all interleavings of two clocks, and rules that are worse."""

import pytest

from hdl.common.crossing.reset_handshake import Flags, Side, advance, runs
from tests.hdl.common.crossing.reset_model import (
    NOT_EMPTIED,
    STALE,
    Rule,
    explore,
    never_start,
)


def test_every_reset_at_every_phase():
    """Both sides always start from zero together, and nobody waits for ever."""
    rule = Rule()
    result = explore(rule)
    assert not result.fault, result.trace
    assert len(result.pairs) > 10_000
    for reached in (
        lambda write, read: rule.moves(*write[:3:2]) and rule.moves(*read[:3:2]),
        lambda write, read: write.side.needs and read.side.needs,
        lambda write, read: write.side.flags.request and read.side.flags.request,
        lambda write, read: write.side.needs and read.side.flags.request,
        lambda write, read: write.generation != read.generation,
    ):
        assert any(reached(*pair) for pair in result.pairs)
    assert never_start(rule, result.pairs) == []


def requests_at_once(side, remote, reset):
    """A reset asks whatever went before, and the ``cleared`` of an earlier ask ends it."""
    request, stopped, cleared = side.flags
    flags = Flags(
        reset | (request & ~(cleared & remote.cleared)),
        request | remote.request,
        stopped & remote.stopped,
    )
    return Side(side.needs & False, flags)


def forgets(side, remote, reset):
    """A reset that may not ask yet is forgotten."""
    return advance(side, remote, reset)._replace(needs=reset & False)


def looks_at_its_own(side, remote, reset):
    """A new ask does not wait for the other's ``cleared`` to go away."""
    request, _, cleared = side.flags
    after = advance(side, remote, reset)
    begins = (side.needs | reset) & ~request & ~cleared
    return Side(after.needs & ~begins, after.flags._replace(request=after.flags.request | begins))


def stops_late(side, remote):
    """A side that was reset goes on until it has flags so."""
    _, stopped, cleared = side.flags
    return ~stopped & ~cleared & ~remote.stopped


def does_not_listen(side, remote):
    """A side runs although the other still stands."""
    return runs(side, remote._replace(stopped=remote.stopped & False))


@pytest.mark.parametrize(
    ("rule", "faults"),
    [
        (Rule(advance=requests_at_once), {STALE}),
        (Rule(advance=forgets), {NOT_EMPTIED}),
        (Rule(advance=looks_at_its_own), {STALE}),
        (Rule(runs=stops_late), {NOT_EMPTIED}),
        (Rule(runs=does_not_listen), {STALE}),
    ],
    ids=["requests_at_once", "forgets", "looks_at_its_own", "stops_late", "does_not_listen"],
)
def test_worse_rules_are_detected(rule, faults):
    assert explore(rule, frozenset(faults)).fault in faults


def never_lets_go(side, remote, reset):
    """An ask that goes on until the other request no more."""
    after = advance(side, remote, reset)
    request = after.flags.request | (side.flags.request & remote.request)
    return after._replace(flags=after.flags._replace(request=request))


def test_a_rule_that_waits_for_ever_is_detected():
    rule = Rule(advance=never_lets_go)
    assert never_start(rule, explore(rule).pairs)
