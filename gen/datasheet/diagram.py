"""Draws the block diagram of a design as SVG.

Between two columns of boxes there are three strips: next to each column arrows are straight and
carry their labels, and between these two strips they bend. So no arrow crosses a label.
"""

from dataclasses import dataclass
from itertools import cycle, pairwise
from xml.sax.saxutils import escape

from gen.datasheet.layers import Graph, Layout, lay_out
from gen.datasheet.links import Link, Structure

MAX_LETTERS = 32  #: most letters of a module's name that are shown; a tooltip has all
NARROWEST = 110  #: least width of a box
#: widths of a letter of a box's title, of the text below it and of a label
NAME_LETTER, MODULE_LETTER, LABEL_LETTER = 7.8, 6.3, 6.4
BEND = 64  #: width of the strip in which arrows bend
STUB = 14  #: least width of the strips beside it, for an arrowhead
STEP = 18  #: distance of arrows at the side of a box
MARGIN = 12
DRAWN_BITS = 32  #: signals of fewer bits are not drawn
REGISTERS = "register_block_"  #: blocks that are connected with almost all others

STYLE = """
.box{fill:var(--tint);stroke:var(--one);stroke-width:1.2}.pile{fill:var(--line)}
.pill{fill:var(--paper);stroke:var(--two);stroke-width:1.2}
.stream{fill:none;stroke:var(--one);stroke-width:1.6}
.signal{fill:none;stroke:var(--soft);stroke-width:1.2;stroke-dasharray:4 3}
text{font-family:system-ui,Helvetica,Arial,sans-serif;fill:var(--ink)}
.name{font-size:13px;font-weight:600;text-anchor:middle}
.module{font-size:10.5px;text-anchor:middle;fill:var(--soft)}
.label{font-size:11px;paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
""".replace("\n", "")


@dataclass(frozen=True, kw_only=True)
class Node:
    """Describes a box of the drawing: its texts and its shape."""

    title: str
    small: str  #: text below the title
    pill: bool  #: whether it is a port of the design, not a block
    pile: bool  #: whether it stands for several blocks or ports that are alike

    @property
    def width(self) -> float:
        """Return the width of the box in pixels: its texts fit."""
        return max(
            NARROWEST, 18 + NAME_LETTER * len(self.title), 14 + MODULE_LETTER * len(self.shown)
        )

    @property
    def shown(self) -> str:
        """Return the text below the title, cut if it is very long."""
        return self.small if len(self.small) <= MAX_LETTERS else f"{self.small[:MAX_LETTERS]}..."


def diagram(structure: Structure) -> str:
    """Return an SVG element that shows the blocks and the arrows between them."""
    links = drawn(structure)
    nodes = nodes_of(structure)
    graph = Graph(
        nodes=tuple(nodes),
        edges=[(link.source, link.sink) for link in links],
        first=frozenset(f"@{port.name}" for port in structure.ports if not port.begins),
        last=frozenset(f"@{port.name}" for port in structure.ports if port.begins),
    )
    layout = lay_out(graph, lambda arrows: max(34.0, STEP * (arrows + 1)))
    return Drawing(nodes, links, layout).svg()


def drawn(structure: Structure) -> list[Link]:
    """Return the links to draw: streams, wide signals, and the widest ones of lone blocks."""
    aside = {name for name, block in structure.blocks.items() if block.module.startswith(REGISTERS)}
    links = [
        link
        for link in structure.links
        if link.is_stream or (link.bits >= DRAWN_BITS and not {link.source, link.sink} & aside)
    ]
    for name in structure.blocks:
        if not any(name in (link.source, link.sink) for link in links):
            own = [link for link in structure.links if name in (link.source, link.sink)]
            links += sorted(own, key=lambda link: -link.bits)[:1]
    return links


def nodes_of(structure: Structure) -> dict[str, Node]:
    """Return the boxes by the names that links give to them."""
    nodes = {
        f"@{port.name}": Node(
            title=port.title,
            small=f"{port.kind}, {port.data_bits} bits",
            pill=True,
            pile=port.count > 1,
        )
        for port in structure.ports
    }
    for block in structure.blocks.values():
        times = f" x {block.count}" if block.count > 1 else ""
        nodes[block.name] = Node(
            title=f"{block.title}{times}", small=block.module, pill=False, pile=block.count > 1
        )
    return nodes


class Drawing:
    """Draws boxes and arrows at the places that a layout gives them."""

    def __init__(self, nodes: dict[str, Node], links: list[Link], layout: Layout) -> None:
        self.nodes, self.links, self.layout = nodes, links, layout
        self.labels = [words_of(link) for link in links]
        self.column_of = layout.column_of
        self.edges: list[tuple[float, float]] = []  #: left and right edge of each column
        strips = [self.strips(column) for column in range(len(layout.columns))]
        x = float(MARGIN)
        for column, (before, after) in zip(layout.columns, strips, strict=True):
            width = max([0.0, *(nodes[name].width for name in column if name in nodes)])
            self.edges.append((x, x + width))
            x += width + before + BEND + after
        self.width = self.edges[-1][1] + MARGIN
        self.bends = [  #: where arrows bend between each column and the next one
            (right + before, right + before + BEND)
            for (_, right), (before, _) in zip(self.edges, strips, strict=True)
        ]
        self.height = 2 * MARGIN + max(
            layout.middles[name] + layout.heights[name] / 2 for name in layout.middles
        )
        self.left, self.right = self.attachments()

    def strips(self, column: int) -> tuple[float, float]:
        """Return the widths of the two strips behind ``column`` in which arrows are straight."""
        widest = [float(STUB), float(STUB)]
        for words, route, turned in zip(
            self.labels, self.layout.routes, self.layout.turned, strict=True
        ):
            place = self.column_of[route[-1]] - 1 if turned else self.column_of[route[0]]
            if place == column:
                widest[turned] = max(widest[turned], STUB + LABEL_LETTER * len(words))
        return widest[0], widest[1]

    def y(self, name: str) -> float:
        """Return the height at which the middle of ``name`` lies."""
        return MARGIN + self.layout.middles[name]

    def attachments(self) -> tuple[dict[int, float], dict[int, float]]:
        """Return heights at which each edge leaves its left end, and comes to its right end."""
        ends: tuple[dict[int, float], dict[int, float]] = ({}, {})
        for place, neighbour, heights in ((0, 1, ends[0]), (-1, -2, ends[1])):
            at: dict[str, list[int]] = {}
            for index, route in enumerate(self.layout.routes):
                at.setdefault(route[place], []).append(index)
            for name, edges in at.items():
                edges.sort(key=lambda k: (self.y(self.layout.routes[k][neighbour]), k))
                for k, index in enumerate(edges):
                    heights[index] = self.y(name) + STEP * (k - (len(edges) - 1) / 2)
        return ends

    def svg(self) -> str:
        """Return the whole picture; its arrowheads' names are unique on a page."""
        arrows = [self.arrow(index) for index in range(len(self.links))]
        labels = [self.label(index) for index in range(len(self.links))]
        boxes = [self.box(name) for name in self.nodes]
        size = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" width="{self.width:.0f}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
                f"<style>{STYLE}</style>",
                "<defs>",
                head("stream", "var(--one)"),
                head("signal", "var(--soft)"),
                "</defs>",
                *arrows,
                *boxes,
                *labels,
                "</svg>",
            ]
        )

    def box(self, name: str) -> str:
        """Return the element of a block or a port, with its name."""
        node = self.nodes[name]
        height = self.layout.heights[name]
        x, y = self.edge_x(name, -1), self.y(name) - height / 2
        kind, radius = ("pill", 14) if node.pill else ("box", 4)
        rect = 'x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{}"'
        pile = rect.format(x + 4, y - 4, node.width, height, radius)
        front = rect.format(x, y, node.width, height, radius)
        lines = [f'<rect class="{kind} pile" {pile}/>'] if node.pile else []
        lines.append(f'<rect class="{kind}" {front}/>')
        middle = x + node.width / 2
        lines.append(text("name", middle, self.y(name) - 1, node.title))
        lines.append(text("module", middle, self.y(name) + 12, node.shown))
        return f"<g><title>{escape(node.title)}: {escape(node.small)}</title>{''.join(lines)}</g>"

    def arrow(self, index: int) -> str:
        """Return a line along the edge's route, whose head is at the sink on either side."""
        points = self.points(index)
        if self.layout.turned[index]:
            points.reverse()
        path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        for straight, ((x, y), (u, v)) in zip(cycle((True, False)), pairwise(points), strict=False):
            if straight:
                path += f"H{u:.1f}"
            else:
                middle = (x + u) / 2
                path += f"C{middle:.1f} {y:.1f} {middle:.1f} {v:.1f} {u:.1f} {v:.1f}"
        kind = "stream" if self.links[index].is_stream else "signal"
        return f'<path class="{kind}" d="{path}" marker-end="url(#head-{kind})"/>'

    def points(self, index: int) -> list[tuple[float, float]]:
        """Return an edge's corners from left to right; straight and bent parts take turns."""
        route = self.layout.routes[index]
        heights = [self.left[index], *map(self.y, route[1:-1]), self.right[index]]
        points = [(self.edge_x(route[0], 1), heights[0])]
        for name, (y, v) in zip(route, pairwise(heights), strict=False):
            begins, ends = self.bends[self.column_of[name]]
            points += [(begins, y), (ends, v)]
        return [*points, (self.edge_x(route[-1], -1), heights[-1])]

    def label(self, index: int) -> str:
        """Return the text of a stream's name and width, beside its source."""
        route = self.layout.routes[index]
        if self.layout.turned[index]:
            x, y, anchor = self.edge_x(route[-1], -1) - 7, self.right[index], "end"
        else:
            x, y, anchor = self.edge_x(route[0], 1) + 7, self.left[index], "start"
        return (
            f'<text class="label" x="{x:.1f}" y="{y - 4:.1f}" text-anchor="{anchor}">'
            f"{escape(self.labels[index])}</text>"
        )

    def edge_x(self, name: str, side: int) -> float:
        """Return the place of a node's left (-1) or right (1) side."""
        left, right = self.edges[self.column_of[name]]
        return (left + right + side * self.nodes[name].width) / 2


def words_of(link: Link) -> str:
    """Return a link's label: name, bits, and how many there are."""
    times = f" x {link.count}" if link.count > 1 else ""
    return f"{link.label} {link.bits}{times}".strip()


def head(kind: str, colour: str) -> str:
    """Return the definition of an arrowhead."""
    return (
        f'<marker id="head-{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8"'
        f' markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" style="fill:{colour}"/></marker>'
    )


def text(kind: str, x: float, y: float, words: str) -> str:
    """Return a line of text in the middle of a box."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'
