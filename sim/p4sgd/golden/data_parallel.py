"""Specifies data parallelism: every worker has the whole model, and its own samples."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.golden.arithmetic import Integers, saturate
from sim.p4sgd.golden.sgd import Parts, Saturations, Training, check, forward, updated


def data_parallel_epoch(
    codes: NDArray[np.integer],
    labels: ArrayLike,
    weights: ArrayLike,
    training: Training,
    workers: int,
    parts: Parts | None = None,
) -> tuple[Integers, Saturations]:
    """Train one epoch with data parallelism (sections 2.1 and 5.1); all else is as in `epoch`.

    Of each mini-batch, worker m takes the m-th of `workers` equal shares and does with it what a
    single worker does, but only worker 0 updates the weights: the others update zero. The sum of
    what they compute, saturated once, is the new model. Absent samples have features of zero.
    """
    labels = np.asarray(labels, dtype=np.int64)
    weights = np.asarray(weights, dtype=np.int64)
    parts = parts or Parts.single(codes.shape[1])
    check(codes, labels, weights, training, parts)
    if training.l2_shift or training.batch % (workers * training.banks):
        raise ValueError(f"{training} cannot be shared out to {workers} workers")
    absent = -len(codes) % training.batch
    values = np.pad(codes.astype(np.float64), ((0, absent), (0, 0)))
    labels = np.pad(labels, (0, absent))
    share, total = training.batch // workers, Saturations()
    for start in range(0, len(values), training.batch):
        models = []
        for worker in range(workers):
            own = slice(start + worker * share, start + (worker + 1) * share)
            deltas, counts = forward(values[own], labels[own], weights, training, parts)
            begin = weights if worker == 0 else np.zeros_like(weights)
            model, updates = updated(values[own], deltas, begin, training, parts)
            models.append(model)
            total += counts + updates
        weights, mask = saturate(np.sum(models, axis=0))
        total += Saturations(full=int(np.count_nonzero(mask)))
    return weights, total
