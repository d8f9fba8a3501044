import re
from itertools import pairwise
from xml.etree import ElementTree

from gen.datasheet.diagram import diagram
from gen.datasheet.links import Block, Link, Structure, structure

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_shows_all_blocks_ports_and_streams(demo):
    shown = texts(diagram(structure(demo)))
    for words in (
        "unit_0..1 x 2",
        "sum",
        "registers",
        "words_0..1",
        "stream, 40 bits",
        "AXI4, 64 bits",
        "o 40 x 2",
        "axis 64",
        "axil 32",
    ):
        assert words in shown


def test_all_is_inside_the_picture(demo):
    tree = ElementTree.fromstring(diagram(structure(demo)))
    _, _, width, height = map(float, tree.get("viewBox").split())
    boxes = list(tree.iter(f"{SVG}rect"))
    assert len(boxes) >= 7
    for box in boxes:
        x, y, w, h = (float(box.get(name)) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= 0
        assert x + w <= width
        assert y + h <= height


def test_arrows_are_of_streams_and_of_wide_signals():
    blocks = {
        name: Block(name=name, module=f"{name}_1", count=1) for name in ("a", "b", "c", "<d>")
    }
    links = [
        Link(source="a", sink="b", label="data", bits=8, count=1),
        Link(source="b", sink="a", label="", bits=31, count=1),
        Link(source="b", sink="c", label="", bits=32, count=1),
        Link(source="c", sink="<d>", label="", bits=2, count=1),  # its only one
    ]
    svg = diagram(Structure(blocks, [], links))
    arrows = [path for path in ElementTree.fromstring(svg).iter(f"{SVG}path") if path.get("class")]
    assert [path.get("class") for path in arrows] == ["stream", "signal", "signal"]
    assert {"data 8", "32", "2", "<d>"} <= set(texts(svg))
    assert "31" not in texts(svg)


def test_the_register_block_is_drawn_with_its_bus_alone():
    blocks = {
        "registers": Block(name="registers", module="register_block_x", count=1),
        "a": Block(name="a", module="a", count=1),
        "b": Block(name="b", module="b", count=1),
    }
    links = [
        Link(source="registers", sink="a", label="", bits=100, count=1),
        Link(source="a", sink="b", label="data", bits=8, count=1),
    ]
    assert "100" in texts(diagram(Structure(blocks, [], links)))
    links.append(Link(source="b", sink="registers", label="axil", bits=32, count=1))
    assert "100" not in texts(diagram(Structure(blocks, [], links)))


def test_same_structure_same_text(demo):
    assert diagram(structure(demo)) == diagram(structure(demo))


def route(path):
    """Return points along the path of an arrow: its straight parts, and samples of its bends."""
    points = []
    for letter, numbers in re.findall(r"([MHC])([-\d. ]+)", path):
        values = [float(number) for number in numbers.split()]
        if letter == "M":
            points.append(tuple(values))
        elif letter == "H":
            points += [
                (points[-1][0] + (values[0] - points[-1][0]) * k / 50, points[-1][1])
                for k in range(51)
            ]
        else:
            x, y, (a, b, c, d, u, v) = *points[-1], values
            for t in (k / 50 for k in range(51)):
                shares = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
                points.append(
                    tuple(
                        sum(s * p for s, p in zip(shares, ends, strict=True))
                        for ends in ((x, a, c, u), (y, b, d, v))
                    )
                )
    return points


def crossed(svg):
    """Return labels with an arrow through their letters."""
    tree = ElementTree.fromstring(svg)
    arrows = [route(path.get("d")) for path in tree.iter(f"{SVG}path") if path.get("class")]
    result = []
    for text in tree.iter(f"{SVG}text"):
        if text.get("class") != "label":
            continue
        words, x, y = text.text, float(text.get("x")), float(text.get("y"))
        width = 6 * len(words)
        left = x - width if text.get("text-anchor") == "end" else x
        hits = [
            p
            for arrow in arrows
            for p in arrow
            if left < p[0] < left + width and y - 8 < p[1] < y + 2
        ]
        result += [words] * bool(hits)
    return result


def test_no_arrow_crosses_a_label(demo):
    names = ["a", "b", "c", "d"]
    blocks = {name: Block(name=name, module=f"{name}_1", count=1) for name in names}
    links = [
        Link(source=source, sink=sink, label=f"{source} to {sink}, a long name", bits=512, count=16)
        for source in names
        for sink in names
        if source != sink
    ]
    assert crossed(diagram(Structure(blocks, [], links))) == []
    assert crossed(diagram(structure(demo))) == []


def test_texts_fit_their_boxes():
    blocks = {name: Block(name=name, module=f"{name}_{'m' * 60}", count=1) for name in ("a", "bb")}
    links = [Link(source="a", sink="bb", label="data", bits=8, count=1)]
    tree = ElementTree.fromstring(diagram(Structure(blocks, [], links)))
    widths = [float(box.get("width")) for box in tree.iter(f"{SVG}rect")]
    texts = [text.text for text in tree.iter(f"{SVG}text") if text.get("class") == "module"]
    assert all(width > 6 * len(words) for width, words in zip(widths, texts, strict=True))
    edges = sorted((float(b.get("x")), float(b.get("width"))) for b in tree.iter(f"{SVG}rect"))
    assert all(x + width < u for (x, width), (u, _) in pairwise(edges))
