"""Compares plans with the designs that they are for."""

from types import SimpleNamespace

import pytest

from gen.base.settings import make_params
from gen.board.boards import find_board
from gen.designs.catalogue import find_design
from gen.designs.p4sgd_worker import engine_groups
from gen.designs.switchgnn_switch import upper_lanes
from gen.floorplan.hierarchy import Hierarchy, is_long
from gen.floorplan.parts import floorplan, parts_and_links
from gen.floorplan.solver import solve
from gen.synth.device import U280
from gen.synth.resources import Resources
from hdl.p4sgd.engine.engine import Engine
from hdl.switchgnn.switch.banks.sum_memory import SumMemory
from hdl.u280.mac_signals import DEMANDS, LEVELS, SETTINGS
from hdl.u280.snic_board import SnicBoard
from hdl.u280.switch_board import SwitchBoard
from hdl.u280.switchgnn_switch_board import GnnSwitchBoard
from hdl.u280.worker_board import WorkerBoard
from sim.harness.emissions import emission_of
from tests.gen.floorplan.plans import ENGINE
from tests.long import long


def params(name, preset, **settings):
    return find_design(name).params_of(preset, **settings)


def plan_on_card(emission, design):
    return find_board("u280").plan(find_design(design), emission.top.component.params)


def synthesis(emission, kind=Engine, size=ENGINE):
    """Return amounts of full-size engines, or of another kind, and little of anything else."""

    def inclusive(name):
        module = emission.modules[name]
        if isinstance(module.component, kind):
            return size
        below = (times * inclusive(child) for child, times in module.instances.items())
        return sum(below, Resources(lut=100))

    return SimpleNamespace(inclusive=inclusive)


@pytest.fixture(scope="module")
def worker():
    """Return eight engines of tiny size in three groups, on their board."""
    board = WorkerBoard(params("p4sgd-worker", "tiny", engines=8, slrs=3))
    return emission_of(board, generated=True)


@pytest.fixture(scope="module")
def cut(worker):
    """Return its parts and links."""
    return parts_and_links(worker, synthesis(worker), plan_on_card(worker, "p4sgd-worker"))


def test_engines_lie_two_three_three(cut):
    result = solve(*cut, U280)
    assert result.assignment == {"hub": 0, "group_0": 0, "group_1": 1, "group_2": 2, "cages": 2}
    assert [use.uram for use in result.use] == [2 * 66, 3 * 66, 3 * 66]


def test_ways_are_registered(cut):
    chain = {
        (link.a, link.b, link.registered)
        for link in cut[1]
        if {link.a, link.b} & {"group_0", "group_1", "group_2"}
    }
    assert chain == {
        ("hub", "group_0", False),
        ("group_0", "hub", False),
        ("hub", "group_1", True),  # the core's reset
        ("hub", "group_2", True),
        ("group_0", "group_1", True),
        ("group_1", "group_0", True),
        ("group_1", "group_2", True),
        ("group_2", "group_1", True),
    }


def test_every_path_between_dies_has_registers_at_their_edges(worker):
    plan = plan_on_card(worker, "p4sgd-worker")
    result = floorplan(worker, synthesis(worker), U280, plan)
    at_edge = {held.cells.rpartition("/")[0] for held in result.held if held.at_edge}
    ways = {"/".join(leaf.path) for leaf in Hierarchy(worker, plan).leaves if is_long(leaf.module)}
    named = {path for path in ways if "crossing_" in path or "mac_" in path} | {"reset_to_cages"}
    assert at_edge == named == ways
    # Levels of a cage are synchronised in the hub, those to it in the cage.
    assert not [
        held for held in result.held if "levels_of" in held.cells or "reported" in held.cells
    ]


def test_words_of_all_engines_beyond_cross(worker, cut):
    def between(a, b):
        return sum(link.wires for link in cut[1] if {link.a, link.b} == {a, b})

    word = worker.top.component.params.engine.word.size
    # A stream's valid and ready go with it. What is not words is the same at both, but for events
    # of every engine beyond, waiting, and the bits of a larger sum.
    more = between("group_0", "group_1") - between("group_1", "group_2")
    assert 3 * (word + 2) < more < 3 * (word + 2 + 20) + 8 * 2


@pytest.mark.parametrize(
    ("board", "design", "settings", "cages"),
    [(SwitchBoard, "p4sgd-switch", {"ports": 2}, 2), long((SnicBoard, "netsparse-snic", {}, 1))],
)
def test_boards(board, design, settings, cages):
    emission = emission_of(board(params(design, "tiny", **settings)), generated=True)
    result = floorplan(emission, synthesis(emission), U280, plan_on_card(emission, design))
    assert result.assignment == {"hub": 0, "cages": 2}
    parts = {part.name: part for part in result.parts}
    assert parts["cages"].cells == ("cages_apb_reset", *(f"mac_{k}" for k in range(cages)))
    assert "core" in parts["hub"].cells
    for path in emission.top.component.slr_crossings:
        lies = [held.slr for held in result.held if held.cells.startswith(f"{path.path}/payload_")]
        assert lies == ([0, 1, 1, 1, 2] if path.source == "core" else [2, 1, 1, 1, 0])
    ways = sum(path.wires for path in emission.top.component.slr_crossings)
    # A way of counts is always valid and nobody asks whether it is ready; of its counts of cuts the
    # upper bits are for a second class. The reset that goes with a way is its own.
    levels = LEVELS.size + SETTINGS.size + DEMANDS.size
    assert ways - 7 * cages <= result.wires[0] - levels * cages <= ways + 50 * cages
    assert result.wires[0] == result.wires[1]


def test_the_upper_lanes_of_a_switch_lie_apart():
    board = GnnSwitchBoard(params("switchgnn-switch", "tiny", ports=2, slr_stages=2))
    emission = emission_of(board, generated=True)
    # Of four such memories one SLR has room for three.
    large = synthesis(emission, SumMemory, Resources(uram=U280.slrs[0].budget["uram"] // 3))
    result = floorplan(emission, large, U280, plan_on_card(emission, "switchgnn-switch"))
    assert result.assignment == {"hub": 0, "upper_lanes": 1, "cages": 2}
    assert [use.uram for use in result.use] == [2 * 85, 2 * 85, 0]
    parts = {part.name: part.cells for part in result.parts}
    assert parts["upper_lanes"] == ("core/aggregation/far/lanes",)
    far = {held.cells: held for held in result.held if "/far/" in held.cells}
    for path, lies in {"far": [0, 1], "back": [1, 0]}.items():
        held = [far[f"core/aggregation/far/{path}/{name}_reg*"] for name in ("wires_1", "o")]
        assert [register.slr for register in held] == lies
        assert all(register.at_edge for register in held)


def test_a_switch_with_all_lanes_together():
    assert upper_lanes(params("switchgnn-switch", "tiny")) == ()
    (part,) = upper_lanes(params("switchgnn-switch", "tiny", slr_stages=2))
    assert part.cells == ("aggregation/far/lanes",)


def test_a_worker_without_its_board():
    parts = engine_groups(params("p4sgd-worker", "tiny", engines=2, slrs=2))
    assert [part.cells for part in parts] == [
        ("core/chain/group_0", "core/chain/crossing_0"),
        (
            "core/chain/group_1",
            "core/chain/crossing_0/load_deserializer",
            "core/chain/crossing_0/peeked_serializer",
        ),
    ]


def test_one_slr_has_no_groups():
    assert engine_groups(params("p4sgd-worker", "tiny")) == ()


def test_a_design_without_parts_lies_together():
    design = find_design("p4sgd-switch")
    assert [part.name for part in find_board("u280").plan(design, None).parts] == ["cages"]


def test_an_engine_of_a_switch_for_all_systems_lies_apart():
    entry = find_board("u280").find("network-switch")
    few = dict.fromkeys(("has_allreduce", "has_switchgnn", "has_netsparse"), False)
    settings = entry.settings_of("tiny")
    top = entry.make(make_params(entry.design.params_class, settings, few | {"slr_stages": 5}))
    emission = emission_of(top, generated=True)
    plan = plan_on_card(emission, "network-switch")
    parts, links = parts_and_links(emission, synthesis(emission), plan)
    assert {part.name for part in parts} == {"hub", "p4sgd", "cages"}
    between = [link for link in links if link.wires and {link.a, link.b} == {"hub", "p4sgd"}]
    assert between
    assert all(link.registered for link in between)
