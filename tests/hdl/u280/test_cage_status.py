"""Sums and commands are those of a board: :mod:`tests.hdl.u280.test_board_status`."""

from hdl.u280.cage_status import SUMS
from hdl.u280.registers import COUNT_BITS, RARE_BITS


def test_sums_have_the_width_of_their_registers():
    assert SUMS["dropped"].width == COUNT_BITS
    assert SUMS["watchdog"].width == RARE_BITS
