"""Tests layers, which of their sides is aggregated, and first weights."""

import numpy as np
import pytest

from sim.switchgnn.gcn.fixed_point import WEIGHT_FRACTION
from sim.switchgnn.gcn.network import Network


@pytest.mark.parametrize(
    ("inputs", "count", "aggregations"),
    [
        (64, 1, [10, 10]),
        (64, 2, [32, 10, 10, 32]),
        (64, 4, [32, 32, 32, 10, 10, 32, 32, 32]),
        (6, 2, [6, 10, 10]),  # nobody wants the gradient of the inputs
        (6, 1, [6]),
        (32, 2, [32, 10, 10]),  # as wide on both sides
    ],
)
def test_the_narrower_side_is_aggregated(inputs, count, aggregations):
    network = Network(inputs=inputs, hidden=32, classes=10, count=count)
    assert network.aggregations == aggregations
    assert len(network.layers) == count


def test_first_weights_are_glorots():
    network = Network(inputs=200, hidden=100, classes=50, count=2)
    item, two = network.first_weights(5)
    limit = np.sqrt(6 / 300) * 2**WEIGHT_FRACTION
    assert (item.shape, two.shape) == ((200, 100), (100, 50))
    assert 0.99 * limit < np.abs(item).max() <= limit
    assert abs(item.mean()) < 0.02 * limit
    assert (network.first_weights(5)[0] == item).all()
    assert (network.first_weights(6)[0] != item).any()
