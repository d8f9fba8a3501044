"""Tests metrics of synthesis, on small circuits."""

from gen.sweep.synthesis import METRICS, estimate
from tests.gen.synth.circuits import Circuits, NoParams


def test_all_metrics_are_estimated():
    found = estimate(Circuits(NoParams()))
    assert found.keys() == METRICS.keys()
    assert found["luts"] == found["lut"] + found["lutram"] == 18 + 12
    assert found["levels"] > 0
    assert found["fits"] == 1
    assert 0 < found["fill"] < 1e-2
