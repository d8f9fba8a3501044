"""Checks that the loss is drawn against an epoch's measured seconds."""

from dataclasses import replace

import pytest

from sim.p4sgd.golden.formula import PAPER_MACHINE
from sim.p4sgd.reproduce import loss_time
from tests.sim.p4sgd.reproduce.figures import FALLING, by_the_formula, training

LINK = 100


def make(rtl, link=LINK):
    trained = [replace(training(rtl, FALLING), data=name) for name in ("digits", "gisette", "rcv1")]
    measurements = by_the_formula(loss_time.points(False, link))
    return loss_time.figure(trained, False, link, measurements)


def test_seconds_are_those_of_the_paper_s_workers():
    rows = {(row["data"], row["epoch"]): float(row["seconds"]) for row in make(FALLING).rows}
    assert len(rows) == 3 * len(FALLING)
    cycles = 317 * 300 + 2531 * PAPER_MACHINE.words(47_236)
    assert rows["rcv1", 3] == pytest.approx(3 * cycles / 250e6, rel=0.001)
    assert rows["digits", 3] == pytest.approx(3 * 7 / 250e6)


def test_the_paper_s_time_is_judged():
    claims = {claim.text: claim.holds for claim in make(FALLING).claims}
    assert claims["rcv1: converges within the 0.27 s of table IV"]
    assert len(claims) == 3
    never = {claim.text: claim.holds for claim in make([2.0] * len(FALLING)).claims}
    assert not any(never.values())


def test_quick_needs_no_points():
    assert loss_time.points(True, LINK) == []
    assert loss_time.figure([training(FALLING, FALLING)], True, LINK, {}).rows
