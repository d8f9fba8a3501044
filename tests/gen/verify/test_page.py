from html.parser import HTMLParser

from gen.verify.page import page, sections


def run(built, cycles=100):
    return {
        "component": "hdl.common.fifo.Fifo",
        "top": "fifo",
        "test_module": "tests.x",
        "seed": 1,
        "built": built,
        "build_seconds": 1.0,
        "seconds": 2.0,
        "cycles": cycles,
        "cases": [{"name": "c", "passed": True, "cycles": 100, "seconds": 1.0, "message": ""}],
    }


def item(test, seed, outcome="passed", runs=(), failure=None, message=""):
    return {
        "test": test,
        "seed": seed,
        "outcome": outcome,
        "seconds": 3.0,
        "message": message,
        "runs": list(runs),
        "failure": failure,
    }


WRONG = {"cycle": 12, "stream": "o", "index": 3, "expected": "<7>", "got": "9"}
FAILURE = {
    "case": "c",
    "first_wrong": WRONG,
    "replay": "python -m pytest 'a&b'",
    "log": "failures/1/log.txt",
    "waves": "/elsewhere/dump.vcd",
    "gtkw": None,
}
REGRESSION = {
    "started": "2026-01-02T03:04:05+00:00",
    "seconds": 12.0,
    "jobs": 2,
    "seeds": [1, 2],
    "interrupted": False,
    "simulation_seconds": 8.0,
    "items": [
        item("a.py::t[<x>]", 1, runs=[run(True)]),
        item("a.py::t[<x>]", 2, "failed", [run(False)], FAILURE, "wrong <b>"),
        item("b.py::u", 1, runs=[run(False, 12345)]),
        item("b.py::v", 1, "skipped"),
    ],
}


class Cells(HTMLParser):
    """Collects the rows of the last table, as texts, and all links."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.links, self.cell = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self.rows = []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = ""
        if tag == "a":
            self.links.append(dict(attributes)["href"])

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1].append(self.cell)
            self.cell = None


def test_a_row_a_test():
    rows = Cells(sections(REGRESSION)[-1].html).rows
    assert [row[0] for row in rows[1:]] == ["a.py::t[<x>]", "b.py::u", "b.py::v"]
    first = dict(zip(rows[0], rows[1], strict=True))
    assert first == {
        "test": "a.py::t[<x>]",
        "outcome": "passed, failed",
        "seeds": "2",
        "failed seeds": "2",
        "cases": "2",
        "cycles": "200",
        "cycles/s": "50",
        "simulator": "some built",
        "build s": "2.0",
        "sim s": "4.0",
        "all s": "6.0",
    }
    assert rows[2][5:8] == ["12,345", "6,172", "cached"]
    assert rows[3][5:8] == ["0", "-", ""]


def test_failures_with_first_wrong_beat_and_replay():
    titles = [section.title for section in sections(REGRESSION)]
    assert titles == ["Regression", "Failures", "Tests"]
    html = sections(REGRESSION)[1].html
    result = Cells(html)
    assert result.rows[1] == ["o", "12", "3", "<7>", "9"]
    assert result.links == ["failures/1/log.txt"]
    assert "python -m pytest &#39;a&amp;b&#39;" in html
    assert "wrong &lt;b&gt;" in html


def test_without_failures_there_is_no_section_of_them():
    good = {**REGRESSION, "items": REGRESSION["items"][:1]}
    assert [section.title for section in sections(good)] == ["Regression", "Tests"]


def test_an_interrupt_is_reported():
    assert "Interrupted" not in sections(REGRESSION)[0].html
    assert "Interrupted" in sections({**REGRESSION, "interrupted": True})[0].html


def test_whole_page_with_coverage():
    measured = {
        "thresholds": {"line": 95, "toggle": 85},
        "components": [
            {
                "component": "hdl.common.fifo.Fifo",
                "modules": ["fifo"],
                "line": {"hit": 9, "total": 10, "excluded": 1},
                "toggle": {"hit": 9, "total": 10, "excluded": 1},
                "missed": [],
                "bins": [],
            }
        ],
        "exclusions": [],
        "below": ["hdl.common.fifo.Fifo: line 90 %"],
    }
    built = page(REGRESSION, measured)
    assert built.startswith("<!DOCTYPE html>")
    assert "Coverage" in built
    assert "Coverage" not in page(REGRESSION, None)
    assert built == page(REGRESSION, measured)
