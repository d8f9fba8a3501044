"""Tests metrics of synthesis, on small circuits."""

from gen.sweep.synthesis import METRICS, estimate
from tests.gen.synth.circuits import Circuits, NoParams


def test_all_metrics_are_estimated():
    result = estimate(Circuits(NoParams()))
    assert result.keys() == METRICS.keys()
    assert result["luts"] == result["lut"] + result["lutram"] == 18 + 12
    assert result["levels"] > 0
    assert result["fits"] == 1
    assert 0 < result["fill"] < 1e-2
