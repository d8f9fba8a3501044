"""Compares the solver with trying everything."""

import random
import sys
from dataclasses import replace
from itertools import product

import pytest

from gen.base.errors import UserError
from gen.floorplan.model import Floorplan, FloorplanError
from gen.floorplan.solver import passed_limits, solve
from gen.synth.device import LIMITED, U280
from tests.gen.floorplan.plans import (
    engine_groups,
    engines_alone,
    link,
    part,
    small_device,
)
from tests.rejects import refuses


def keeps_registers(floorplan):
    return all(
        abs(floorplan.assignment[item.a] - floorplan.assignment[item.b]) <= item.reach
        for item in floorplan.links
    ) and all(p.slr in (None, floorplan.assignment[p.name]) for p in floorplan.parts)


def brute_force(parts, links, device):
    """Return the least wires, then the least fill; None if nothing is within the limits."""
    best = None
    for slrs in product(range(len(device.slrs)), repeat=len(parts)):
        assignment = dict(zip((p.name for p in parts), slrs, strict=True))
        floorplan = Floorplan(
            device=device, parts=tuple(parts), links=tuple(links), assignment=assignment
        )
        if keeps_registers(floorplan) and not passed_limits(floorplan):
            result = floorplan.objective, floorplan.fill
            best = result if best is None else min(best, result)
    return best


def random_case(seed):
    draw = random.Random(seed)
    count = draw.randint(3, 6)
    names = [f"p{i}" for i in range(count)]
    parts = [
        part(
            name,
            draw.randint(50, 600),
            uram=draw.randint(0, 60),
            slr=draw.choice([None] * 5 + [0, 2]),
        )
        for name in names
    ]
    links = []
    for _ in range(draw.randint(2, 8)):
        a, b = draw.sample(names, 2)
        shared = draw.choice([None, None, "s", "t"])
        links.append(
            link(a, b, draw.randint(1, 30), reach=draw.choice([0, 1, 1, 2, 2, 2, 2]), shared=shared)
        )
    return parts, links, small_device(wires=draw.choice([20, 40, 80]))


@pytest.mark.parametrize("seeds", [range(0, 20), range(20, 40)])
def test_as_good_as_trying_everything(seeds):
    outcomes = set()
    for seed in seeds:
        parts, links, device = random_case(seed)
        best = brute_force(parts, links, device)
        outcomes.add(best is None)
        if best is None:
            with pytest.raises(FloorplanError):
                solve(parts, links, device)
            continue
        result = solve(parts, links, device)
        assert keeps_registers(result), seed
        assert passed_limits(result) == [], seed
        assert result.objective == best[0], seed
        assert result.fill == pytest.approx(best[1], abs=1e-4), seed
    assert outcomes == {True, False}, "the cases are of both kinds"


def test_limits_are_reached_but_not_passed():
    device = small_device(luts=1000, wires=50)
    parts = [part("a", 1000, slr=0), part("b", 1000)]
    result = solve(parts, [link("a", "b", 50)], device)
    assert result.wires == (50, 0)
    assert result.assignment == {"a": 0, "b": 1}
    assert result.fill == 1.0


def test_wires_beyond_a_neighbour_count_at_both_boundaries():
    parts = [part("a", slr=0), part("b", slr=2)]
    assert solve(parts, [link("a", "b", 7)], small_device()).wires == (7, 7)


def test_shared_wires_count_once_at_a_boundary():
    parts = [part("a", slr=0), part("b", slr=1), part("c", slr=2)]
    links = [link("a", "b", 30, shared="s"), link("a", "c", 30, shared="s"), link("a", "c", 5)]
    assert solve(parts, links, small_device()).wires == (35, 35)


def test_even_where_wires_leave_a_choice():
    result = solve([part(f"p{i}", 400) for i in range(6)], [], small_device())
    assert [use.luts for use in result.use] == [800, 800, 800]


def test_alike_parts_lie_in_order():
    result = solve([part(f"p{i}", 400) for i in range(6)], [], small_device())
    assert list(result.assignment.values()) == [0, 0, 1, 1, 2, 2]


def test_nothing_to_place():
    assert solve([], [], small_device()).assignment == {}


def test_the_same_every_time():
    parts, links = engines_alone()
    assert solve(parts, links, U280) == solve(parts, links, U280)


@pytest.mark.parametrize("case", [engines_alone, engine_groups])
def test_eight_engines_lie_three_three_two(case):
    result = solve(*case(), U280)
    assert [use.uram // 66 for use in result.use] == [3, 3, 2]
    assert all(
        getattr(use, kind) <= slr.budget[kind]
        for use, slr in zip(result.use, U280.slrs, strict=True)
        for kind in LIMITED
    )
    assert max(result.wires) <= U280.crossing_wires
    assert result.assignment["hub"] == 0
    assert result.assignment["mac"] == 2


def test_groups_cross_by_their_chain():
    assert solve(*engine_groups(), U280).wires == (5 * 514 + 1_320 + 1_060, 2 * 514 + 1_320 + 1_060)


test_what_lacks_is_named = refuses(
    solve,
    (*engines_alone(12), U280, "URAM of all SLRs: 792 needed, 768 within the limits"),
    (
        [part("a", 600, slr=0), part("b", 500, slr=0)],
        [],
        small_device(),
        r"LUT of SLR0: 1,100 needed, 1,000 .* \(100 too many",
    ),
    (  # held together, they are too large
        [part("a", 600, slr=1), part("b", 500)],
        [link("a", "b", 1, registered=False)],
        small_device(),
        "LUT of SLR1: 1,100 needed",
    ),
    (
        [part("a", 600, slr=0), part("b", 600)],
        [link("a", "b", 5_400)],
        small_device(wires=5_000),
        r"SLR0-SLR1 would need 5,400 wires, 5,000 are there \(400 too many",
    ),
    (  # wires are blamed first: both parts in SLR0 would pass its budget by 10 LUTs only
        [part("a", 1_000, slr=0), part("b", 10)],
        [link("a", "b", 100)],
        small_device(wires=50),
        "would need 100 wires, 50 are there",
    ),
    (*engines_alone(others=724), replace(U280, crossing_wires=5_000), "SLR0-SLR1 would need"),
    (
        [part("a", slr=0), part("b"), part("c", slr=2)],
        [link("a", "b", 3, registered=False), link("c", "b", 1_234, registered=False)],
        small_device(),
        "a must lie in SLR0 and c in SLR2, .*: a to b by 3 wires, b to c by 1,234 wires$",
    ),
    error=FloorplanError,
)


def test_no_further_than_the_registers_reach():
    parts = [part("a", slr=0), part("b", 600), part("c", 600)]
    links = [link("a", "b", 9, reach=1), link("b", "c", 1, reach=1), link("a", "c", 1)]
    assert solve(parts, links, small_device()).assignment == {"a": 0, "b": 0, "c": 1}
    links[0] = link("a", "b", 9, reach=0)
    assert solve(parts, links, small_device()).assignment == {"a": 0, "b": 0, "c": 1}
    parts = [part("a", slr=0), part("b", slr=2)]
    text = "a and b would lie 2 boundaries apart, and the registers between them are enough for 1"
    with pytest.raises(FloorplanError, match=text):
        solve(parts, [link("a", "b", 3, reach=1)], small_device())


test_bad_models = refuses(
    lambda parts, links: solve(parts, links, small_device()),
    ([part("a"), part("a")], [], "two parts are called a"),
    ([part("a")], [link("a", "b", 1)], "a link ends in b, which is no part"),
    ([part("a", slr=3)], [], "a is fixed in SLR3; there are 3"),
)


def test_missing_highspy(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(UserError, match=r"pip install 'ingather\[board\]'"):
        solve([part("a")], [], small_device())
