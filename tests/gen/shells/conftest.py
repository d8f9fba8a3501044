"""Lends the stand-in for Vivado to tests of shells."""

from tests.gen.board.conftest import vivado

__all__ = ["vivado"]
