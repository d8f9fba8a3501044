"""Shows a sweep on the page: every point in its table, and the data of its plots."""

import json
import re

import pytest

from gen.report.sweep import Sweep
from gen.report.sweep_section import LOG_END, cell, sweep_section
from tests.gen.report import sample


def section(points, spec=None):
    return sweep_section(Sweep("all/scaling.sqlite", spec or sample.SPEC, tuple(points)))


def data_of(html):
    return json.loads(re.search(r'class="sweep">(.*?)</script>', html).group(1))


def test_points_in_a_table():
    made = section(sample.grid())
    assert made.title == "Sweep scaling"
    table = made.html.partition("All points")[2]
    assert table.count("<tr") == 1 + 12
    assert '<tr class="bad"><td class="n">1</td><td class="n">2</td><td>failed</td>' in table
    assert '<td class="n" data-key="1100.0">1,100</td>' in table
    assert 'class="sortable" data-filter="points"' in table


def test_a_failed_point_shows_its_error():
    points = [sample.point(1, 2), sample.point(1, 4, "failed", error="<3 & 4>")]
    assert "<td>&lt;3 &amp; 4&gt;</td>" in section(points).html
    points[1] = sample.point(1, 4, "failed", log="x" * 9000 + "<end>")
    html = section(points).html
    assert "x&lt;end&gt;</pre>" in html
    assert html.count("x" * 100) == LOG_END // 100 - 1
    assert "Failed points" not in section([sample.point(1, 2)]).html


def test_what_the_plots_are_drawn_from():
    data = data_of(section(sample.grid()).html)
    assert data["axes"]["x"] == "engines"
    assert [setting["name"] for setting in data["settings"]] == ["engines", "bits"]
    assert data["settings"][1] == {"name": "bits", "values": [1, 2, 4, 8], "numeric": True}
    assert data["more"] == ["samples_per_second"]
    points = data["points"]
    assert points["count"] == 10
    assert points["settings"]["engines"] == [1, 1, 2, 2, 2, 2, 4, 4, 4, 4]
    assert points["settings"]["bits"] == [1, 8, 1, 2, 4, 8, 1, 2, 4, 8]
    assert points["metrics"]["cycles"][:2] == [1100.0, 8100.0]
    assert points["metrics"].keys() == {"cycles", "samples_per_second", "lut"}


def test_plots_that_the_points_allow():
    kinds = re.compile(r'data-kind="(\w+)"')
    assert kinds.findall(section(sample.grid()).html) == ["curves", "pareto", "heat"]
    assert kinds.findall(section([sample.point(1, b) for b in (1, 2)]).html) == ["curves", "pareto"]
    assert kinds.findall(section([sample.point(1, 2, "failed")]).html) == []
    assert kinds.findall(section([]).html) == []


@pytest.mark.parametrize(
    ("value", "shown"), [(True, "yes"), (False, "no"), (None, "-"), (12000, "12,000"), ("a", "a")]
)
def test_cells(value, shown):
    assert cell(value) == shown
