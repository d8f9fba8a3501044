"""Shows graph networks on the page."""

import json
import re

from gen.report.gcn_section import STYLES, gcn_section
from sim.switchgnn.gcn.traffic import FRAMES, traffic

NAMES = {
    name for kinds in FRAMES.values() for pair in kinds.values() for side in pair for name in side
}


def epoch(number):
    losses = {f"{source}_loss": 2.0 / (1 + number) for source in STYLES}
    accuracies = {f"{source}_test_accuracy": 0.25 * number for source in STYLES}
    return {"epoch": number} | losses | accuracies


def run(**changes):
    """Return a run as ``ingather gcn`` writes it, a small one."""
    workers = [{name: 10 * k for name in NAMES} | {"sent_again": 0} for k in (1, 2)]
    found = {
        "title": "digits, 64 x 32 x 10",
        "preset": "small",
        "workload": {"adder": "rtl", "workers": 2, "plan": "destinations"},
        "data": {"name": "digits", "vertices": 1797, "edges": 24680},
        "cut": {"edges": 900},
        "epochs": [epoch(number) for number in range(4)],
        "figures": {"frames": 3578.5, "repeats": 0.0, "cycles": 3581.0},
        "exact": True,
        "verdict": "all equal",
        "warnings": [],
        "hardware_counters": {"workers": workers, "switch": {"rows": 123456}},
        "traffic": traffic(workers),
    }
    return found | changes


def figures(html):
    return [json.loads(text) for text in re.findall(r'class="figure">(.*?)</script>', html)]


def test_curves_and_frames():
    html = gcn_section([("a", run())]).html
    loss, accuracy, sent, taken = figures(html)
    names = ["without the graph", "float64", "one worker", "workers"]
    assert [trace["name"] for trace in loss["data"]] == names
    assert loss["data"][3]["y"] == [2.0, 1.0, 2 / 3, 0.5]
    assert accuracy["data"][0]["y"] == [0, 0.25, 0.5, 0.75]
    assert {trace["name"]: trace["y"] for trace in sent["data"]} == {
        "features": [20, 40],
        "FETCH": [10, 20],
        "DONE": [10, 20],
    }
    assert taken["data"][0] == {
        "type": "bar",
        "name": "sums",
        "x": ["worker 0", "worker 1"],
        "y": [10, 20],
    }
    assert "<td><code>rows</code></td>" in html
    assert len({trace["line"]["color"] for trace in loss["data"] if "line" in trace}) == 3
    assert loss["layout"]["xaxis"]["dtick"] == 1


def test_a_run_without_hardware_has_curves_alone():
    html = gcn_section([("a", run(hardware_counters={}, traffic={}))]).html
    assert len(figures(html)) == 2
    assert "Counters" not in html


def test_a_run_without_a_switch_has_no_preset():
    alone = run(exact=None, workload={"adder": None, "workers": 1, "plan": None})
    assert "<td>-</td><td>-</td>" in gcn_section([("a", alone)]).html
