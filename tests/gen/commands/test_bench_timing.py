"""What the bench makes of the figures of ``ingather synth --card``."""

from gen.commands import bench_timing
from gen.commands.bench_timing import judged, rows

NET = {"driver": "part.reset", "registered": False, "loads": 1_001}
WORSE = NET | {"driver": "part.enable", "loads": 2_000}


def figures(levels=8, chains=1, crowded=(), crossings=()):
    path = {"module": "top", "start": "a", "end": "b"}
    return {
        "depth": {"most_levels": levels, "most_chains": chains, **path},
        "modules": [{"name": "leaf", "crowded": []}, {"name": "top", "crowded": list(crowded)}],
        "crossings": list(crossings),
    }


def test_what_is_at_its_limit_keeps_it():
    assert [row.verdict for row in judged("worker", figures())] == ["yes"] * 4


def test_each_limit_is_judged_and_says_where_it_is_passed():
    passed = [
        (figures(levels=9), "worst path of top: a to b"),
        (figures(chains=2), ""),
        (figures(crowded=[NET, WORSE]), "part.enable of top"),
        (figures(crossings=["no floorplan: a wire"]), "no floorplan: a wire"),
    ]
    for place, (found, note) in enumerate(passed):
        made = judged("worker", found)
        assert [row.holds for row in made] == [k != place for k in range(4)]
        assert made[place].note == note


def test_every_design_with_a_card_is_asked(monkeypatch):
    asked = []

    def synth(name, *, card, cache):
        asked.append((name, card))
        return 1.0, figures()

    monkeypatch.setattr(bench_timing, "synth", synth)
    made = rows(lambda text: None)
    assert ("p4sgd-worker", "u280") in asked
    assert ("netsparse-snic", "u280") in asked
    assert not any(name == "p4sgd-engine" for name, _ in asked)
    assert len(made) == 4 * len(asked)
