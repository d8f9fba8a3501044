"""Checks the picture: what is in it, and that all of it is inside."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from gen.floorplan.drawing import BOXES_WIDTH, MARGIN, WIDTH, to_svg
from gen.floorplan.solver import solve
from gen.synth.device import U280
from tests.gen.floorplan.plans import engine_groups, engines_alone, part

SVG = "{http://www.w3.org/2000/svg}"


def drawn(floorplan, title=""):
    return ElementTree.fromstring(to_svg(floorplan, title))


def texts(root):
    return [element.text for element in root.iter(f"{SVG}text")]


def boxes(root):
    """Return each part's left edge and width."""
    result = {}
    for group in root.iter(f"{SVG}g"):
        name = group.find(f"{SVG}title").text.partition(":")[0]
        rect = group.find(f"{SVG}rect")
        result.setdefault(name, (float(rect.get("x")), float(rect.get("width"))))
    return result


@pytest.fixture(scope="module")
def groups():
    return solve(*engine_groups(), U280)


def test_says_what_lies_where(groups):
    result = texts(drawn(groups, "Eight engines"))
    assert result[0] == "Eight engines on U280"
    for text in ("SLR0", "SLR2", "group_1", "hub", "32,000 LUT", "shell", "4,950 of 11,520 wires"):
        assert text in result
    assert result.count("198 of 256") == 2, "URAM of SLR0 and of SLR1"
    assert result.index("SLR2") < result.index("SLR1") < result.index("SLR0"), "SLR0 is below"


def test_boxes_are_as_wide_as_their_luts(groups):
    result = boxes(drawn(groups))
    assert result["group_0"][1] / result["hub"][1] == pytest.approx(33 / 32, abs=0.01)
    assert result["group_2"][1] / result["group_1"][1] == pytest.approx(2 / 3, abs=0.01)


def test_a_use_beyond_the_limit_is_marked(groups):
    device = replace(U280, crossing_wires=4_000)
    assert to_svg(replace(groups, device=device)).count("#b3261e") == 1 + to_svg(groups).count(
        "#b3261e"
    )


@pytest.mark.parametrize("count", [1, 8])
def test_boxes_stay_inside(count):
    parts, links = engines_alone(count)
    parts += [part(f"tiny_{k}", 1, slr=0) for k in range(8)]
    result = boxes(drawn(solve(parts, links, U280)))
    assert all(left + width <= MARGIN + BOXES_WIDTH for left, width in result.values())
    assert MARGIN + BOXES_WIDTH < WIDTH


def test_nothing_to_draw():
    assert "SLR1" in texts(drawn(solve([], [], U280)))


def test_the_same_every_time(groups):
    assert to_svg(groups) == to_svg(groups)
