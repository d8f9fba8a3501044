"""Trains by the golden model alone."""

import numpy as np

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.train import Epoch
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_report import Comparison
from sim.p4sgd.training_workload import TrainingWorkload

HARDWARE = WorkerParams(engines=1, engine=EngineParams(lanes=32, chunks=512, fifo_words=4096))


def trained(data, **options):
    """Return the comparison after epochs in which the hardware does as the golden model does."""
    training = TrainingRun(data, HARDWARE, TrainingWorkload(**{"eta": 1.0} | options))
    comparison, weights = Comparison(training), np.zeros(training.features, dtype=np.int64)
    for number in range(training.requested.epochs):
        weights, counted = training.golden(weights, number + 1)
        counters = {f"{name}_saturations": count for name, count in vars(counted).items()}
        counters["cycles"] = 1
        comparison.add(Epoch(number + 1, weights, counters, [], {}, 0, 1.0))
        if comparison.enough():
            break
    return comparison
