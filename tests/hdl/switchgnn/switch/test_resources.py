"""Compares each preset, and the switch as one for all systems has it, with its limits."""

import pytest

from gen.base.emission.emit import emit
from gen.base.settings import make_params
from gen.synth.synthesis import synthesise
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.cache import cached_folder

pytestmark = pytest.mark.long


def test_limits():
    params = GnnSwitchParams(ports=2, banks=4, slots=4096)
    result = synthesise(emit(GnnSwitch(params)), cached_folder)
    print(result.total, result.depth)
    assert [*result.too_slow()] == []
    assert result.total.luts <= 54_000


@pytest.mark.parametrize("preset", PRESETS)
def test_no_path_is_too_slow(preset):
    params = make_params(GnnSwitchParams, PRESETS[preset])
    assert [*synthesise(emit(GnnSwitch(params)), cached_folder).too_slow()] == []
