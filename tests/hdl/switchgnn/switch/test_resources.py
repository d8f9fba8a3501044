"""Compares the switch with tables on chip, as a switch for all systems has it, with its limits."""

import pytest

from gen.base.emission.emit import emit
from gen.synth.synthesis import synthesise
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.cache import cached_folder

pytestmark = pytest.mark.long


def test_limits():
    params = GnnSwitchParams(ports=2, banks=4, slots=4096)
    result = synthesise(emit(GnnSwitch(params)), cached_folder)
    print(result.total, result.depth)
    assert [*result.too_slow()] == []
    assert result.total.luts <= 54_000
