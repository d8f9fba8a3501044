"""Names what a training may choose: loss, order of its steps, schedule of the learning rate."""

from enum import StrEnum


class Loss(StrEnum):
    """Names what is minimised, as on the command line."""

    LINEAR = "linear"  # (z - y)^2 / 2
    LOGISTIC = "logistic"  # log-loss of sigmoid(z), y in {0, 1}
    HINGE = "hinge"  # max(0, 1 - y z), y in {-1, 1}


class Schedule(StrEnum):
    """Names the order of forward, communication and backward, as on the command line."""

    PIPELINED = "pipelined"  # model parallelism, overlapped per micro-batch: P4SGD
    VANILLA = "vanilla"  # model parallelism, one after the other per mini-batch
    DATA_PARALLEL = "data-parallel"  # samples are shared out, models added up per mini-batch


class EtaSchedule(StrEnum):
    """Names how the learning rate changes between epochs, as on the command line."""

    CONSTANT = "constant"
    INVERSE = "inverse"  # eta / (1 + t / period) after t epochs
    RESTARTS = "restarts"  # a cosine from eta towards 0 in each period: SGDR
