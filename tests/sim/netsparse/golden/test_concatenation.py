import random
from dataclasses import replace

import pytest

from sim.netsparse.golden.concatenation import (
    Addresses,
    Arrival,
    Departure,
    Kind,
    Ledger,
    Reason,
    Request,
    Rules,
    checksum,
    from_bytes,
    to_bytes,
)
from tests.rejects import refuses

ADDRESSES = Addresses(mac_base=0x0200_0000_0000, ip_base=0x0A00_0000)
NODE = 3


def response(number, dest=1, length=4):
    data = random.Random(number).randbytes(length)
    return Request(kind=Kind.RESPONSE, dest=dest, length=length, idx=number, id=number, data=data)


def test_a_packet_byte_by_byte():
    pr = Request(kind=Kind.READ, dest=5, length=64, src=3, tid=0x0102, idx=0x99, id=0x1234)
    wire = to_bytes([pr, replace(pr, idx=0x9A)], NODE, ADDRESSES)
    assert len(wire) == 64 + 2 * 18
    assert wire[:14].hex() == "020000000005" + "020000000003" + "0800"
    assert wire[14:24].hex() == "4560" + "0056" + "0000" + "4000" + "4011"
    assert wire[26:34].hex() == "0a000003" + "0a000005"
    assert wire[34:42].hex() == "4e53" + "4e53" + "0042" + "0000"
    assert wire[42:64].hex() == "00" * 8 + "0001" + "00000005" + "00000040" + "00000002"
    assert wire[64:82].hex() == "00000003" + "0102" + "0000000000000099" + "00001234"
    words = [int.from_bytes(wire[k : k + 2], "big") for k in range(14, 34, 2)]
    assert sum(words) % 0xFFFF == 0  # RFC 1071
    assert from_bytes(wire) == [pr, replace(pr, idx=0x9A)]


def test_checksum_that_folds_twice():
    assert checksum(bytes.fromhex("ffff" * 9 + "0009")) == 0xFFF6
    assert checksum(bytes.fromhex("ffff0001ffff")) == 0xFFFE


@pytest.mark.parametrize("length", [4, 64, 510])
def test_there_and_back(length):
    prs = [response(k, length=length) for k in range(2)]
    assert from_bytes(to_bytes(prs, NODE, ADDRESSES)) == prs


test_cannot_share = refuses(
    lambda *prs: to_bytes(prs, NODE, ADDRESSES),
    (response(0), response(1, dest=2), "2 PRs cannot share a packet"),
    (response(0), response(1, length=8), "2 PRs cannot share a packet"),
    (replace(response(0), data=b""), "a property of 0 bytes"),
    (*[Request(kind=Kind.ERROR, dest=1, length=4)] * 2, "2 PRs cannot share a packet"),
)


test_broken_bytes = refuses(
    lambda change: from_bytes(change(to_bytes([response(0)], NODE, ADDRESSES))),
    (lambda wire: wire[:-1], "PRs of 22 bytes in a packet of"),
    (lambda wire: wire[:40], "40 bytes are no packet"),
    (lambda wire: wire[:14] + b"\x46" + wire[15:], "checksum"),
    (lambda wire: wire[:50] + b"\0\7" + wire[52:], "not a valid Kind"),
)


RULES = Rules(mtu=64 + 3 * 22, delay=100, lateness=4)


def ledger(groups, marks, *, times=None, rules=RULES, order=None, edges=None):
    """Return packets of ``groups`` of PRs that enter one per cycle, marked at ``marks``."""
    prs = [pr for group in groups for pr in group]
    prs = prs if order is None else [prs[k] for k in order]
    times = range(len(prs)) if times is None else times
    arrivals = [
        Arrival(request=pr, moved=at, entered=at + 3, starts=starts, ends=ends)
        for pr, at, (starts, ends) in zip(
            prs, times, edges or [(True, True)] * len(prs), strict=True
        )
    ]
    departures = [
        Departure(wire=to_bytes(group, NODE, ADDRESSES), marked=mark)
        for group, mark in zip(groups, marks, strict=True)
    ]
    return Ledger(arrivals, departures, rules, NODE, ADDRESSES)


A, B, C, D = (response(k) for k in range(4))


def test_reasons():
    other = response(9, length=8)
    built = ledger([[A, B, C], [D], [other]], [5, 7, 107])
    assert built.reasons == [Reason.FULL, Reason.LENGTH, Reason.EXPIRED]
    error = Request(kind=Kind.ERROR, dest=1, length=4)
    assert ledger([[error], [A]], [4, 104]).reasons == [Reason.ALONE, Reason.EXPIRED]
    alone = replace(RULES, concatenate=False)
    assert ledger([[A], [B]], [4, 5], rules=alone).reasons == [Reason.WHOLE] * 2


def test_a_group_stays_whole():
    """Without concatenation, no other PR joins it, and it does not wait."""
    alone = replace(RULES, concatenate=False)
    first, inner, last = (True, False), (False, False), (False, True)

    def reasons(groups, marks, edges):
        return ledger(groups, marks, rules=alone, edges=edges).reasons

    assert reasons([[A, B]], [4], [first, last]) == [Reason.WHOLE]
    assert reasons([[A, B, C], [D]], [5, 6], [first, inner, inner, last]) == ["full", "whole"]
    assert reasons([[A], [B]], [4, 5], [first, (True, True)]) == [Reason.DISPLACED, Reason.WHOLE]
    for groups, marks, edges, message in (
        ([[A, B]], [6], [first, last], "a whole group waited"),
        ([[A, B]], [4], [(True, True)] * 2, "behind the end of a group"),
        ([[A, B]], [4], [first, (True, True)], "a group joined another"),
        ([[A], [B]], [4, 5], [first, last], "for no reason"),
    ):
        with pytest.raises(AssertionError, match=message):
            reasons(groups, marks, edges)


def test_nothing_waits_once_no_pr_can_join():
    flushed = replace(RULES, flushed=5)
    assert ledger([[A], [response(9, dest=2)]], [5, 6], rules=flushed).reasons == ["flushed"] * 2
    with pytest.raises(AssertionError, match="marked for no reason at 4"):
        ledger([[A]], [4], rules=flushed)


def test_an_exhausted_pool_marks_the_oldest():
    prs = [response(k, dest=k) for k in range(3)]
    few = replace(RULES, open_packets=3)
    built = ledger([[pr] for pr in prs], [6, 104, 105], rules=few)
    assert built.reasons == [Reason.EXHAUSTED, Reason.EXPIRED, Reason.EXPIRED]
    with pytest.raises(AssertionError, match="no reason"):
        ledger([[prs[1]], [prs[0]], [prs[2]]], [6, 104, 105], rules=few, order=[1, 0, 2])
    with pytest.raises(AssertionError, match="no reason"):
        ledger([[pr] for pr in prs], [6, 104, 105])
    lines = replace(RULES, open_lines=3)
    assert ledger([[pr] for pr in prs], [6, 104, 105], rules=lines).reasons[0] == Reason.EXHAUSTED


test_broken_promises = refuses(
    lambda groups, marks, options: ledger(groups, marks, **options),
    ([[A, B, C, D]], [8], {}, "a packet of 152 bytes"),
    ([[A]], [108], {}, "marked 1 cycles late"),
    ([[A, B]], [3], {}, "before its last PR entered"),
    ([[A], [B]], [50, 107], {}, "did not join"),
    ([[A]], [50], {}, "for no reason"),
    ([[A, B]], [104], {"order": [1, 0]}, "other PRs for"),
    ([[A, B]], [4], {"rules": replace(RULES, concatenate=False)}, "end of a group"),
    ([[A, B, C], [D]], [104, 50], {}, "order of their marks"),
    error=AssertionError,
)


def test_lost_and_doubled():
    arrivals = [Arrival(request=pr, moved=0, entered=3) for pr in (A, B)]
    leaves = Departure(wire=to_bytes([A], NODE, ADDRESSES), marked=100)
    with pytest.raises(AssertionError, match=r"1 PRs for .* did not leave"):
        Ledger(arrivals, [leaves], RULES, NODE, ADDRESSES)
    with pytest.raises(AssertionError, match="other PRs"):
        Ledger(arrivals, [leaves, leaves], RULES, NODE, ADDRESSES)
    with pytest.raises(AssertionError):  # the source's address is another's
        Ledger(arrivals[:1], [leaves], RULES, NODE + 1, ADDRESSES)
