"""Names what a training may choose: its loss, and the order of its steps."""

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
