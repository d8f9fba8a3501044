"""Shows a regression on the page of all results."""

from gen.report.regression_section import placed, regression_sections
from tests.gen.report import sample


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
