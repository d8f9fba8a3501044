"""Tests a small top's estimate and floorplan; what does not fit is said, not raised."""

from dataclasses import replace

import pytest

from gen.board.boards import find_board
from gen.board.check import problems
from gen.board.placement import estimated, place
from gen.synth.device import U280
from gen.synth.resources import Resources
from sim.harness.cache import cached_folder
from tests.gen.board.conftest import package_of, sample_tables
from tests.gen.board.sample import DESIGN


def board_that(**changes):
    board = find_board("u280")  # whose own parts the sample has not
    return replace(board, parts=(), device=replace(U280, **changes))


@pytest.fixture(scope="module")
def placed(emission):
    heard = []
    synthesis = estimated(emission, heard.append, cached_folder)
    return place(emission, board_that(), DESIGN, synthesis), heard


def test_a_floorplan_that_fits_the_verilog(placed, emission, tmp_path):
    (placement, misfits), heard = placed
    assert misfits == []
    assert len(heard) == len(emission.modules)
    assert heard[-1].startswith(f"estimated {len(heard)} of {len(heard)} modules")
    assert placement is not None
    assert "create_pblock" in placement.xdc
    assert placement.svg.startswith("<svg")
    board = find_board("u280")
    folder = package_of(emission, DESIGN, board, tmp_path / "out", placement)
    with sample_tables():
        assert problems(folder, board.constraints / "pins.csv", emission.top.component) == []


def test_a_card_that_is_too_small(emission):
    small = replace(U280.slrs[0], offers=Resources(), shell=Resources())
    synthesis = estimated(emission, print, cached_folder)
    placement, misfits = place(emission, board_that(slrs=(small,)), DESIGN, synthesis)
    assert placement is None
    assert any("FF" in misfit for misfit in misfits)
