"""The formula of compute has the multiply-adds of the products that a training does."""

import pytest

from sim.network_switch.step.compute import compute_cycles, multiply_adds
from sim.switchgnn.gcn import training
from sim.switchgnn.gcn.network import Network
from tests.sim.switchgnn.gcn.cases import SCHEDULE, VERTICES, problem


@pytest.mark.parametrize("hidden", [2, 4, 9])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_multiply_adds_are_those_of_a_training(hidden, count, monkeypatch):
    network = Network(inputs=6, hidden=hidden, classes=3, count=count)
    counted = [0]
    product = training.product

    def counting(left, right):
        counted[-1] += left.shape[0] * left.shape[1] * right.shape[1] // VERTICES
        return product(left, right)

    alone = training.Training(problem(), network, SCHEDULE, network.first_weights(1))
    propagate = alone.forward

    def aggregate(*values):
        counted.append(0)
        return propagate(*values)

    monkeypatch.setattr(training, "product", counting)
    alone.forward = alone.backward = aggregate
    alone.look()
    alone.learn()
    assert multiply_adds(network) == counted
    assert compute_cycles(network, 10, 7) == [-(-10 * each // 7) for each in counted]
