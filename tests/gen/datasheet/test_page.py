import re
from html.parser import HTMLParser

import pytest

from gen.base.emission.emit import emit
from gen.datasheet.interfaces import SIGNAL, interfaces
from gen.datasheet.page import datasheet
from gen.datasheet.prose import function_and_timing, paragraphs, to_html
from gen.designs.catalogue import find_design
from gen.synth.clock_timing import ClockTiming
from gen.synth.depth import Depth
from gen.synth.resources import KINDS
from tests.gen.sample import Pair, PairParams

VOID = {"meta", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """Checks that tags close in order; keeps rows, links and anchors."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.links, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def sheet(emission, **options):
    arguments = {"design": "demo", "preset": "tiny", "settings": {}} | options
    return datasheet(emission, **arguments)


@pytest.fixture(scope="module")
def page(demo):
    return Page(sheet(demo, settings={"bits": "40"}))


def test_stands_alone(page, demo):
    assert [link for link in page.links if "//" in link] == []
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert inside
    assert set(inside) <= set(page.ids)
    text = sheet(demo)
    # Arrowheads are part of the page, too.
    assert set(re.findall(r"url\(#([\w-]+)\)", text)) <= set(page.ids)
    elsewhere = text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "http" not in elsewhere


def test_ports_in_their_interfaces(page):
    assert ["words_0..1", "stream", "sink", "2", "40", ""] in page.rows
    assert ["m_axi", "AXI4", "manager", "1", "64", "12-bit addresses, 2-bit IDs"] in page.rows
    assert ["irq", "output", "1", "1", ""] in page.rows
    assert ["clk", "input", "1", "1", "clock; rising edges count"] in page.rows


def test_parameters_registers_timing_and_modules(page, demo):
    assert ["bits", "40", "of a word"] in page.rows
    assert ["0x000", "all", "All there is."] in page.rows
    reported = [row[2:6] for row in page.rows if row[2:3] in (["step"], ["sum_low"])]
    assert reported == [["step", "7:0", "rw", "0x0"], ["sum_low", "15:8", "ro", ""]]
    assert ["word to sum", "2"] in page.rows
    assert ["unit_2x40", "2", "Adds step."] in page.rows
    text = sheet(demo)
    assert "A demonstration of <code>units</code> units &amp; what they bring." in text
    assert "<p>Of no use.</p>" in text
    assert "<p>Throughput: a word a cycle and unit. Latency: <code>latencies</code>.</p>" in text
    assert 'href="registers_html/index.html"' in text
    assert "&lt;so far&gt;" in text


def test_what_a_user_changed_is_marked(demo):
    changed = sheet(demo, settings={"bits": "40"})
    assert '<tr class="set"><td><code>bits</code>' in changed
    assert '<tr class="set"><td><code>units</code>' not in changed
    assert 'class="set"' not in sheet(demo)


def test_resources_where_there_is_an_estimate(demo):
    own = dict.fromkeys(KINDS, 0) | {"lut": 1234}
    total = dict.fromkeys(KINDS, 1) | {"lut": 2468}
    path = Depth(levels=8, start="a", end="b", most_levels=9)
    clock = ClockTiming(name="sync", mhz=250.0, module="unit_2x40", depth=path).describe()
    modules = [{"name": "unit_2x40", "count": 2, "own": own}]
    estimate = {"total": total, "modules": modules, "clocks": [clock]}
    page = Page(sheet(demo, resources=estimate))
    assert ["unit_2x40", "2", "1,234", *["0"] * 6, "Adds step."] in page.rows
    assert ["sum_2x40", "1", *["-"] * 7, "Sums up, and writes sums to memory."] in page.rows
    assert ["All instances", "", "2,468", *["1"] * 6, ""] in page.rows
    assert ["sync", "250", "4.000", "8", "9, too many", "unit_2x40: a to b"] in page.rows


def test_clocks_where_there_is_no_estimate(page):
    assert ["sync", "250", "4.000", "8"] in page.rows


def test_a_design_without_registers_or_prose():
    text = sheet(emit(Pair(PairParams())))
    page = Page(text)
    assert "registers" not in page.ids
    assert ["first", "1"] in page.rows


def test_the_most_data_that_fit():
    """Numbers are those of the build, which is not the preset's."""
    params = find_design("p4sgd-worker").params_of("tiny", fifo_words=48)
    emission = emit(find_design("p4sgd-worker").make(params))
    text = sheet(emission, design="p4sgd-worker")
    page = Page(text)
    assert "capacity" in page.ids
    assert ["Bits", "Features", "Samples"] in page.rows
    assert [row[:2] for row in page.rows if row[0] in ("3", "4")] == [["3", "512"], ["4", "384"]]
    samples = (1 << params.address_bits) // (12 * 4 * 32) * 8
    assert ["4", "384", f"{samples:,}"] in page.rows
    assert "more workers share them and hold as many each" in text
    assert "capacity" not in Page(sheet(emission)).ids


def test_same_emission_same_text(demo):
    assert sheet(demo) == sheet(demo)


TEXT = """Adds.

    What it
    does. Throughput: one a cycle. Latency: 2.

    More.
    """


def test_paragraphs_are_lines():
    assert paragraphs(TEXT)[1] == "What it does. Throughput: one a cycle. Latency: 2."
    assert paragraphs(None) == []


def test_timing_begins_at_throughput():
    function, timing = function_and_timing(TEXT)
    assert function == ["What it does.", "More."]
    assert timing == ["Throughput: one a cycle. Latency: 2."]


def test_code_and_markup():
    assert to_html("``a < b`` & :class:`x.Y`, `z`") == (
        "<code>a &lt; b</code> &amp; <code>x.Y</code>, <code>z</code>"
    )


def test_a_design_without_buses_has_no_empty_parts(demo, monkeypatch):
    parts = ("<h3>Buses and streams", ">Interfaces<")
    assert all(part in sheet(demo) for part in parts)
    monkeypatch.setattr(
        "gen.datasheet.page.interfaces",
        lambda component: [each for each in interfaces(component) if each.kind == SIGNAL],
    )
    assert not any(part in sheet(demo) for part in parts)
