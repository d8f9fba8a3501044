"""Tests figure 10 and what it says of the time that a PR is taken to cost."""

from dataclasses import replace

import pytest

from sim.netsparse.reproduce import goodput, paper


def verdicts():
    return [claim.holds for claim in goodput.figure().claims]


def test_goodput_is_what_cores_ask_for_as_a_share_of_the_line():
    gigabytes = 64 / paper.SOFTWARE_US * paper.PROPERTY_BYTES[16] / 1e3
    share = gigabytes / (paper.LINE_GBPS / 8)
    assert goodput.goodput(64, 16) == pytest.approx(share, rel=0.01)  # a stall is a 256th
    assert goodput.goodput(32, 16) == pytest.approx(goodput.goodput(64, 16) / 2)
    assert goodput.goodput(4096, 16) == pytest.approx(1)


def test_a_shorter_time_agrees_with_table_seven_and_a_much_shorter_fills_the_line(monkeypatch):
    assert verdicts() == [True, False]
    for faster, expected in ((1.1, [True, True]), (2, [False, True])):
        monkeypatch.setattr(goodput, "SOFTWARE_CYCLES", goodput.SOFTWARE_CYCLES / faster)
        assert verdicts() == expected


def test_a_tail_node_below_the_balanced_one_agrees(monkeypatch):
    lower = {
        name: replace(matrix, tail=replace(matrix.tail, goodput_sa=0.1))
        for name, matrix in paper.MATRICES.items()
    }
    monkeypatch.setattr(paper, "MATRICES", lower)
    assert verdicts() == [True, True]
