"""Tests a page's frame: nothing from outside, nothing unescaped, and headings to jump to."""

import gzip
from base64 import b64decode
from hashlib import sha256

import pytest

from gen.base.heads import built_line
from gen.page import page
from gen.page.page import PLOTLY, Section, environment, render, thousands
from tests.gen.page.reader import Reader


def test_version_day_and_clock_are_on_top():
    head = render("t", [Section("One", "<p>clock</p>")]).partition("<header>")[2]
    assert head.startswith(f"<h1>t</h1><p>{built_line([250])}</p></header>")
    assert "MHz" not in render("t", [], clocks_mhz=())


def test_a_page_of_sections():
    text = render("A <page>", [Section("One & two", "<p>first</p>"), Section("3", "<p>x</p>")])
    read = Reader(text)
    assert text.startswith("<!DOCTYPE html>")
    assert "A &lt;page&gt;" in text
    assert "One &amp; two" in text
    assert "<p>first</p>" in text
    assert read.links == ["#one-two", "#3"]
    assert read.ids == ["one-two", "3"]
    assert "<details>" not in text
    many = Reader(render("t", [Section(str(number), "") for number in range(9)]))
    assert many.tags.index("details") < many.tags.index("a")
    assert len(many.links) == 9


def test_titles_that_are_alike_have_places_of_their_own():
    read = Reader(render("t", [Section("Same", ""), Section("same!", ""), Section("?", "")]))
    assert read.ids == ["same", "same-2", "section"]


@pytest.mark.parametrize("plotly", [False, True])
def test_nothing_is_loaded_from_elsewhere(plotly):
    read = Reader(render("t", [Section("One", "")], plotly=plotly))
    assert read.loads == []
    policy = [m["content"] for m in read.metas if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy
    assert "default-src 'none'" in policy[0]
    assert "@import" not in page.render("t", [])


#: Of package/plotly-cartesian.min.js in npm's plotly.js-cartesian-dist-min 4.1.1.
PUBLISHED = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"
MAX_BYTES = 750_000  # of a page with plotly, before there is anything on it


def test_plotly_stands_in_the_page_once():
    text = render("t", [], plotly=True)
    scripts = Reader(text).scripts
    assert len(scripts) == 3
    assert len(text) < MAX_BYTES
    library = gzip.decompress(b64decode(scripts[0]))
    assert sha256(library).hexdigest() == PUBLISHED
    assert b"* plotly.js (cartesian - minified) v4.1.1" in library
    assert "MIT License" in PLOTLY.with_name("LICENSE").read_text()
    assert len(Reader(render("t", [])).scripts) == 1


def test_equal_sections_give_equal_pages():
    assert render("t", [Section("a", "b")]) == render("t", [Section("a", "b")])


def test_templates_escape(tmp_path):
    (tmp_path / "a.j2").write_text("{{ text }} {{ 12345|thousands }}")
    shown = environment(tmp_path).get_template("a.j2").render(text="<b>")
    assert shown == "&lt;b&gt; 12,345"


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (None, "-"),
        (float("nan"), "-"),
        (float("-inf"), "-"),
        (0, "0"),
        (1234567, "1,234,567"),
        (2.0, "2"),
        (0.12345, "0.1235"),
    ],
)
def test_numbers(number, shown):
    assert thousands(number) == shown
