"""Trains a share of a model's features in a process of its own, through a switch behind sockets."""

import sys

import numpy as np

from sim.golden.arithmetic import Step
from sim.golden.choices import Loss
from sim.p4sgd.golden.sgd import Training, delta, derivative, partial_activation, update
from sim.p4sgd.sockets.endpoint import Endpoint

BANKS, SLOTS = 8, 16
TRAINING = Training(
    loss=Loss.LOGISTIC, bits=4, signed=False, batch=32, banks=BANKS, step=Step(1, 6)
)


def trained(endpoint, codes, labels, epochs):
    """Return the weights of the features whose codes these are."""
    weights, shift = np.zeros(codes.shape[1], np.int64), TRAINING.shift
    starts = range(0, len(codes), TRAINING.batch)
    for batch in [slice(start, start + TRAINING.batch) for start in starts] * epochs:
        partial, _ = partial_activation(codes[batch], weights, shift)
        full = endpoint.all_reduce(partial)
        deltas, _ = delta(derivative(TRAINING.loss, full, labels[batch])[0], TRAINING.step)
        for micro in range(0, len(full), BANKS):
            samples = slice(micro, micro + BANKS)
            weights, _ = update(weights, codes[batch][samples], deltas[samples], shift)
    return weights


if __name__ == "__main__":
    host, first_port, index, file, epochs = sys.argv[1:]
    worker = int(index)
    data = np.load(file)
    place = host, int(first_port)
    endpoint = Endpoint(place=place, port=worker, slots=SLOTS)
    own = data["codes"][:, data["worker_of"] == worker]
    np.save(f"{file}.{worker}.npy", trained(endpoint, own, data["labels"], int(epochs)))
