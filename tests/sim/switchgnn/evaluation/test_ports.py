"""Checks the queues of ports: what waits, what leaves when, and what is lost."""

import numpy as np

from sim.switchgnn.evaluation.ports import FairPorts, SharedPorts
from sim.switchgnn.evaluation.queues import departures


def test_a_queue_is_served_in_the_order_of_arrival(rng):
    come = np.sort(rng.integers(0, 60, 200))
    ports = rng.integers(0, 3, 200)
    queues = SharedPorts(3, 10_000)
    leave = np.concatenate([queues.put(ports[come == now], now)[2] for now in range(60)])
    assert leave.tolist() == departures(come, ports).tolist()


def test_a_full_queue_takes_nothing():
    queues = SharedPorts(2, 3)
    fits, result, leave = queues.put(np.array([0, 0, 1, 0, 0]), 5)
    assert fits.tolist() == [True, True, True, True, False]
    assert result.tolist() == [0, 1, 0, 2, 3]
    assert leave[fits].tolist() == [5, 6, 5, 7]
    assert queues.waiting(5).tolist() == [3, 1]
    assert queues.put(np.array([0, 0]), 6)[0].tolist() == [True, False]


def test_sums_and_packets_of_others_leave_in_turn():
    ports = FairPorts(2, 3)
    assert ports.cross(np.array([0, 0, 1, 0, 0])).tolist() == [True, True, True, True, False]
    ports.put(np.array([7, 8, 9]), np.array([0, 0, 0]))
    assert [ports.leave().tolist() for _ in range(7)] == [[7], [], [8], [], [9], [], []]
    assert not ports.own.any() | ports.others.any()
