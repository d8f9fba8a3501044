"""Shows that workers ask long enough: late peers do no harm, and a lost switch is noticed."""

from dataclasses import replace

import pytest

from sim.golden.reduction.allreduce import GaveUp, Tries, sends_again, switch_rule
from tests.protocol.allreduce.patience import (
    BLAMED,
    ENDLESS,
    FALSE_ALARM,
    TOO_EARLY,
    UNNOTICED,
    Patience,
    Peer,
)
from tests.protocol.explore import explore


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"losses": 1, "peer_retries": 3},
        {"losses": 2, "peer": Peer.ABSENT},
        {"losses": 3, "peer_retries": 2, "peer": Peer.ABSENT},
        {"worker_count": 3, "retries": 1, "peer_retries": 1},
    ],
    ids=str,
)
def test_ends_in_time_with_the_right_cause(sizes):
    result = explore(Patience(**sizes))
    print(f"{sizes}: {result}")
    assert result.fault == "", str(result)


def silent(slot, packet, everyone):
    """The switch says nothing while it waits for other workers."""
    outcome = switch_rule(slot, packet, everyone)
    waits = outcome.answer is not None and outcome.answer.pending
    return replace(outcome, answer=None) if waits else outcome


def deaf(tries, retries, peer_retries):
    """A worker does not count "pending" as an answer."""
    return sends_again(replace(tries, heard=False), retries, peer_retries)


def forgetful(tries, retries, peer_retries):
    """An answer begins the wait for peers anew."""
    decided = sends_again(tries, retries, peer_retries)
    anew = tries.heard and isinstance(decided, Tries)
    return replace(decided, repetitions=0) if anew else decided


def trusting(tries, retries, peer_retries):
    """An answer counts for ever."""
    decided = sends_again(tries, retries, peer_retries)
    return replace(decided, heard=tries.heard) if isinstance(decided, Tries) else decided


def hasty(tries, retries, peer_retries):
    """The bound on the wait for peers is one on all repetitions, answered or not."""
    if tries.repetitions == peer_retries:
        return GaveUp.PEERS
    return sends_again(tries, retries, peer_retries)


def early(tries, retries, peer_retries):
    """Peers are given up a repetition too early."""
    return sends_again(tries, retries, peer_retries - 1)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"switch": silent}, FALSE_ALARM),
        ({"again": deaf}, FALSE_ALARM),
        ({"again": forgetful, "peer": Peer.ABSENT, "mortal": False}, ENDLESS),
        ({"again": trusting, "peer_retries": 9}, UNNOTICED),
        ({"again": trusting}, BLAMED),
        ({"again": hasty, "peer_retries": 1}, BLAMED),
        ({"again": early}, TOO_EARLY),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_part_of_the_rule_is_needed(changes, fault):
    result = explore(Patience(**changes))
    print(f"{changes}: {result}")
    assert result.fault == fault
    assert result.trace
