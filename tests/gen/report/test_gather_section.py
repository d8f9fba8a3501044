"""Shows sparse products on the page."""

import json
import re

from gen.report.gather_section import figures, flat, gather_section
from tests.gen.report import sample


def test_what_became_of_the_idxs():
    html = gather_section([("a", sample.gather())]).html
    figure = json.loads(re.search(r'class="figure">(.*?)</script>', html).group(1))
    assert {trace["name"]: trace["y"] for trace in figure["data"]} == {
        "local": [60, 60],
        "coalesced": [10, 10],
        "filtered": [20, 20],
        "PR": [10, 10],
    }


def test_figures_by_node():
    assert figures(sample.gather(all=sample.node(goodput=0.25))) == [
        ("goodput", [0.5, 0.5, 0.25]),
        ("prs_per_packet.reads", [3.0, 3.0, 3.0]),
        ("prs_per_packet.responses", [None, None, None]),
    ]
    assert dict(flat({"a": {"b": 1}, "x_counters": {"c": 2}})) == {"a.b": 1}


def test_the_network():
    html = gather_section([("a", sample.gather())]).html
    assert "70,000 bytes in 300 packets, summed over 4 links" in html
    assert "node 1 has received most, 20,000 bytes" in html
    assert '<th class="n">ToR 0</th>' in html
    assert '<td>packets_in.reads</td><td class="n">150</td>' in html
    old = sample.gather()
    del old["network"]
    assert "summed over" not in gather_section([("a", old)]).html
