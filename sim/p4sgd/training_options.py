"""What a user chooses of a training run, and whether hardware can do it."""

from dataclasses import dataclass

from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.golden.sgd import Loss, Schedule


class DoesNotFit(ValueError):
    """The data do not fit the hardware; the text gives the numbers."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user chooses of a training run."""

    loss: Loss = Loss.LOGISTIC
    bits: int = 4  #: s, precision that is read
    stored_bits: int | None = None  #: precision in memory, s unless given
    batch: int = 64  #: B
    eta: float | None = 1.0  #: learning rate; None takes one that suits the data
    epochs: int = 30
    l2_shift: int = 0  #: r of the L2 term, 0 for none
    per_feature: bool = True  #: a scale for each feature, or one for all
    center: bool = False  #: take the means off the features
    schedule: Schedule = Schedule.PIPELINED

    @property
    def stored(self) -> int:
        """Precision in memory."""
        return self.bits if self.stored_bits is None else self.stored_bits

    @property
    def shares_samples(self) -> bool:
        """Data parallelism: each worker has the whole model, and samples of its own."""
        return self.schedule is Schedule.DATA_PARALLEL


def check(options: Options, params: WorkerParams, workers: int) -> None:
    """DoesNotFit for what the hardware is not built for, ValueError for what nothing can do."""
    engine = params.engine
    if not 1 <= options.bits <= engine.max_bits:
        raise DoesNotFit(
            f"bits must be from 1 to {engine.max_bits}, what the hardware is built for:"
            f" {options.bits}"
        )
    if not options.bits <= options.stored <= 8:
        raise ValueError(
            f"stored bits must be from {options.bits} (the bits) to 8: {options.stored}"
        )
    if options.epochs < 1:
        raise ValueError(f"epochs must be at least 1: {options.epochs}")
    if options.batch < 8 or options.batch % engine.banks:
        raise ValueError(
            f"batch must be a multiple of {engine.banks}, the banks, and at least 8:"
            f" {options.batch}"
        )
    if options.l2_shift and not engine.l2:
        raise DoesNotFit("the hardware has no L2 term: build it with --set l2=true")
    if options.shares_samples and not engine.data_parallel:
        raise DoesNotFit(
            "the hardware has no data parallelism: build it with --set data_parallel=true"
        )
    if options.shares_samples and options.batch % (engine.banks * workers):
        raise ValueError(
            f"batch must be a multiple of {engine.banks * workers}, the banks of all workers,"
            f" if they share its samples: {options.batch}"
        )
