"""Tests what the bench makes of the figures of ``ingather synth --card``."""

from gen.commands import bench_timing
from gen.commands.bench_timing import BEFORE, judged, rows
from gen.designs.catalogue import designs

NET = {"driver": "part.reset", "registered": False, "loads": 1_001}
WORSE = NET | {"driver": "part.enable", "loads": 2_000}


def clock(name, mhz, levels, path="top: a to b"):
    return {"name": name, "mhz": mhz, "depth": {"most_levels": levels}, "path": path}


def figures(levels=8, chains=1, crowded=(), crossings=()):
    return {
        "clocks": [clock("sync", 250, levels), clock("hbm", 450, 4), clock("idle", 450, 0, "")],
        "reset": {"resets": 99, "driver": "part.core_reset", "module": "top"},
        "total": dict.fromkeys(("luts", "ff", "bram18", "uram", "dsp"), 7),
        "depth": {"most_levels": max(levels, 4), "most_chains": chains},
        "modules": [{"name": "leaf", "crowded": []}, {"name": "top", "crowded": list(crowded)}],
        "crossings": list(crossings),
    }


def test_what_is_at_its_limit_keeps_it():
    judged_ones = ["yes", "", "yes", "yes", "yes", "", "yes"]
    assert [row.verdict for row in judged("worker", figures(), {})] == [*judged_ones, *[""] * 5]


def test_a_core_is_judged_at_a_faster_clock():
    levels, allowed, *_ = judged("worker", figures(levels=7), {}, 300)
    assert (levels.what, levels.holds) == (
        "worker: levels on any path of clock sync, 300 MHz",
        False,
    )
    assert allowed.value == 281  # 7 levels take 3.55 ns
    assert judged("worker", figures(levels=6), {}, 300)[0].holds


def test_each_limit_is_judged_and_says_where_it_is_passed():
    passed = [
        (0, figures(levels=9), "top: a to b"),
        (3, figures(chains=2), ""),
        (4, figures(crowded=[NET, WORSE]), "part.enable of top"),
        (6, figures(crossings=["no floorplan: a wire"]), "no floorplan: a wire"),
    ]
    for place, result, note in passed:
        built = judged("worker", result, {})
        assert [k for k, row in enumerate(built) if not row.holds] == [place]
        assert built[place].note == note


def test_what_a_design_takes_stands_beside_what_it_took():
    built = judged("worker", figures(), {"most_chains": 2, "uram": 1_234})
    notes = {row.what: (row.value, row.note) for row in built}
    assert notes["worker: levels on any path of clock hbm, 450 MHz"] == (4, "top: a to b")
    assert notes["worker: carry chains on any path"] == (1, "2 before")
    assert notes["worker: registers that a wire resets"] == (99, "part.core_reset of top")
    assert notes["worker: URAM"] == (7, "1,234 before")
    assert notes["worker: LUT"] == (7, "")


def test_what_was_before_is_of_designs_and_figures_that_there_are():
    kinds = {"most_chains", "crowded", *figures()["total"]}
    for name, before in BEFORE.items():
        assert designs()[name].cards
        assert set(before) <= kinds


def test_every_design_with_a_card_is_queried(monkeypatch):
    requested, alone, in_shells = [], [], []

    def synth(name, *, preset="", card="", shell=""):
        assert preset.startswith(card)
        (requested if card else in_shells if shell else alone).append((name, preset or shell))
        return 1.0, figures()

    monkeypatch.setattr(bench_timing, "synth", synth)
    built = rows(lambda text: None)
    assert ("p4sgd-worker", "u280") in requested
    assert ("p4sgd-worker", "u280-16") in requested
    assert ("netsparse-snic", "u280") in requested
    assert not any(name == "p4sgd-engine" for name, _ in requested + alone)
    assert ("mina-switch", "") in alone
    assert ("mina-switch", "opennic") in in_shells
    assert len(built) == 12 * len(requested) + 3 * len(alone + in_shells)
    faster = {name.split(":")[0] for row in built if "300 MHz" in (name := row.what)}
    assert {name for name in faster if " for " in name} == {
        *("p4sgd-worker for vitis", "p4sgd-switch for vitis")
    }
