"""Reports all figures of small graphs: what they are made of, and what their claims say."""

import csv

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import save_npz

from gen.base.errors import UserError
from sim.switchgnn.graphs.graph import load_graph
from sim.switchgnn.reproduce import orders, paper, subjects
from sim.switchgnn.reproduce.report import reproduce
from sim.switchgnn.reproduce.requested import FIGURES, SwitchGnnRequest
from sim.switchgnn.reproduce.subjects import Subject, share_of_top
from sim.switchgnn.reproduce.timeline import timed
from tests.sim.switchgnn.cases import star


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return all figures, with fewer workers than the paper's, and where they were written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper, "MAX_WORKERS", 16)
        patch.setattr(paper, "RACKS", 4)
        patch.setattr(subjects, "WORKERS", (4, 8, 16))
        patch.setattr("sim.switchgnn.reproduce.report.QUICK_WORKERS", (4, 16))
        patch.setattr(orders, "SMALL", (4, 5, 6))
        folder = tmp_path_factory.mktemp("report")
        requested = SwitchGnnRequest(graph=[provided(folder)], graph_scale=0.08)
        built = reproduce(FIGURES, requested, quick=True, progress=lambda *_: None)
        built.write(folder)
    return built, folder


def provided(folder):
    """Return a graph of the user's own."""
    path = folder / "mine.npz"
    save_npz(path, load_graph("yelp:scale=0.01,seed=3").adjacency)
    return str(path)


def figure(report, name):
    (result,) = (each for each in report[0].figures if each.name == name)
    return result


def test_every_figure_is_written(report):
    built, folder = report
    assert [each.name for each in built.figures] == list(FIGURES)
    for name in FIGURES:
        assert (folder / f"{name}.png").stat().st_size > 1000
        with open(folder / f"{name}.csv") as file:
            assert len(list(csv.DictReader(file))) >= 2
    assert "Made with `--quick`" in (folder / "report.md").read_text()


def test_plans_are_between_the_full_graph_and_an_unlimited_memory(report):
    for row in figure(report, "strawman").rows:
        assert -1 < row["unlimited"] <= row["slices"] <= row["destinations"] < 0.5
        assert row["unlimited"] <= row["strawman"] <= row["multicast"] < 0
    for row in figure(report, "memory").rows:
        assert row["slices"] <= row["multi-level"]
        assert row["blocks"] >= row["levels"] >= 1
    claim = figure(report, "memory").claims[2]
    assert claim.holds
    assert "in slices never send more" in claim.text


def test_the_star_is_the_papers_and_the_ring_is_up_to_six_vertices(report):
    built = figure(report, "star-ring")
    worst = {(row["graph"], row["n"]): row["worst"] for row in built.rows}
    assert worst == {
        **{("star", count): 2 * count - 2 for count in (4, 5, 6)},
        **{("ring", count): count + 2 for count in (4, 5, 6)},
    }
    claims = built.claims
    assert [claim.holds for claim in claims] == [True, True, False, True, True]


def test_blocks_that_wait_for_each_other_take_no_less_time_than_together(report):
    for row in figure(report, "time").rows:
        assert row["multi-level, together"] <= row["multi-level"]
        assert row["G3"] <= row["BNS-GCN"]


def test_the_strawman_fills_its_memory_and_our_switch_does_not(report):
    shown = {row["switch"]: row for row in figure(report, "timeline").shown}
    held = {name: float(row["most aggregators, MB"]) for name, row in shown.items()}
    assert held["slices"] < held["SwitchGNN"] <= held["Straw-100MB"] <= 100 < held["Straw-UL"]
    shares = {name: row["sums, % of all that leaves"] for name, row in shown.items()}
    assert shares["Straw-UL"] == shares["SwitchGNN"] == "100"
    assert float(shares["Straw-100MB"]) < 100


def test_a_graph_that_is_provided_stands_beside_the_families(report):
    for name in ("copies", "strawman", "memory", "order", "components"):
        graphs = [row["graph"] for row in figure(report, name).rows]
        assert any(graph.endswith("mine.npz") for graph in graphs)
    assert "mine" in figure(report, "degrees").rows[0]


def test_a_graph_may_stand_for_a_family(tmp_path):
    path = provided(tmp_path)
    result = subjects.subjects([f"products={path}", path], 0.02)
    assert [each.family for each in result] == ["reddit", "yelp", "products", "mine"]
    assert [each.generated for each in result] == [True, True, False, False]
    assert result[2].vertices == result[3].vertices == 400
    assert result[2].paper == paper.DATA_SETS["products"]
    assert (result[3].paper.vertices, result[3].paper.features) == (400, 128)
    assert result[3].cut(4).aggregators(1) == 1_000_000 // (4 * 128)


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (["{0}", "{0}"], "gives mine twice"),
        (["yelp={0}", "yelp={0}"], "gives yelp twice"),
        (["gone.npz"], "gone.npz"),
        (["products"], "if it is to stand for products"),
        (["digits"], "must be a Matrix Market or an .npz file"),
        (["{1}"], "at least as many vertices"),
    ],
)
def test_graphs_that_cannot_be(tmp_path, texts, result):
    small = tmp_path / "small.mtx"
    mmwrite(small, load_graph("yelp:scale=0.001").adjacency)
    texts = [text.format(provided(tmp_path), small) for text in texts]
    with pytest.raises(UserError, match=result):
        subjects.subjects(texts, 0.02)


def test_rate_control_has_a_row_for_every_load_and_switch(report):
    rows = figure(report, "congestion").rows
    assert len(rows) == 2 * 2 * 2
    for row in rows:
        assert (row["halvings"] > 0) <= row["control"]
        assert (row["background"] > 0) == (row["load"] > 0)
        assert row["switch"] != "ours" or not row["lost"]


def test_times_are_those_of_the_papers_graph():
    """They are so at one bandwidth and size, whatever part of the graph is generated."""
    built = timed(Subject("reddit", 0.02).cut(4))
    line = built["Straw-UL"].line
    ratio = 232_965 / 400
    assert built["Straw-UL"].slot == pytest.approx(602 * 4 * 8 * ratio / 100e9 * 1e3)
    assert built["Straw-UL"].unit == pytest.approx(602 * 4 * ratio / 1e6)
    assert built["slices"].slot == pytest.approx(built["Straw-UL"].slot / 19)
    edges = np.array([0, built["Straw-UL"].time])
    assert built["Straw-UL"].at("leaving", edges)[0] == pytest.approx(
        0.1 * line.leaving.sum() / line.slots
    )


def test_racks_that_add_send_each_other_less_than_hosts_do(report):
    rows = {(row["workers"], row["system"]): row for row in figure(report, "leaf-spine").rows}
    for workers in (4, 16):
        hosts, own = rows[workers, "BNS-GCN"], rows[workers, "slices"]
        assert own["leaf to spine"] <= rows[workers, "slices, sums alone"]["leaf to spine"]
        assert own["leaf to spine"] < hosts["leaf to spine"]
        assert own["time"] < hosts["time"]
    assert rows[16, "BNS-GCN"]["leaf to spine"] > rows[4, "BNS-GCN"]["leaf to spine"]


def test_a_claim_that_does_not_hold_says_so(report):
    """Few workers copy a vertex less often than the paper's 128."""
    claim = figure(report, "copies").claims[0]
    assert not claim.holds
    assert float(claim.result) < paper.COPIES


def test_memories_are_in_proportion_to_the_graph():
    cut = Subject("reddit", 0.02).cut(4)
    part = 400 / paper.DATA_SETS["reddit"].vertices
    assert cut.aggregators(100) == int(100e6 * part / (602 * 4))
    assert cut.aggregators(100, slices=True) == int(100e6 * part / 128)
    assert cut.multilevel(100) is cut.multilevel(100)


def test_the_share_of_the_top_vertices():
    assert share_of_top(star(5), 0.2) == 0.5
    assert share_of_top(star(5), 1) == 1
    assert np.isclose(share_of_top(star(5), 0.4), 5 / 8)
