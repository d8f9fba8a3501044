"""Tests what the bench makes of the figures of ``ingather synth --card``."""

from gen.commands import bench_timing
from gen.commands.bench_timing import BEFORE, judged, rows
from gen.designs.catalogue import designs

NET = {"driver": "part.reset", "registered": False, "loads": 1_001}
WORSE = NET | {"driver": "part.enable", "loads": 2_000}


def figures(levels=8, chains=1, crowded=(), crossings=()):
    path = {"module": "top", "start": "a", "end": "b"}
    return {
        "total": dict.fromkeys(("luts", "ff", "bram18", "uram", "dsp"), 7),
        "depth": {"most_levels": levels, "most_chains": chains, **path},
        "modules": [{"name": "leaf", "crowded": []}, {"name": "top", "crowded": list(crowded)}],
        "crossings": list(crossings),
    }


def test_what_is_at_its_limit_keeps_it():
    assert [row.verdict for row in judged("worker", figures(), {})] == ["yes"] * 4 + [""] * 5


def test_each_limit_is_judged_and_says_where_it_is_passed():
    passed = [
        (figures(levels=9), "worst path of top: a to b"),
        (figures(chains=2), ""),
        (figures(crowded=[NET, WORSE]), "part.enable of top"),
        (figures(crossings=["no floorplan: a wire"]), "no floorplan: a wire"),
    ]
    for place, (found, note) in enumerate(passed):
        made = judged("worker", found, {})
        assert [row.holds for row in made] == [k != place for k in range(len(made))]
        assert made[place].note == note


def test_what_a_design_takes_stands_beside_what_it_took():
    made = judged("worker", figures(), {"most_levels": 10, "uram": 1_234})
    notes = {row.what: (row.value, row.note) for row in made}
    assert notes["worker: levels on any path"] == (8, "10 before; worst path of top: a to b")
    assert notes["worker: URAM"] == (7, "1,234 before")
    assert notes["worker: LUT"] == (7, "")


def test_what_was_before_is_of_designs_and_figures_that_there_are():
    kinds = {"most_levels", "most_chains", "crowded", *figures()["total"]}
    for name, before in BEFORE.items():
        assert designs()[name].cards
        assert set(before) <= kinds


def test_every_design_with_a_card_is_asked(monkeypatch):
    asked = []

    def synth(name, *, card):
        asked.append((name, card))
        return 1.0, figures()

    monkeypatch.setattr(bench_timing, "synth", synth)
    made = rows(lambda text: None)
    assert ("p4sgd-worker", "u280") in asked
    assert ("netsparse-snic", "u280") in asked
    assert not any(name == "p4sgd-engine" for name, _ in asked)
    assert len(made) == 9 * len(asked)
