"""Checks what is asked and answered on PCI Express by the rules of the base specification."""

import random
from dataclasses import replace

import pytest

from sim.golden.pcie_requester import (
    PAGE,
    READ_SIZES,
    Cause,
    Code,
    Completion,
    Outstanding,
    Read,
    Status,
    Turn,
    all_splits,
    as_they_complete,
    cut,
    in_order,
    some_split,
    split,
)


@pytest.mark.parametrize("most", READ_SIZES)
def test_reads_bring_each_byte_once_and_stay_in_4_kb(most):
    for address in range(0, 2 * PAGE, 252):
        for size in (1, 3, 4, 5, most - 1, most, most + 1, 1028, PAGE):
            reads = cut(address, size, most)
            assert [at for item in reads for at in range(item.address, item.end)] == list(
                range(address, address + size)
            )
            for item in reads:
                assert item.size <= most
                assert item.address // PAGE == (item.end - 1) // PAGE
            assert len(reads) <= -(-size // most) + 1


@pytest.mark.parametrize(
    ("size", "enables"), [(1, (1, 0)), (3, (7, 0)), (4, (15, 0)), (5, (15, 1)), (8, (15, 15))]
)
def test_byte_enables(size, enables):
    assert Read(8, size).byte_enables == enables


@pytest.mark.parametrize("read", [(2, 4), (0, 0), (4092, 5)])
def test_reads_that_there_are_not(read):
    with pytest.raises(ValueError, match="stays in 4 KB"):
        Read(*read)


def test_cut_at_a_size_that_there_is_not():
    with pytest.raises(ValueError, match="largest read must be one of"):
        cut(0, 4, 100)


def test_answers_by_hand():
    """200 bytes from address 60 on meet a boundary of 64 at 64, and one of 128 at 128 and 256."""

    def ends(payload, boundary):
        result = all_splits(Read(60, 200), payload, boundary)
        return sorted([c.address + 4 * c.dwords for c in item] for item in result)

    assert ends(256, 128) == [[128, 256, 260], [128, 260], [256, 260], [260]]
    assert ends(128, 128) == [[128, 256, 260]]
    assert len(ends(256, 64)) == 2**4  # each of four boundaries, or not
    assert ends(128, 64)[-1] == [128, 256, 260]


@pytest.mark.parametrize("boundary", [64, 128])
@pytest.mark.parametrize("payload", [128, 256])
def test_some_split_is_one_of_all(payload, boundary):
    choose = random.Random(1).choice
    for read in (Read(4, 4), Read(124, 8), Read(60, 300), Read(0, 512), Read(36, 47)):
        legal = list(all_splits(read, payload, boundary))
        for item in legal:
            assert sum(c.dwords for c in item) == read.dwords
            assert [c.completed for c in item] == [False] * (len(item) - 1) + [True]
            assert all(4 * c.dwords <= payload for c in item)
            assert all(c.address % boundary == 0 for c in item[1:])
            outstanding = Outstanding(read)
            assert all(outstanding.take(c) for c in item)
            assert (outstanding.received, outstanding.ended) == (read.size, True)
        assert all(some_split(read, payload, boundary, choose) in legal for _ in range(20))


READ = Read(60, 200)
FIRST, SECOND = split(READ, [128])


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"poisoned": True}, Cause.POISONED),
        ({"code": Code.POISONED, "poisoned": True}, Cause.POISONED),
        ({"code": Code.BAD_STATUS, "status": Status.UNSUPPORTED}, Cause.UNSUPPORTED),
        ({"code": Code.BAD_STATUS, "status": Status.RETRY}, Cause.UNSUPPORTED),
        ({"code": Code.BAD_STATUS, "status": Status.ABORTED}, Cause.ABORTED),
        ({"code": Code.LENGTH}, Cause.LENGTH),
        ({"code": Code.MISMATCH}, Cause.MISMATCH),
        ({"code": Code.ADDRESS}, Cause.ADDRESS),
        ({"code": Code.FLR}, Cause.RESET),
        ({"code": Code.TIMEOUT}, Cause.TIMEOUT),
        ({"address": 56}, Cause.ADDRESS),
        ({"remaining": 196}, Cause.LENGTH),
        ({"dwords": 51}, Cause.LENGTH),
        ({"dwords": 50}, Cause.LENGTH),
        ({"dwords": 0}, Cause.LENGTH),
        ({"completed": True}, Cause.LENGTH),
        ({"discontinued": True}, Cause.CORRUPT),
    ],
)
def test_the_first_error_decides_and_the_last_completion_frees(change, cause):
    outstanding = Outstanding(READ)
    bad = replace(FIRST, **change)
    assert not outstanding.take(bad)
    assert (outstanding.cause, outstanding.ended) == (cause, bad.completed)
    if not bad.completed:
        assert not outstanding.take(SECOND)
        assert (outstanding.cause, outstanding.ended, outstanding.received) == (cause, True, 0)
    with pytest.raises(ValueError, match="tag that is free"):
        outstanding.take(SECOND)


def test_a_completion_of_no_read_changes_nothing():
    outstanding = Outstanding(READ)
    stranger = Completion(0, 4, 1, completed=True, code=Code.INVALID_TAG)
    assert not outstanding.take(stranger)
    assert outstanding == Outstanding(READ)


def test_too_little_at_the_end():
    outstanding = Outstanding(READ)
    assert outstanding.take(FIRST)
    assert not outstanding.take(replace(SECOND, dwords=SECOND.dwords - 1))
    assert (outstanding.cause, outstanding.ended) == (Cause.LENGTH, True)


def test_turns_in_order_and_as_they_complete():
    """One of the first request's three reads fails; the other's only read is given up."""
    requests = [[Outstanding(read) for read in cut(96, 200, 128)], [Outstanding(Read(0, 4))]]
    (first, second, third), lost = requests[0], requests[1][0]
    second.cause = Cause.ABORTED
    lost.abandon(Cause.TIMEOUT)
    reads = [Read(96, 32), Read(128, 128), Read(256, 40)]
    assert [(turn.read, turn.place, turn.cause, turn.last) for turn in in_order(requests)] == [
        (reads[0], 0, Cause.NONE, False),
        (reads[1], 32, Cause.ABORTED, False),
        (reads[2], 160, Cause.ABORTED, True),
        (Read(0, 4), 0, Cause.TIMEOUT, True),
    ]
    turns, timed_out = as_they_complete(requests, [third, first, second, lost])
    assert turns == [
        Turn(reads[2], 160, 0, Cause.NONE, True),
        Turn(reads[0], 0, 0, Cause.NONE, True),
        Turn(reads[1], 32, 0, Cause.ABORTED, True),
    ]
    assert timed_out == [Turn(Read(0, 4), 0, 1, Cause.TIMEOUT, True)]
