"""Holds the prose of datasheets to readers who have the hardware and not the project."""

import re
from types import SimpleNamespace

import pytest

from gen.datasheet.interfaces import SIGNAL, interfaces
from gen.datasheet.page import first_line
from gen.datasheet.prose import of_build, paragraphs, sentence_about, to_html
from gen.designs.catalogue import designs
from hdl.common.component import Component

OWN = re.compile(r":[a-z]+:|\b(?:gen|hdl|sim|tests)[./]|\bparams\.|\w\.py\b")
PRESETS = [(name, preset) for name, design in designs().items() for preset in design.presets]


def component_of(name, preset):
    design = designs()[name]
    return design.make(design.params_of(preset))


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_a_design_speaks_of_what_its_reader_has(name, preset):
    component = component_of(name, preset)
    for text in paragraphs(type(component).__doc__):
        assert not OWN.search(to_html(of_build(text, component.params)))


def all_components():
    """Yield each class of hardware whose module is imported."""
    below = [Component]
    while below:
        kind = below.pop()
        below += kind.__subclasses__()
        if kind.__module__.startswith("hdl."):
            yield kind


def test_a_module_speaks_of_what_its_reader_has():
    lines = {kind.__name__: to_html(first_line(kind.__doc__)) for kind in all_components()}
    assert len(lines) > 100
    assert {name: line for name, line in lines.items() if OWN.search(line)} == {}


@pytest.mark.parametrize("name", designs())
def test_each_signal_has_its_sentence(name):
    component = component_of(name, "tiny")
    text = " ".join(paragraphs(type(component).__doc__))
    signals = [port.name for port in interfaces(component) if port.kind == SIGNAL]
    assert [name for name in signals if not sentence_about(name, text)] == []


def test_references_to_the_project():
    text = "Uses :class:`~hdl.a.Fifo` (:mod:`sim.b`), of (:data:`x` or more) ``y``."
    assert to_html(text) == ("Uses <code>Fifo</code>, of (<code>x</code> or more) <code>y</code>.")


TEXT = "Is. With ``params.cache``, it keeps 1.5 of hdl.x. Without ``params.cache``, none. Ends."


@pytest.mark.parametrize(
    ("cache", "reported"),
    [
        (8, "Is. With ``cache``, it keeps 1.5 of hdl.x. Ends."),
        (0, "Is. Without ``cache``, none. Ends."),
    ],
)
def test_options_that_a_build_lacks(cache, reported):
    assert of_build(TEXT, SimpleNamespace(cache=cache)) == reported


@pytest.mark.parametrize(
    ("bus", "reported"), [("axi", ""), ("pcie", "With ``bus`` pcie, it is so.")]
)
def test_options_with_a_value(bus, reported):
    assert of_build("With ``params.bus`` pcie, it is so.", SimpleNamespace(bus=bus)) == reported


@pytest.mark.parametrize(("count", "reported"), [(1, ""), (2, "With ``count`` above 1, it is so.")])
def test_options_with_a_number(count, reported):
    text = "With ``params.count`` above 1, it is so."
    assert of_build(text, SimpleNamespace(count=count)) == reported


def test_the_sentence_about_a_port_or_its_group():
    text = "It is. ``busy`` is high; ``done`` is not. The ports ``msix`` ask."
    assert sentence_about("done", text) == "``done`` is not"
    assert sentence_about("msix_send", text) == "The ports ``msix`` ask"
    assert sentence_about("other", text) == ""
