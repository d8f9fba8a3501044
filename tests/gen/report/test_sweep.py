"""Tests what varies in a sweep, and which axes its plots begin with."""

import json
import re

import pytest

from gen.report.sweep import LOG_END, Axes, Sweep, cell, more_is_better, read_sweep, sweep_section
from tests.gen.report import sample


def built(points, spec=None):
    return Sweep("label", spec or {}, tuple(points))


def test_what_varies_and_what_does_not():
    sweep = built(sample.grid())
    assert sweep.varying == ["engines", "bits"]
    assert sweep.values["bits"] == [1, 2, 4, 8]
    assert sweep.constant == {"engine.banks": 8, "l2": False, "data": "digits"}
    assert (len(sweep.done), len(sweep.failed)) == (10, 1)


def test_axes_of_a_scaling_sweep():
    axes = Axes("engines", "bits", "cycles", "lut", "samples_per_second")
    assert built(sample.grid()).axes == axes


def test_objectives_of_a_search_are_the_axes():
    spec = {"search": {"maximise": ["cycles"], "minimise": ["samples_per_second"]}}
    axes = built(sample.grid(), spec).axes
    assert (axes.cost, axes.gain) == ("samples_per_second", "cycles")


def test_metrics_that_were_requested_come_first():
    sweep = built(sample.grid(), {"metrics": ["lut", "never"]})
    assert sweep.requested == ["lut"]
    assert sweep.metrics == ["lut", "cycles", "samples_per_second"]


def test_text_varies_but_is_no_axis_of_curves():
    points = [
        sample.point(1, 4, key=name, workload={"data": name}) for name in ("digits", "iris", "a")
    ]
    sweep = built(points)
    assert sweep.axes.x is None
    assert sweep.axes.lines == "data"
    assert sweep.values["data"] == ["a", "digits", "iris"]


def test_a_setting_that_not_all_points_have_varies():
    points = [sample.point(1, 4), sample.point(1, 4, key="b", workload={})]
    assert built(points).varying == ["bits", "data"]


def test_a_name_of_parameters_and_workload():
    sweep = built([sample.point(1, 4, workload={"engines": 7})])
    assert sweep.constant["engines"] == 1
    assert sweep.constant["workload.engines"] == 7


def test_no_points_have_no_axes():
    assert built([]).axes == Axes(None, None, None, None, None)
    assert built([sample.point(1, 4, "failed")]).axes.y is None


def test_a_grid_and_what_is_none():
    assert built(sample.grid()).is_grid
    assert built([sample.point(e, e % 2) for e in range(1, 5)]).is_grid
    assert not built([sample.point(e, e + 1) for e in range(1, 9)]).is_grid


def derived():
    points = sample.grid()
    for row in points:
        row.parameters["engine.banks"] = 8 // row.parameters["engines"]
    return points


def test_derived_settings_are_columns_and_no_axes():
    """They make no grid incomplete, which is drawn with lines."""
    spec = sample.SPEC | {"derive": {"banks": "8 / engines"}}
    sweep = built(derived(), spec)
    assert (sweep.varying, sweep.free) == (["engines", "engine.banks", "bits"], ["engines", "bits"])
    assert sweep.is_grid
    assert (sweep.axes.x, sweep.axes.lines) == ("engines", "bits")
    html = section(derived(), spec).html
    assert (
        '<th class="n">engines</th><th class="n">engine.banks</th><th class="n">bits</th>' in html
    )
    data = data_of(html)
    assert [setting["name"] for setting in data["settings"]] == ["engines", "bits"]
    assert data["points"]["settings"]["engine.banks"] == [8, 8, 4, 4, 4, 4, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("metric", "more"),
    [("samples_per_second", True), ("efficiency", True), ("cycles", False), ("luts", False)],
)
def test_which_path_is_good(metric, more):
    assert more_is_better(metric) is more


def test_read_from_its_file(tmp_path):
    path = sample.write_sweep(tmp_path / "a.sqlite", sample.grid())
    sweep = read_sweep(path, "a")
    assert sweep.spec == sample.SPEC
    assert [p.status for p in sweep.points][:4] == ["done", "failed", "waiting", "done"]


def section(points, spec=None):
    return sweep_section(Sweep("all/scaling.sqlite", spec or sample.SPEC, tuple(points)))


def data_of(html):
    return json.loads(re.search(r'class="sweep">(.*?)</script>', html).group(1))


def test_points_in_a_table():
    built = section(sample.grid())
    assert built.title == "Sweep scaling"
    table = built.html.partition("All points")[2]
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
