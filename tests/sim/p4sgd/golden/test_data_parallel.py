"""Checks data parallelism by hand: what the sum over the workers' models clamps and counts."""

import numpy as np

from sim.golden.arithmetic import FRACTION_BITS, Step
from sim.golden.choices import Loss
from sim.p4sgd.golden.data_parallel import data_parallel_epoch
from sim.p4sgd.golden.sgd import Saturations, Training

ONE = 1 << FRACTION_BITS
TOP = (1 << 31) - 1


def test_update_and_sum_are_counted_apart() -> None:
    """Both workers raise weight 0: the first one's update clamps it, and so does the sum."""
    training = Training(
        loss=Loss.LINEAR, bits=4, signed=False, batch=16, banks=8, step=Step.of(1.0)
    )
    codes = np.zeros((16, 3), dtype=np.int64)
    codes[[0, 8], 0] = 8  # worth 1/2, one for each worker
    labels = np.zeros(16, dtype=np.int64)
    labels[[0, 8]] = TOP
    weights = [TOP - ONE, 5, -ONE]
    trained, counts = data_parallel_epoch(codes, labels, weights, training, workers=2)
    # FA - y is about -TOP / 2, and a feature of 1/2 adds TOP / 4 to the weight in each worker.
    assert trained.tolist() == [TOP, 5, -ONE]
    assert counts == Saturations(full=1, model=1)


def test_only_the_sum_is_clamped() -> None:
    training = Training(
        loss=Loss.LINEAR, bits=1, signed=False, batch=16, banks=8, step=Step.of(1.0)
    )
    codes = np.zeros((16, 2), dtype=np.int64)
    codes[8, 0] = 1
    labels = np.zeros(16, dtype=np.int64)
    labels[8] = TOP
    trained, counts = data_parallel_epoch(codes, labels, [TOP, 7], training, workers=2)
    assert trained.tolist() == [TOP, 7]
    assert counts == Saturations(full=1)
    low = data_parallel_epoch(codes, -labels, [-TOP, 7], training, workers=2)
    assert low[0].tolist() == [-TOP - 1, 7]
    assert low[1] == Saturations(full=1)
