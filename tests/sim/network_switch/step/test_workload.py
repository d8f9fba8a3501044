"""A workload of steps asks for a training, and says what has no effect."""

import pytest

from sim.network_switch.step.workload import StepWorkload


def test_its_training_has_its_settings():
    training = StepWorkload(hidden=7, drop=0.2, workers=3).training
    assert (training.hidden, training.drop, training.workers, training.racks) == (7, 0.2, 3, 1)
    assert StepWorkload().idle == {"displacement"}
    assert StepWorkload(reorder=0.1).idle == set()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 1}, "workers must be from 2 to 8: 1"),
        ({"bits": 9}, "bits must be 8, 12, 16: 9"),
        ({"pcie_latency": 5}, "pcie_latency must be from 64 to 4095: 5"),
    ],
)
def test_what_is_wrong_is_one_line(settings, message):
    with pytest.raises(ValueError, match=message):
        StepWorkload(**settings)
