"""Makes the part of the page about estimates: what designs take of the card, by module too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.page.page import Section, environment
from gen.report.figures import figure
from gen.synth.device import FILL, TITLES

HERE = Path(__file__).parent

MODULES = 8  #: most modules that have a colour of their own; the others share one


@dataclass(frozen=True, kw_only=True)
class Use:
    """Holds how much of one kind of resource a design takes."""

    name: str
    offered: int  #: how much the card offers
    shell: int  #: taken before the design is placed
    design: int
    limit: int  #: per cent of the card that a placement should fill at most

    @property
    def shell_share(self) -> float:
        """Return the shell's part, in per cent of the card."""
        return 100 * self.shell / self.offered

    @property
    def share(self) -> float:
        """Return the design's part, in per cent of the card, without the shell."""
        return 100 * self.design / self.offered

    @property
    def too_much(self) -> bool:
        """Return whether design and shell together exceed the limit."""
        return self.share + self.shell_share > self.limit


def resources_section(estimates: Sequence[tuple[str, Mapping[str, Any]]]) -> Section:
    """Make one part for all estimates, each with its label."""
    template = environment(HERE).get_template("resources.html.j2")
    rows = [(label, content, uses(content), by_module(content)) for label, content in estimates]
    return Section("Resources", template.render(estimates=rows, names=TITLES))


def uses(content: Mapping[str, Any]) -> list[Use]:
    """Return the use of each kind of resource that the card has limits for."""
    slrs = content["device"]["slrs"]

    def of_card(part: str, kind: str) -> int:
        return sum(slr[part]["lut" if kind == "luts" else kind] for slr in slrs)

    return [
        Use(
            name=name,
            offered=of_card("offers", kind),
            shell=of_card("shell", kind),
            design=content["total"][kind],
            limit=FILL[kind],
        )
        for kind, name in TITLES.items()
    ]


def by_module(content: Mapping[str, Any]) -> Any:
    """Return a plot of bars: what all instances of each module take, without their children."""
    offered = [use.offered for use in uses(content)]
    shares = {
        f"{module['name']} x {module['count']}": [
            100 * module["own"][kind] * module["count"] / whole
            for kind, whole in zip(TITLES, offered, strict=True)
        ]
        for module in content["modules"]
    }
    largest = sorted(shares, key=lambda name: (-max(shares[name]), name))
    shown = {name: shares[name] for name in largest[:MODULES]}
    if rest := [shares[name] for name in largest[MODULES:]]:
        shown[f"{len(rest)} others"] = [sum(amounts) for amounts in zip(*rest, strict=True)]
    kinds = list(TITLES.values())
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": kinds,
            "x": amounts,
            "hovertemplate": "%{y}: %{x:.3f} % of the card",
        }
        for name, amounts in shown.items()
    ]
    axes = {
        "xaxis": {"title": {"text": "% of the card"}, "rangemode": "tozero"},
        "yaxis": {"autorange": "reversed"},
    }
    return figure(traces, {"barmode": "stack", **axes}, height=20)
