"""Checks that a run builds nothing twice: maps of registers, netlists, estimates."""

from collections import Counter
from dataclasses import replace

import pytest

import ingather
from gen.base.emission.emit import emit
from gen.board.boards import find_board
from gen.board.placement import estimated, place
from gen.commands import generating
from gen.datasheet import netlist as drawn
from gen.designs.catalogue import designs, find_design
from gen.designs.design import load
from gen.floorplan import netlist as planned
from gen.synth import synthesis
from hdl.common.registers import RegisterMap
from hdl.u280.registers import board_registers
from hdl.vitis.kernel_registers import kernel_registers
from sim.harness.cache import cached_folder
from tests.gen.board.sample import DESIGN, CoreParams, SampleBoard
from tests.gen.synth.circuits import CIRCUITS

BUILT = {
    "map": (RegisterMap, "__post_init__"),
    "drawn": (drawn, "described"),
    "placed": (planned, "described"),
    "estimate": (synthesis, "find_all"),
}


def counting(counts, kind, original):
    def counted(source, *rest, **options):
        counts[kind, str(source)] += 1
        return original(source, *rest, **options)

    return counted


@pytest.fixture
def built(monkeypatch):
    """Count what is built, each by its kind and by what it is built from."""
    for name in designs():
        if make := getattr(load(find_design(name).component), "register_map", None):
            make.cache_clear()
    board_registers.cache_clear()
    kernel_registers.cache_clear()
    counts = Counter()
    for kind, (owner, name) in BUILT.items():
        monkeypatch.setattr(owner, name, counting(counts, kind, getattr(owner, name)))
    return counts


def kinds(built):
    assert set(built.values()) == {1}, [key for key, times in built.items() if times > 1]
    return Counter(kind for kind, _ in built)


def generate(folder, design, **how):
    generating.generate(generating.Order(design=design, changes={}, **how), folder)


def test_an_estimated_design_builds_each_once(built, tmp_path):
    generate(tmp_path / "made", CIRCUITS, estimate=True)
    assert kinds(built) == {"drawn": 1, "estimate": 1}


def test_a_board_package_builds_each_once(built, tmp_path):
    design = find_design("p4sgd-switch")
    generate(tmp_path / "made", design, board="u280", preset="tiny", estimate=False)
    # Maps of the design, of the board and, for its host package, of a kernel.
    assert kinds(built) == {"map": 3, "drawn": 2}


def test_a_floorplan_builds_each_once(built):
    emission, board = emit(SampleBoard(CoreParams())), replace(find_board("u280"), parts=())
    placed, misfits = place(emission, board, DESIGN, estimated(emission, print, cached_folder))
    assert placed is not None, misfits
    assert kinds(built) == {"estimate": 1, "placed": 1}


def test_a_training_builds_each_once(built):
    worker = ingather.design("p4sgd-worker", preset="tiny")
    worker.run("train", data="zeros", samples=32, features=64, epochs=1, batch=16)
    assert kinds(built) == {"map": 1}
