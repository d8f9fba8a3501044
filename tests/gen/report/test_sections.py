"""Tests the sections that a page shows for runs, sparse products, resources and a regression."""

import json
import re

import pytest

from gen.report.gather_section import figures, flat, gather_section, rows_section
from gen.report.gcn_section import gcn_section
from gen.report.regression_section import placed, regression_sections
from gen.report.resources_section import MODULES, resources_section, uses
from gen.report.run_section import run_section
from gen.report.training_section import training_section
from gen.synth.device import FILL
from tests.gen.report import sample
from tests.gen.report.sample import gcn_run, made_by


def test_a_run_shows_its_settings_figures_and_curves():
    run = made_by("count", "counter") | {"curves": {"sums": {"cycle": [1, 2], "sum": [3, 5]}}}
    section = run_section([("out/result.json", run)])
    assert section.title == "count"
    assert '<code>load</code></td><td class="n">3' in section.html
    assert "<code>kind</code>" not in section.html  # it was not set
    assert '<code>cycles</code></td><td class="n">1,234' in section.html
    (result,) = re.findall(r'class="figure">(.*?)</script>', section.html)
    plot = json.loads(result)
    assert [(trace["name"], trace["x"], trace["y"]) for trace in plot["data"]] == [
        ("sum", [1, 2], [3, 5])
    ]
    assert plot["layout"]["xaxis"]["title"]["text"] == "cycle"
    assert plot["layout"]["yaxis"]["title"]["text"] == "sums"


SECTIONS = {
    run_section: made_by("count", "counter"),
    gather_section: sample.gather(),
    gcn_section: gcn_run(),
    training_section: sample.training(),
}


@pytest.mark.parametrize(("section", "built"), SECTIONS.items())
def test_the_verdict_is_the_runs_own(section, built):
    for exact, shown in (
        (True, '<p class="good verdict">a &lt; b</p>'),
        (None, '<p class="warn verdict">a &lt; b</p>'),
        (False, '<p class="bad">Not what it must be: a &lt; b</p>'),
    ):
        html = section(
            [("a", built | {"exact": exact, "verdict": "a < b", "warnings": ["w"]})]
        ).html
        assert (
            html.count("a &lt; b") == html.count(shown) == html.count('<p class="bad">w</p>') == 1
        )
        assert ('<tr class="bad">' in html) == (exact is False and "float64" in html)
        assert "equal" not in html


def test_what_links_carried_is_a_bar():
    figures = {"row_bytes": 600, "read_bytes": 700, "link_bytes": 1000, "cycles": 1234}
    run = made_by("gather", "gather-engine") | {"figures": figures}
    section = rows_section([("out/result.json", run)])
    assert section.title == "Gathers from host memory"
    assert '<code>cycles</code></td><td class="n">1,234' in section.html
    (result,) = re.findall(r'class="figure">(.*?)</script>', section.html)
    assert [(trace["name"], trace["x"]) for trace in json.loads(result)["data"]] == [
        ("rows", [600]),
        ("idxs, and what is read beside rows", [100]),
        ("headers and framing", [300]),
    ]


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
    run = sample.gather(all=sample.node(goodput=0.25))
    assert figures([*run["nodes"], run["all"]]) == [
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


def test_tests_failures_and_coverage():
    content = sample.verify() | {"coverage": sample.coverage()}
    sections = regression_sections("all/verify/verify.json", content)
    titles = [section.title for section in sections]
    assert titles == ["Regression", "Failures", "Tests", "Coverage", "Coverage exclusions"]
    html = "".join(section.html for section in sections)
    assert "&lt;div" not in html
    assert "all/verify/verify.json" in sections[0].html
    assert sample.FAILURE["replay"] in html
    assert "tests/a.py::test_a" in html
    assert "hdl.common.fifo.Fifo" in html


def test_no_coverage():
    sections = regression_sections("verify.json", sample.verify() | {"coverage": None})
    assert [section.title for section in sections] == ["Regression", "Failures", "Tests"]


def test_files_are_named_from_the_reported_folder_on():
    html = "".join(
        section.html
        for section in regression_sections("all/verify.json", sample.verify() | {"coverage": None})
    )
    assert "all/failures/1/dump.vcd" in html
    assert "<a " not in html  # the page lies elsewhere
    assert placed(None, None) is None


def test_shares_of_the_card():
    lut, ff, *_, dsp = uses(sample.estimate())
    assert (lut.name, lut.offered, lut.shell, lut.design) == ("LUT", 2000, 200, 750)
    assert (lut.shell_share, lut.share, lut.limit) == (10, 37.5, FILL["luts"])
    assert not lut.too_much
    assert (ff.offered, ff.shell) == (4000, 100)
    assert dsp.share == 12


@pytest.mark.parametrize(("luts", "too_much"), [(1200, False), (1220, True)])
def test_a_limit_that_is_exceeded(luts, too_much):
    use = uses(sample.estimate(total=sample.resources(luts=luts)))[0]
    assert use.too_much is too_much


def test_bars_by_module():
    html = resources_section([("engine.json", sample.estimate(modules=12))]).html
    figure = json.loads(re.search(r'class="figure">(.*?)</script>', html).group(1))
    names = [trace["name"] for trace in figure["data"]]
    assert len(names) == MODULES + 1
    assert names[0] == "part_11 x 12"
    assert names[-1] == "4 others"
    assert figure["data"][0]["x"][0] == pytest.approx(100 * 110 * 12 / 2000)
    total = sum(trace["x"][0] for trace in figure["data"])
    assert total == pytest.approx(100 * sum(10 * k * (k + 1) for k in range(12)) / 2000)


def test_what_does_not_fit():
    content = sample.estimate(fits=False, lacks=["luts: 5 too many"])
    html = resources_section([("engine.json", content)]).html
    assert "Does not fit u280: luts: 5 too many." in html
    fitting = resources_section([("engine.json", sample.estimate())]).html
    assert "Fits u280" in fitting
