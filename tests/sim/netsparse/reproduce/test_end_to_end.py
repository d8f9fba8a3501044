"""Judges products on 128 nodes, of outcomes that a test makes up, and counts their bytes."""

import pytest
from scipy.sparse import csr_array

from sim.netsparse.reproduce import end_to_end
from sim.netsparse.reproduce.computing import COMPUTERS, Reuse, work
from tests.sim.netsparse.reproduce.outcomes import FEW, Order, outcome, small


def test_bytes_are_those_of_nonzeros_and_rows(tmp_path):
    """A node of three nonzeros has two different idxs, and two rows of the result."""
    subject = small(tmp_path / "small.mtx", 4, [(1, 1), (1, 3), (2, 3), (4, 4)], nodes=2)
    assert isinstance(subject.matrix, csr_array)
    row = 4 * 16
    once, each = (work(subject, 16, reuse) for reuse in Reuse)
    assert (once.slowest, each.slowest) == (3 * 8 + (2 + 2) * row, 3 * 8 + (3 + 2) * row)
    assert (once.alone, each.alone) == (4 * 8 + (3 + 4) * row, 4 * 8 + (4 + 4) * row)


def outcomes_of(speed_up):
    points = end_to_end.points(FEW, quick=False)
    return {point: outcome(point, Order(speed_up=speed_up)) for point in points}


@pytest.mark.parametrize(("speed_up", "holds"), [(1e6, True), (0.1, False)])
def test_a_faster_network_nears_the_ideal_one(speed_up, holds):
    drawn = end_to_end.spade(FEW, False, outcomes_of(speed_up))
    half = next(claim for claim in drawn.claims if "more than half" in claim.text)
    ordered = next(claim for claim in drawn.claims if "NetSparse is faster" in claim.text)
    assert (half.holds, ordered.holds) == (holds, holds)
    assert len(drawn.rows) == 5 * 2 * len(Reuse)
    for row in drawn.rows:
        nearly = row["speed_up_NetSparse"] / row["speed_up_ideal"]
        assert nearly == pytest.approx(1, rel=1e-3) if holds else nearly < 0.9


def test_cpus_have_means_of_their_own():
    drawn = end_to_end.cpus(FEW, False, outcomes_of(50))
    assert [item["computer"] for item in drawn.shown] == ["CPU, DDR"] * 2 + ["CPU, HBM"] * 2
    assert [panel.title for panel in drawn.panels] == [
        f"speed-up over one node, CPU, {memory}, K = 128" for memory in ("DDR", "HBM")
    ]
    assert sum("the paper's mean speed-up of" in claim.text for claim in drawn.claims) == 6


@pytest.mark.parametrize(("speed_up", "holds"), [(1e6, True), (0.1, False)])
def test_communication_beside_computation(speed_up, holds):
    """It is judged for the largest K alone."""
    drawn = end_to_end.breakdown(FEW, False, outcomes_of(speed_up))
    short = [claim for claim in drawn.claims if "at most" in claim.text]
    assert [claim.holds for claim in short] == [holds] * 2
    assert {row["K"] for row in drawn.rows} == {128}


def test_time_is_that_of_both():
    """A node communicates, then computes; its cycles are those of 2.2 GHz."""
    point = end_to_end.points(FEW, quick=True)[0]
    run = outcome(point)
    item = end_to_end.times(point, run, Reuse.ONCE, COMPUTERS[0])
    assert item.communication["NetSparse"] == pytest.approx(run.cycles / 2.2)
    octets = work(point.subject, point.elements, Reuse.ONCE)
    assert item.computation == pytest.approx(octets.slowest / 800)
    total = run.cycles / 2.2 + octets.slowest / 800
    assert item.speed_up("NetSparse") == pytest.approx(octets.alone / 800 / total)
    assert item.ratio("ideal") == 0


def test_trials_change_one_thing_each():
    cases = end_to_end.cases_of(FEW, True, outcomes_of(50), COMPUTERS)
    overlapped, half, table, hbm = end_to_end.trials(cases).values()
    for key, own in cases.items():
        slower = own.communication["SUOpt"]
        assert overlapped[key].speed_up("SUOpt") == own.alone / max(slower, own.computation)
        bounds = [cases[(*key[:2], reuse, key[3])].alone for reuse in Reuse]
        assert half[key].alone == sum(bounds) / 2
        factor = 800 / 270 * 1.4 / 2.6 if key[3] == "CPU, HBM" else 1
        assert hbm[key].alone == pytest.approx(factor * own.alone)
        assert hbm[key].communication == half[key].communication == own.communication
        if key[0] == "europe":  # table 8 has 132.1 times SUOpt
            own = table[key].communication
            assert own["SUOpt"] / own["NetSparse"] == pytest.approx(132.1, rel=0.01)
            assert own["SAOpt"] / own["NetSparse"] == pytest.approx(1.3 * 0.37 / 0.10)
