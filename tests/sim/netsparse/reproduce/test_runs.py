"""Tests what a run is asked, and what is kept of it."""

from dataclasses import replace

import numpy as np
import pytest

from hdl.netsparse.switch.params import NetSparseSwitchParams
from sim.netsparse.reproduce import paper, structure
from sim.netsparse.reproduce import subjects as subjects_module
from sim.netsparse.reproduce.measuring import content, measure, outcome
from sim.netsparse.reproduce.points import PAPER, RTL, RTL_MODEL, SOFTWARE_CYCLES, Point
from sim.netsparse.reproduce.report import titled
from sim.netsparse.reproduce.runs import repeats
from sim.netsparse.reproduce.sensitivity import SENSITIVITIES
from sim.netsparse.reproduce.subjects import subjects
from sim.netsparse.spmm_workload import switch_of
from tests.sim.netsparse.reproduce.outcomes import FEW, small

WEB = subjects(scale=0.1, nodes=8)[4]


def test_times_of_the_paper_are_those_of_its_clock():
    assert abs(PAPER.line_bytes - 400 / 8 / 2.2) < 0.1
    assert round(SOFTWARE_CYCLES) == 1760
    for scaled in (True, False):
        assert Point(subject=FEW[0], scaled=scaled).delays == (500, 125)
    assert Point(subject=FEW[0], delay=50000).delays == (50000, 12500)
    assert RTL.line_bytes == 64


@pytest.mark.parametrize("sweep", SENSITIVITIES.values(), ids=SENSITIVITIES)
def test_hardware_can_be_set_to_every_value_of_the_papers_sweeps(sweep):
    """A run has the value that its column says; links are as slow as the paper's, too."""
    for value in sweep.values:
        point = sweep.change(Point(subject=FEW[0], scaled=False), value)
        requested = point.workload
        requested.check_hardware(point.snic)
        clients, servers = requested.units_of(point.snic)
        has = {
            "batch-size": requested.batch,
            "rig-units": clients + servers,
            "delay-cycles": requested.read_delay,
        }
        assert has.get(sweep.name, value) == value
        assert requested.link_latency == round(paper.LINK_NS * paper.CLOCK_GHZ) == 990


@pytest.mark.parametrize("subject", FEW, ids=lambda item: item.family)
@pytest.mark.parametrize("elements", paper.PROPERTY_BYTES)
def test_scaled_settings(subject, elements):
    """They are a part of the paper's numbers; a cache is the nearest that hardware can have."""
    point = Point(subject=subject, elements=elements)
    requested = point.workload
    assert requested.model
    assert requested.batch == max(1, round(subject.scale * subject.paper.batch))
    assert requested.link_latency == round(subject.scale * 450 * 2.2)
    assert requested.link_stall == 165
    assert requested.shares
    # Eight links and host memory take 8,800 cycles in the paper, DelayCycles 1,500 in both.
    entries = 256 * (subject.scale * 8800 + 1500) / 10300
    assert 2**-0.5 <= point.snic.rig.pending_entries / entries <= 2**0.5  # a power of two
    switch = switch_of(requested.switch)
    assert switch.pipes == switch.ports == 32
    assert switch.cache.max_bytes >= requested.property_bytes
    expected = subject.scale * paper.CACHE_BYTES / 16
    smallest = switch.cache.sets == 2 and switch.cache.segments == max(
        2, requested.property_bytes // 16
    )
    assert smallest or 0.5 <= switch.cache.cache_bytes / expected <= 2


def test_unscaled_settings_are_those_of_table_5():
    point = Point(subject=FEW[0], scaled=False)
    assert (point.requests, point.workload.shares) == (32768, False)
    for each in (point, Point(subject=FEW[0], pending=256)):
        assert each.snic.rig.pending_entries == 256
    switch = switch_of(point.switch)
    assert replace(switch, most_delay=1023) == NetSparseSwitchParams()
    assert switch_of(Point(subject=FEW[0], middle_pipes=False).switch).pipes == 0
    assert Point(subject=FEW[0], cluster=RTL).switch == "small"
    assert Point(subject=FEW[0], cluster=RTL).snic == RTL.snic
    assert Point(subject=FEW[0], units=8).workload.clients == 4
    assert not Point(subject=FEW[0], cache_bytes=0).workload.switch_cache


def test_runs_on_the_model():
    """The tail node ends last, and sends at least the requests that it cannot do without."""
    points = [Point(subject=WEB, cluster=RTL_MODEL, concatenate=on) for on in (True, False)]
    reported = []
    result = measure([*points, points[0]], lambda *words: reported.append(words))
    assert reported[-1] == ("has run: uk, K = 16, scaled, model", 2, 2)
    joined, alone = (result[point] for point in points)
    for each in (joined, alone):
        assert each.exact is None
        assert each.tail_useful <= each.tail.unit["prs"]
        assert each.tail.packet_bytes("received") <= each.max_received
        assert each.figures["unit_prs"] >= WEB.redundancy.useful
        assert 0 < each.utilisation <= each.link_bound <= 1
    assert alone.prs_per_packet == 1 < joined.prs_per_packet
    assert joined.figures["link_bytes"] < alone.figures["link_bytes"]


def test_a_run_is_kept_until_its_matrix_changes(tmp_path, monkeypatch):
    """The same question is answered from the cache; a file with other nonzeros is run anew."""
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "ring.mtx"

    def ring(steps):
        places = [(row + 1, (row + step) % 16 + 1) for row in range(16) for step in steps]
        subjects_module._matrix.cache_clear()
        return Point(subject=small(path, 16, places, 8), cluster=RTL_MODEL)

    first = outcome(ring([1, 3]))
    again = outcome(ring([1, 3]))
    assert again.seconds == first.seconds, "which no second run would take again"
    assert again.figures == first.figures
    before = content(ring([1, 3]).subject)
    other = outcome(ring([1, 3, 8]))
    assert other.figures["unit_consumed"] == 48 != first.figures["unit_consumed"]
    assert content(ring([1, 3, 8]).subject) != before


def test_repeats_by_hand(tmp_path):
    """Node 0 asks for 3 and 4 for its first row, and again for its second one."""
    subject = small(tmp_path / "four.mtx", 4, [(1, 3), (1, 4), (2, 3), (2, 4)], 2)
    assert repeats(subject, 4, 16, shares=False) == (1.0, 0.0)
    assert repeats(subject, 2, 16, shares=False) == (0.0, 1.0)
    assert repeats(subject, 2, 1, shares=False) == (0.0, 0.0)
    assert np.isclose(sum(repeats(subject, 3, 2, shares=False)), 1.0)
    # In requests of one, of two clients: 3 beside 4 in each turn; or 3 beside 3, then 4 beside 4.
    assert repeats(subject, 1, 2, shares=False) == (0.0, 0.0)
    assert repeats(subject, 1, 2, shares=True) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("clusters", "source"),
    [
        ([PAPER], "the model alone"),
        ([PAPER, RTL_MODEL], "the model alone"),
        ([RTL], "RTL"),
        ([RTL, RTL_MODEL], "RTL and model"),
    ],
)
def test_a_title_says_what_its_figures_come_from(clusters, source):
    figure = structure.OF_MATRICES["headers"](FEW)
    result = titled(figure, [Point(subject=FEW[0], cluster=each) for each in clusters])
    assert result.title == f"{figure.title}, from {source}"
