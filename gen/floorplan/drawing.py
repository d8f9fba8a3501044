"""Draws a floorplan as SVG."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gen.base.templates import render
from gen.floorplan.model import Floorplan, Part
from gen.synth.device import FILL, LIMITED, TITLES

WIDTH = 980
MARGIN = 24
TITLE_HEIGHT = 96
SLR_HEIGHT = 176
GAP = 54  #: between SLRs, where the wires are
BOXES_WIDTH = 520
BARS_LEFT = MARGIN + BOXES_WIDTH + 32
BAR_LEFT, BAR_WIDTH, WIRES_WIDTH = BARS_LEFT + 58, 150, 220

INK, FAINT, SHELL, EDGE = "#1f2733", "#5c6673", "#c3c9d1", "#d5dae1"
LIMIT = "#b3261e"
COLOURS = ("#7fa7d6", "#8cc4a4", "#e2b56b", "#b79bd1", "#d98f8f", "#7fc0c7", "#b5b56a", "#c7a08a")
#: what the template knows of places and colours
PLACES = {
    **{"width": WIDTH, "margin": MARGIN, "slr_height": SLR_HEIGHT, "gap": GAP},
    **{"boxes_width": BOXES_WIDTH, "bar_left": BAR_LEFT, "bar_width": BAR_WIDTH},
    **{"wires_width": WIRES_WIDTH, "ink": INK, "faint": FAINT, "edge": EDGE, "shell": SHELL},
    **{"limit": LIMIT, "bar_colour": COLOURS[0], "wires_colour": COLOURS[1]},
    "narrow": 92,  # a box as wide as this has its name across
}


def to_svg(floorplan: Floorplan, title: str = "") -> str:
    """Return a drawing of the SLRs as they lie on the device, the last one on top.

    Boxes are as wide as their LUTs, on one scale; bars show use against what each SLR offers, with
    the shell's part and the limit; between SLRs stand the wires. Equal floorplans, equal bytes.
    """
    slrs, name = floorplan.device.slrs, floorplan.device.name.upper()
    tops = [TITLE_HEIGHT + row * (SLR_HEIGHT + GAP) for row in range(len(slrs))]
    return render(
        Path(__file__).parent,
        "drawing.svg.j2",
        **PLACES,
        height=tops[-1] + SLR_HEIGHT + MARGIN,
        title=f"{title} on {name}" if title else f"Floorplan on {name}",
        summary=f"{floorplan.objective:,} wires between SLRs, fullest SLR at"
        f" {100 * floorplan.fill:.0f} % of its budget",
        marks=list(marks()),
        rows=[
            {
                "top": top,
                "name": slrs[index].name,
                "boxes": list(boxes(floorplan, index)),
                "bars": list(bars(floorplan, index)),
                "wires": wires(floorplan, index - 1) if index else None,
            }
            for top, index in zip(tops, reversed(range(len(slrs))), strict=True)
        ],
        n=number,
    )


def marks() -> Iterator[tuple[float, int, str, str]]:
    """Yield the meanings of the marks: place, width, colour, words."""
    left = float(MARGIN)
    for width, colour, words in (
        (12, SHELL, "shell"),
        (12, COLOURS[0], "parts, as wide as their LUTs"),
        (2, LIMIT, "limit"),
    ):
        yield left, width, colour, words
        left += 40 + 6.2 * len(words)


def boxes(floorplan: Floorplan, index: int) -> Iterator[dict[str, Any]]:
    """Yield the boxes of an SLR from left to right: the shell, if any, and its parts."""
    shell = floorplan.device.slrs[index].shell.luts
    result = [("shell", shell, SHELL)] if shell else []
    result += [
        (part.name, part.resources.luts, colour_of(floorplan.parts, part))
        for part in floorplan.parts_of(index)
    ]
    left, per_pixel = MARGIN + 10.0, scale(floorplan)
    for name, luts, colour in result:
        width = max(luts / per_pixel, 16)
        size = f"{luts:,} LUT"
        yield {"left": left, "width": width, "name": name, "size": size, "colour": colour}
        left += width + 4


def scale(floorplan: Floorplan) -> float:
    """Return the LUTs to a pixel at which the widest row of boxes fits."""
    rows = [
        (slr.shell.luts + use.luts, len(floorplan.parts_of(index)) + 1)
        for index, (slr, use) in enumerate(zip(floorplan.device.slrs, floorplan.use, strict=True))
    ]
    return max(max(luts / max(BOXES_WIDTH - 20 - 20 * count, 40) for luts, count in rows), 1e-3)


def colour_of(parts: Sequence[Part], part: Part) -> str:
    """Return a part's colour; parts whose names differ only in numbers share one."""
    stems = list(dict.fromkeys(each.name.rstrip("0123456789") for each in parts))
    return COLOURS[stems.index(part.name.rstrip("0123456789")) % len(COLOURS)]


def bars(floorplan: Floorplan, index: int) -> Iterator[dict[str, Any]]:
    """Yield a bar for each kind of resource: what the SLR offers, its limit, and what is used."""
    slr, use = floorplan.device.slrs[index], floorplan.use[index]
    for kind in LIMITED:
        used, budget = getattr(use, kind), slr.budget[kind]
        pixels = BAR_WIDTH / max(getattr(slr.offers, kind), 1)
        yield {
            "kind": TITLES[kind],
            "shell": getattr(slr.shell, kind) * pixels,
            "used": used * pixels,
            "limit": BAR_WIDTH * FILL[kind] / 100,
            "over": used > budget,
            "words": f"{used:,} of {budget:,}",
        }


def wires(floorplan: Floorplan, boundary: int) -> dict[str, Any]:
    """Return the bar of the wires between two SLRs, from none to the limit."""
    used, limit = floorplan.wires[boundary], floorplan.device.crossing_wires
    return {
        "used": WIRES_WIDTH * min(used / max(limit, 1), 1),
        "over": used > limit,
        "words": f"{used:,} of {limit:,} wires",
    }


def number(value: float) -> str:
    """Return a number with at most two digits after the point, and no more than it needs."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
