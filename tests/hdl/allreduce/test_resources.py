"""Compares the all-reduce switch of each card and of eight ports with the limits of a clock."""

import pytest

from gen.base.emission.emit import emit
from gen.designs.catalogue import find_design
from gen.synth.synthesis import synthesise
from hdl.allreduce.switch import AllReduceSwitch
from sim.harness.cache import cached_folder

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("preset", "luts"), [("8-port", 92_000), ("u280", 21_000)])
def test_limits(preset, luts):
    params = find_design("allreduce-switch").params_of(preset)
    result = synthesise(emit(AllReduceSwitch(params)), cached_folder)
    print(result.total, result.depth)
    assert [*result.too_slow()] == result.strayed == []
    assert result.total.luts <= luts
    assert result.total.uram == 256  # two sums of each slot
