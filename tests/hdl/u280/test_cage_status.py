"""Runs the tests of sums and commands of a board: :mod:`tests.hdl.u280.test_board_status`."""

import pytest

from hdl.u280.cage_status import CageStatusParams
from hdl.u280.registers import COUNT_BITS, RARE_BITS


@pytest.mark.parametrize("pauses", [False, True])
def test_sums_have_the_width_of_their_registers(pauses):
    sums = CageStatusParams(pauses=pauses).sums
    assert sums["dropped"].width == COUNT_BITS
    assert sums["watchdog"].width == RARE_BITS
    assert ("paused_reads" in sums.members) == pauses
