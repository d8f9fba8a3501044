"""Shows graph networks on the page."""

import json
import re

from gen.report.gcn_section import gcn_section
from tests.gen.report.sample import gcn_run


def figures(html):
    return [json.loads(text) for text in re.findall(r'class="figure">(.*?)</script>', html)]


def test_curves_and_frames():
    html = gcn_section([("a", gcn_run())]).html
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


def test_each_switch_of_racks_has_a_column():
    workers = gcn_run()["hardware_counters"]["workers"]
    switches = {"leaf_0": {"switch": {"rows": 654321}}, "spine_0": {"switch": {"rows": 5}}}
    racks = gcn_run(hardware_counters={"workers": workers, "switches": switches})
    html = gcn_section([("a", racks)]).html
    assert '<th class="n">leaf_0</th><th class="n">spine_0</th>' in html
    assert '<code>rows</code></td><td class="n">654,321</td><td class="n">5</td>' in html


def test_a_run_without_hardware_has_curves_alone():
    html = gcn_section([("a", gcn_run(hardware_counters={}, traffic={}))]).html
    assert len(figures(html)) == 2
    assert "Counters" not in html


def test_a_run_without_a_switch_has_no_preset():
    alone = gcn_run(exact=None, workload={"adder": None, "workers": 1, "plan": None})
    assert "<td>-</td><td>-</td>" in gcn_section([("a", alone)]).html
