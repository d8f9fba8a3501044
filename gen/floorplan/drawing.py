"""Draws a floorplan as SVG."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gen.floorplan.model import Floorplan, Part
from gen.synth.device import FILL, LIMITED

WIDTH = 980
MARGIN = 24
TITLE_HEIGHT = 96
SLR_HEIGHT = 176
GAP = 54  #: between SLRs, where the wires are
BOXES_WIDTH = 520
BARS_LEFT = MARGIN + BOXES_WIDTH + 32
BAR_LEFT, BAR_WIDTH = BARS_LEFT + 58, 150
NARROW = 92  #: a box as wide as this has its name across
NAMES = {"luts": "LUT", "ff": "FF", "bram18": "BRAM18", "uram": "URAM", "dsp": "DSP"}

INK, FAINT, PAPER, SHELL, EDGE = "#1f2733", "#5c6673", "#ffffff", "#c3c9d1", "#d5dae1"
LIMIT = "#b3261e"
COLOURS = ("#7fa7d6", "#8cc4a4", "#e2b56b", "#b79bd1", "#d98f8f", "#7fc0c7", "#b5b56a", "#c7a08a")


def to_svg(floorplan: Floorplan, title: str = "") -> str:
    """Return a drawing of the SLRs as they lie on the device, the last one on top.

    Boxes are as wide as their LUTs, on one scale; bars show use against what each SLR offers, with
    the shell's part and the limit; between SLRs stand the wires. Equal floorplans, equal bytes.
    """
    slrs = floorplan.device.slrs
    height = TITLE_HEIGHT + len(slrs) * SLR_HEIGHT + (len(slrs) - 1) * GAP + MARGIN
    svg = Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        width=str(WIDTH),
        height=str(height),
        viewBox=f"0 0 {WIDTH} {height}",
        attrib={"font-family": "Helvetica, Arial, sans-serif"},
    )
    rectangle(svg, 0, 0, WIDTH, height, PAPER)
    add_title(svg, floorplan, title)
    for row, index in enumerate(reversed(range(len(slrs)))):
        top = TITLE_HEIGHT + row * (SLR_HEIGHT + GAP)
        add_boxes(svg, floorplan, index, top)
        add_bars(svg, floorplan, index, top)
        if index:
            add_wires(svg, floorplan, index - 1, top + SLR_HEIGHT)
    indent(svg)
    return tostring(svg, encoding="unicode") + "\n"


def add_title(svg: Element, floorplan: Floorplan, title: str) -> None:
    """Draw the title, and the meaning of the marks."""
    name = floorplan.device.name.upper()
    write(svg, MARGIN, 34, f"{title} on {name}" if title else f"Floorplan on {name}", size=20)
    fullest = f"fullest SLR at {100 * floorplan.fill:.0f} % of its budget"
    wires = f"{floorplan.objective:,} wires between SLRs"
    write(svg, MARGIN, 56, f"{wires}, {fullest}", size=13, colour=FAINT)
    left = MARGIN
    marks = ((SHELL, "shell"), (COLOURS[0], "parts, as wide as their LUTs"), (LIMIT, "limit"))
    for colour, text in marks:
        width = 2 if colour == LIMIT else 12
        rectangle(svg, left + 6 - width / 2, 70, width, 12, colour)
        write(svg, left + 18, 80, text, size=12, colour=FAINT)
        left += 40 + 6.2 * len(text)


def add_boxes(svg: Element, floorplan: Floorplan, index: int, top: float) -> None:
    """Draw an SLR with the shell and its parts."""
    slr = floorplan.device.slrs[index]
    rectangle(svg, MARGIN, top, BOXES_WIDTH, SLR_HEIGHT, "#f5f7f9", EDGE)
    write(svg, MARGIN + 10, top + 20, slr.name, size=14, weight="bold")
    left = MARGIN + 10.0
    boxes = [("shell", slr.shell.luts, SHELL)] if slr.shell.luts else []
    boxes += [
        (part.name, part.resources.luts, colour_of(floorplan.parts, part))
        for part in floorplan.parts_of(index)
    ]
    per_pixel = scale(floorplan)
    for name, luts, colour in boxes:
        width = max(luts / per_pixel, 16)
        add_box(svg, (left, top + 30, width, SLR_HEIGHT - 42), name, luts, colour)
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


def add_box(
    svg: Element, place: tuple[float, float, float, float], name: str, luts: int, colour: str
) -> None:
    """Draw a part, with its name across or upwards."""
    left, top, width, height = place
    group = SubElement(svg, "g")
    SubElement(group, "title").text = f"{name}: {luts:,} LUT"
    rectangle(group, left, top, width, height, colour, INK, round_by=3)
    middle_x, middle_y = left + width / 2, top + height / 2
    if width >= NARROW:
        write(group, middle_x, middle_y - 3, name, size=13, anchor="middle")
        write(group, middle_x, middle_y + 14, f"{luts:,} LUT", size=11, anchor="middle")
    else:
        text = write(group, middle_x + 4, middle_y, name, size=12, anchor="middle")
        text.set("transform", f"rotate(-90 {number(middle_x + 4)} {number(middle_y)})")


def add_bars(svg: Element, floorplan: Floorplan, index: int, top: float) -> None:
    """Draw a bar for each kind of resource: what the SLR offers, its limit, and what is used."""
    slr, use = floorplan.device.slrs[index], floorplan.use[index]
    for row, kind in enumerate(LIMITED):
        y = top + 12 + row * 32
        offered, shell = getattr(slr.offers, kind), getattr(slr.shell, kind)
        used, budget = getattr(use, kind), slr.budget[kind]
        pixels = BAR_WIDTH / max(offered, 1)
        write(svg, BAR_LEFT - 8, y + 13, NAMES[kind], size=12, anchor="end")
        rectangle(svg, BAR_LEFT, y, BAR_WIDTH, 18, "#eceff3", EDGE)
        rectangle(svg, BAR_LEFT, y, shell * pixels, 18, SHELL)
        colour = COLOURS[0] if used <= budget else LIMIT
        rectangle(svg, BAR_LEFT + shell * pixels, y + 3, used * pixels, 12, colour)
        rectangle(svg, BAR_LEFT + BAR_WIDTH * FILL[kind] / 100 - 1, y - 3, 2, 24, LIMIT)
        text = f"{used:,} of {budget:,}"
        write(svg, BAR_LEFT + BAR_WIDTH + 10, y + 13, text, size=12)


def add_wires(svg: Element, floorplan: Floorplan, boundary: int, top: float) -> None:
    """Draw the wires between two SLRs: a bar from none to the limit, with the figure."""
    wires, limit = floorplan.wires[boundary], floorplan.device.crossing_wires
    left, width, y = MARGIN + 90, 220, top + GAP / 2
    for x in range(4):
        line = {"x1": number(MARGIN + 24 + 14 * x), "x2": number(MARGIN + 24 + 14 * x)}
        line |= {"y1": number(top + 4), "y2": number(top + GAP - 4)}
        SubElement(svg, "line", stroke=FAINT, attrib=line | {"stroke-width": "2"})
    rectangle(svg, left, y - 6, width, 12, "#eceff3", EDGE)
    colour = COLOURS[1] if wires <= limit else LIMIT
    rectangle(svg, left, y - 6, width * min(wires / max(limit, 1), 1), 12, colour)
    rectangle(svg, left + width - 1, y - 9, 2, 18, LIMIT)
    write(svg, left + width + 12, y + 4, f"{wires:,} of {limit:,} wires", size=12)


def rectangle(
    parent: Element,
    left: float,
    top: float,
    width: float,
    height: float,
    fill: str,
    stroke: str = "none",
    round_by: float = 0,
) -> None:
    """Draw a filled rectangle."""
    place = {"x": left, "y": top, "width": width, "height": height, "rx": round_by}
    attributes = {name: number(value) for name, value in place.items()}
    SubElement(parent, "rect", fill=fill, stroke=stroke, attrib=attributes)


def write(
    parent: Element,
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    colour: str = INK,
    anchor: str = "start",
    weight: str = "normal",
) -> Element:
    """Draw a line of text that starts, ends or is centred at a point."""
    attributes = {"font-size": str(size), "text-anchor": anchor, "font-weight": weight}
    element = SubElement(parent, "text", x=number(x), y=number(y), fill=colour, attrib=attributes)
    element.text = text
    return element


def number(value: float) -> str:
    """Return a number with at most two digits after the point, and no more than it needs."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
