"""Writes the datasheet of a generated design: one page of HTML that needs nothing else."""

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from gen.base.emission.emit import Emission, domain_ports
from gen.base.settings import find_parameter, parameters
from gen.datasheet.diagram import DRAWN_BITS, diagram
from gen.datasheet.interfaces import SIGNAL, Interface, interfaces
from gen.datasheet.links import structure
from gen.datasheet.prose import function_and_timing, of_build, paragraphs, sentence_about, to_html
from gen.datasheet.rules import rules
from gen.designs.catalogue import designs
from gen.designs.design import load
from gen.guides.guide import as_html
from gen.page.page import Section, environment, render
from gen.synth.clock_timing import timings
from gen.synth.resources import KINDS
from hdl.common.component import Component
from hdl.common.core_clock import CORE_MHZ


def datasheet(
    emission: Emission,
    *,
    design: str,
    preset: str,
    settings: Mapping[str, Any],
    resources: Mapping[str, Any] | None = None,
    guide: str = "",
    mhz: float | None = None,
) -> str:
    """Return the datasheet of ``emission``: function, ports, blocks, delays, registers, size.

    ``settings`` are those that a user changed. ``resources`` is an estimate as ``ingather synth``
    writes it in JSON: ``total``, ``clocks``, and ``modules`` with ``name`` and ``own``, each a
    mapping of KINDS. ``guide`` is the programming guide, in Markdown. ``mhz`` is the clock of the
    core, unless ``emission`` is a card that has one or it is CORE_MHZ. Equal
    arguments give equal text on the same day, see :func:`gen.base.heads.built_line`.
    """
    top = emission.top
    component = top.component
    docstring = type(component).__doc__
    reported = of_build(" ".join(paragraphs(docstring)), component.params)
    function, timing = (
        [*filter(None, (of_build(text, component.params) for text in texts))]
        for texts in function_and_timing(docstring)
    )
    register_map = getattr(component, "register_map", None)
    ports = interfaces(component)
    buses = [port for port in ports if port.kind != SIGNAL]
    changed = len(settings)
    values = {
        "top": top.name,
        "mhz": f"{mhz or getattr(component, 'core_mhz', CORE_MHZ):g}",
        "about": first_line(docstring),
        "function": function,
        "timing": timing,
        "parameters": parameter_rows(component, settings),
        "changed": changed,
        "diagram": Markup(diagram(structure(emission))),
        "drawn_bits": DRAWN_BITS,
        "clocks": [domain_ports(domain) for domain in top.domains],
        "paths": resources["clocks"]
        if resources
        else [c.describe() for c in timings(top, {}, mhz)],
        "buses": buses,
        "rules": rules_of(buses),
        "reset_cycles": component.reset_cycles,
        "signals": [(p, sentence_about(p.name, reported)) for p in ports if p.kind == SIGNAL],
        "latencies": latencies(component),
        "modules": module_rows(emission, resources),
        "kinds": KINDS,
        "total": (resources or {}).get("total"),
        "map": None if register_map is None else register_map(component.params),
        **capacity_of(design, component.params),
        "guide": as_html(guide) if guide else "",
        "digest": emission.digest,
    }
    return render(f"{design}, {preset}{', changed' if changed else ''}", sections(values))


def sections(values: Mapping[str, Any]) -> list[Section]:
    """Return the parts of the page, each a block of the template; registers and guide if any."""
    titles = {
        "function": "Function",
        "blocks": "Block diagram",
        "ports": "Ports",
        "rules": "Interfaces" if values["rules"] else "",
        "timing": "Timing",
        "capacity": "Capacity" if values["capacity"] else "",
        "registers": "Registers" if values["map"] else "",
        "programming": "Programming" if values["guide"] else "",
        "parameters": "Parameters",
        "modules": "Modules and resources" if values["total"] else "Modules",
    }
    return [Section(title, section(name, values)) for name, title in titles.items() if title]


def capacity_of(design: str, params: Any) -> dict[str, Any]:
    """Return the most data that a design of the catalogue holds, and what is said of them."""
    known = designs().get(design)
    if known is None or not known.capacity:
        return {"capacity": []}
    function = load(known.capacity)
    texts = (of_build(text, params) for text in paragraphs(function.__doc__)[1:])
    return {"capacity": function(params), "held": [*filter(None, texts)]}


def rules_of(buses: Sequence[Interface]) -> dict[str, list[str]]:
    """Map the names of buses and streams that have the same rules to these rules."""
    same: dict[tuple[str, ...], list[str]] = {}
    for port in buses:
        same.setdefault((port.kind, *rules(port)), []).append(port.title)
    return {f"{', '.join(names)}: {kind}": texts for (kind, *texts), names in same.items()}


def section(name: str, values: Mapping[str, Any]) -> str:
    """Return the text of one part of the page, a block of the template of that name."""
    template = templates().get_template("sections.html.j2")
    return "".join(template.blocks[name](template.new_context(dict(values))))


def templates() -> Environment:
    """Load the templates of the page's parts."""
    built = environment(Path(__file__).parent)
    built.filters["prose"] = to_html
    built.globals["zip"] = zip
    return built


def parameter_rows(component: Component, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every parameter with its value, and whether the user changed it."""
    kind = type(component.params)
    changed = {find_parameter(kind, name).path for name in settings}
    return [
        {
            "path": parameter.path,
            "value": shown(reduce(getattr, parameter.path.split("."), component.params)),
            "doc": parameter.doc,
            "changed": parameter.path in changed,
        }
        for parameter in parameters(kind)
    ]


def first_line(docstring: str | None) -> str:
    """Return the first paragraph of a docstring."""
    return next(iter(paragraphs(docstring)), "")


def shown(value: Any) -> str:
    """Return a parameter's value as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def latencies(component: Component) -> dict[str, int]:
    """Map what takes time to its cycles: the component's ``latencies``, or its ``latency``."""
    if known := getattr(component, "latencies", {}):
        return dict(known)
    latency = getattr(component, "latency", None)
    return {"from input to output": latency} if isinstance(latency, int) else {}


def module_rows(emission: Emission, resources: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return each distinct module, parents first, with its function and its resources."""
    estimated = {part["name"]: part["own"] for part in (resources or {}).get("modules", ())}
    counts = emission.counts()
    return [
        {
            "name": name,
            "count": counts[name],
            "about": first_line(module.kind.__doc__),
            "own": estimated.get(name),
        }
        for name, module in reversed(emission.modules.items())
    ]
