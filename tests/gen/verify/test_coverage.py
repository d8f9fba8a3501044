from gen.page.page import render
from gen.verify.coverage import sections

MEASURED = {
    "format": 1,
    "thresholds": {"line": 95, "toggle": 85},
    "components": [
        {
            "component": "hdl.common.fifo.Fifo",
            "modules": ["fifo_8x2", "fifo_9x4"],
            "line": {"hit": 96, "total": 100, "excluded": 7},
            "toggle": {"hit": 1200, "total": 2000, "excluded": 3000},
            "missed": [{"kind": "toggle", "module": "fifo_8x2", "where": "level[3] <rises>"}],
            "bins": [
                {"group": "Fifo o", "bin": "waits 8+", "hits": 12},
                {"group": "Fifo o", "bin": "idle", "hits": 0},
            ],
        }
    ],
    "exclusions": [
        {
            "kind": "toggle",
            "component": "*",
            "what": "clocks",
            "reason": "they tick",
            "points": 1234,
        }
    ],
    "below": ["hdl.common.fifo.Fifo: toggle coverage 60.0 % (1200 of 2000), below 85 %"],
}


def test_table_of_components():
    coverage, _ = sections(MEASURED)
    assert '<td class="n">96.0</td>' in coverage.html
    assert '<td class="n bad">60.0</td>' in coverage.html
    assert "below 85 %</li>" in coverage.html
    assert "Every component reaches" not in coverage.html


def test_all_components_together():
    coverage, _ = sections(MEASURED)
    assert "<b>60.0 %</b><span>of 2,000 toggle points</span>" in coverage.html
    assert "<b>1 / 2</b><span>functional bins</span>" in coverage.html


def test_missed_points_are_escaped():
    coverage, _ = sections(MEASURED)
    assert "fifo_8x2 toggle level[3] &lt;rises&gt;" in coverage.html
    assert "hdl.common.fifo.Fifo: 804 points, 1 bins" in coverage.html
    assert "and 803 more" in coverage.html
    assert "bin Fifo o: idle" in coverage.html
    assert "waits 8+" not in coverage.html


def test_exclusions_with_reason_and_points():
    _, exclusions = sections(MEASURED)
    assert '<td>they tick</td><td class="n">1,234</td>' in exclusions.html


def test_nothing_below_and_nothing_missed():
    coverage, _ = sections(MEASURED | {"components": [], "below": []})
    assert "Every component reaches its thresholds." in coverage.html
    assert "Nothing." in coverage.html


def test_sections_make_a_page():
    page = render("Regression", sections(MEASURED))
    assert 'id="coverage-exclusions"' in page
