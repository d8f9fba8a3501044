"""Makes a training run of a data set: memory images, settings, and weights in original units."""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdl.p4sgd.host.registers import constants
from hdl.p4sgd.worker_params import Loss as HardwareLoss
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.arithmetic import Integers, Step
from sim.golden.choices import EtaSchedule, Loss, Schedule
from sim.p4sgd.golden import float_sgd
from sim.p4sgd.golden.classes import one_against_the_rest, train_classes
from sim.p4sgd.golden.data_parallel import data_parallel_epoch
from sim.p4sgd.golden.formula import Machine
from sim.p4sgd.golden.sgd import L2_SHIFTS, Parts, Saturations, Training
from sim.p4sgd.golden.sgd import epoch as golden_epoch
from sim.p4sgd.host.capacity import Capacity, DoesNotFit
from sim.p4sgd.run_settings import run_settings
from sim.p4sgd.training_workload import ZEROS, TrainingWorkload
from sim.workloads.datasets import DataSet, from_arrays, load
from sim.workloads.labels import check_real_labels
from sim.workloads.layout import Geometry, hbm_images, model_to_weights, weights_to_model
from sim.workloads.quantise import Quantiser, to_fixed, truncate
from sim.workloads.step_size import Smoothness, scheduled


def data_of(
    requested: TrainingWorkload, arrays: tuple[Any, Any] | None = None, classes: int = 1
) -> DataSet:
    """Return the samples that ``requested`` names, or those of two ``arrays``, in training order.

    ``classes`` is how many the hardware trains in one pass. Raises InputError for what is wrong
    with them.
    """
    if requested.data == ZEROS and arrays is None:
        shape = requested.zeros
        values = tuple(range(max(2, classes)))
        return DataSet(ZEROS, np.zeros(shape), np.zeros(shape[0]), "", label_values=values)
    how: dict[str, Any] = {
        "loss": requested.loss,
        "positive": requested.positive,
        "bias": requested.has_bias,
        "order": requested.seed if requested.shuffle else None,
        "test": requested.test,
        "classes": classes,
    }
    return (
        load(requested.data, label=requested.label, most=requested.samples, **how)
        if arrays is None
        else from_arrays(*(each[: requested.samples] for each in arrays), **how)
    )


def check_fit(
    params: WorkerParams, requested: TrainingWorkload, samples: int, features: int
) -> None:
    """Raise :class:`DoesNotFit` for data of this size that would not fit, or never finish.

    ``ValueError`` is raised for settings that this or any hardware refuses.
    """
    requested.check_hardware(params)
    shares, batch, fixed = requested.shares_samples, requested.batch, constants(params)
    share = -(-samples // batch) * batch // requested.workers if shares else samples
    capacity = Capacity(fixed=fixed, workers=1 if shares else requested.workers)
    capacity.check(share, features, requested.bits, requested.stored)
    if requested.schedule is Schedule.VANILLA:
        capacity.check_vanilla(features, requested.bits, batch)
    if batch // params.engine.banks >= 1 << 16:
        raise DoesNotFit(f"batch must be below {params.engine.banks << 16}: {batch}")


def machine_of(params: WorkerParams, requested: TrainingWorkload) -> Machine:
    """Return the workers' sizes for the formulas."""
    return Machine(
        workers=requested.workers,
        engines=params.sets,
        banks=params.engine.banks,
        lanes=params.engine.lanes,
        bits=requested.bits,
        classes=params.classes,
        slots=params.slots,
        fifo_words=params.engine.fifo_words,
    )


def tile_of(params: WorkerParams, requested: TrainingWorkload, features: int) -> int:
    """Return how many micro-batches share a read of the weights; 1 if they are in engines."""
    most, machine = params.engine.max_tile, machine_of(params, requested)
    if not most or requested.tile:
        return requested.tile or 1
    return machine.best_tile(features, requested.batch, most)


class TrainingRun:
    """Makes a data set ready for a worker: what its memories hold and how it is set.

    Raises :class:`DoesNotFit` where the hardware cannot hold the data, ``ValueError`` for settings
    that this or any hardware refuses.
    """

    def __init__(self, data: DataSet, params: WorkerParams, requested: TrainingWorkload) -> None:
        self.data, self.params, self.requested = data, params, requested
        self.workers = requested.workers
        engine = params.engine
        check_fit(params, requested, *data.features.shape)
        self.stored_bits = stored = requested.stored
        self.quantiser = Quantiser.fit(
            data.features, stored, per_feature=not requested.global_scale, center=requested.center
        )
        self.stored_codes = self.quantiser.encode(data.features)
        self.codes = truncate(self.stored_codes, stored, requested.bits)
        self.targets = self.targets_of(data)
        if requested.loss is Loss.LINEAR:
            check_real_labels(data.name, data.labels, engine.fraction_bits)
        self.labels = to_fixed(self.targets, engine.fraction_bits)
        self.geometry = Geometry(
            workers=1 if self.shares_samples else self.workers,
            engines=params.sets,
            banks=engine.banks,
            lanes=engine.lanes,
            classes=self.classes,
        )
        self.training = Training(
            loss=requested.loss,
            bits=requested.bits,
            signed=self.quantiser.signed,
            batch=requested.batch,
            banks=engine.banks,
            step=Step.of(self.eta, requested.batch),
            l2_shift=self.l2_shift,
            fraction_bits=engine.fraction_bits,
        )

    @property
    def shares_samples(self) -> bool:
        """Return whether each worker has the whole model, and samples of its own."""
        return self.requested.shares_samples

    @property
    def classes(self) -> int:
        """Return how many classes are trained in one pass, each with a model of its own."""
        return self.params.classes

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the weights: [D], or [classes, D]."""
        return (self.classes, self.features) if self.classes > 1 else (self.features,)

    def targets_of(self, data: DataSet) -> NDArray[np.float64]:
        """Return the labels [S] that are trained on, or [classes, S], one against the rest."""
        if self.classes == 1:
            return data.labels
        return one_against_the_rest(data.labels, self.classes, self.requested.loss)

    @property
    def under_way(self) -> int:
        """Return the most AllReduces at a time: those of the next mini-batch wait for an update."""
        slots, batch = self.params.slots, self.requested.batch // self.params.engine.banks
        return slots if self.shares_samples else min(slots, batch * self.params.packets)

    def samples_of(self, worker: int) -> NDArray[np.intp]:
        """Return the samples that a worker sees, in order; those from ``samples`` on are absent."""
        if not self.shares_samples:
            return np.arange(self.samples)
        batches = -(-self.samples // self.requested.batch)
        shares = np.arange(batches * self.requested.batch).reshape(batches, self.workers, -1)
        return shares[:, worker].ravel()

    @property
    def samples(self) -> int:
        """Return the number of samples of an epoch."""
        return len(self.codes)

    @property
    def features(self) -> int:
        """Return D, the number of features."""
        return self.codes.shape[1]

    @property
    def chunks(self) -> int:
        """Return C, the number of chunks of each engine."""
        return self.geometry.chunks(self.features)

    @property
    def tile(self) -> int:
        """Return how many micro-batches share a read of the weights; 1 if they are in engines."""
        return tile_of(self.params, self.requested, self.features)

    @property
    def micro_batches(self) -> int:
        """Return the number of micro-batches of an epoch of each worker."""
        return self.geometry.micro_batches(len(self.samples_of(0)))

    @cached_property
    def smoothness(self) -> Smoothness:
        """Return the smoothness of the loss, of the features as the hardware sees them."""
        return Smoothness.of(self.values, self.requested.batch)

    @property
    def values(self) -> NDArray[np.float64]:
        """Return the features [S, D] as the hardware sees them."""
        return np.ldexp(self.codes, self.quantiser.signed - self.requested.bits, dtype=np.float64)

    @property
    def centering_gain(self) -> float:
        """Return how much larger the learning rate could be without the features' means."""
        centred = Smoothness.of(self.values, self.requested.batch, center=True).expected
        return self.smoothness.expected / centred if centred else 1.0

    @cached_property
    def eta(self) -> float:
        """Return the learning rate: the one that was chosen, or else 1 / smoothness of the loss."""
        chosen = self.requested.eta
        return self.smoothness.learning_rate(self.requested.loss) if chosen is None else chosen

    def eta_of(self, epoch: int) -> float:
        """Return the learning rate of an epoch, from 1 on, by the schedule."""
        requested = self.requested
        return scheduled(requested.eta_schedule, self.eta, requested.eta_period, epoch)

    def training_of(self, epoch: int) -> Training:
        """Return what the golden model does in an epoch, from 1 on."""
        return replace(self.training, step=Step.of(self.eta_of(epoch), self.requested.batch))

    @property
    def steps(self) -> list[dict[str, int]]:
        """Return the registers that a host writes before each epoch; none if the rate is constant.

        The hardware keeps a step for all epochs of a run, so each epoch is a run.
        """
        if self.requested.eta_schedule is EtaSchedule.CONSTANT:
            return []
        return [
            asdict(self.training_of(epoch).step) for epoch in range(1, self.requested.epochs + 1)
        ]

    @property
    def l2(self) -> float:
        """Return lambda: mean loss + lambda / 2 x |weights of scaled features|^2 is minimised.

        That is at the learning rate of the first epoch: weights shrink alike whatever the rate.
        """
        return 2.0**-self.l2_shift / self.eta if self.l2_shift else 0.0

    @cached_property
    def l2_shift(self) -> int:
        """Return N: weights shrink by 2^-N, eta x lambda, in each mini-batch; 0 is off."""
        chosen = self.requested.l2
        if not chosen:
            return self.requested.l2_shift
        shift = round(-math.log2(self.eta * chosen))
        if shift not in L2_SHIFTS:
            low, high = (2.0**-at / self.eta for at in (L2_SHIFTS[-1], L2_SHIFTS[0]))
            raise ValueError(
                f"l2 must be from {low:.3g} to {high:.3g} with eta = {self.eta:.3g}, so that"
                f" weights shrink by 2^-{L2_SHIFTS[-1]} to 2^-{L2_SHIFTS[0]}: {chosen:g}"
            )
        return shift

    @cached_property
    def images(self) -> list[bytes]:
        """Return what each memory holds: for each worker the word ports in order, then labels.

        After them are the weights of each engine, if they are in memory.
        """
        result = []
        for worker in range(self.workers):
            samples = self.samples_of(worker)
            absent = max(0, int(samples.max()) + 1 - self.samples)
            images = hbm_images(
                np.pad(self.stored_codes, ((0, absent), (0, 0)))[samples],
                np.pad(self.labels.T, [(0, absent), (0, 0)][: self.labels.ndim])[samples].T,
                self.stored_bits,
                self.geometry,
                0 if self.shares_samples else worker,
                self.tile,
            )
            result += [port for engine in images.words for port in engine] + [images.labels]
            result += [bytes(1 << self.params.weight_address_bits)] * self.params.movers
        return result

    def models(self, weights: NDArray[np.int64]) -> list[NDArray[np.int32]]:
        """Return what the model memories of each worker hold, of weights of :attr:`shape`."""
        if self.shares_samples:
            return [weights_to_model(weights, self.geometry, 0, self.chunks)] * self.workers
        return [
            weights_to_model(weights, self.geometry, worker, self.chunks)
            for worker in range(self.workers)
        ]

    def weights(self, models: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
        """Return the weights, of :attr:`shape`, out of the model memories of all workers."""
        if self.shares_samples:
            assert all((model == models[0]).all() for model in models), "the workers' models differ"
            models = models[:1]
        return model_to_weights(models, self.geometry, self.features)

    def settings(self, epochs: int, worker: int = 0) -> dict[str, int]:
        """Return the registers of a worker for a run of ``epochs`` epochs."""
        share = self.requested.batch // (self.workers if self.shares_samples else 1)
        loss = HardwareLoss[self.requested.loss.name]
        return run_settings(
            self.geometry,
            len(self.samples_of(worker)),
            self.features,
            bits=self.requested.bits,
            stored=self.stored_bits,
            signed=self.quantiser.signed,
            batch=share,
            step=self.training.step,
            l2_shift=self.l2_shift,
            epochs=epochs,
            tile=self.tile,
        ) | {
            "loss": loss.value,
            "join": 1,
            "vanilla": int(self.requested.schedule is Schedule.VANILLA),
            "data_parallel": int(self.shares_samples),
            "from_zero": int(self.shares_samples and worker > 0),
        }

    def golden(
        self, weights: NDArray[np.int64], epoch: int = 1
    ) -> tuple[NDArray[np.int64], Saturations]:
        """Train an epoch, from 1 on, of the golden model on weights of :attr:`shape`."""
        training = self.training_of(epoch)
        parts = Parts(self.geometry.worker_of(self.features), self.geometry.group_of(self.features))

        def train(labels: Integers, own: Integers) -> tuple[Integers, Saturations]:
            if self.shares_samples:
                return data_parallel_epoch(self.codes, labels, own, training, self.workers, parts)
            return golden_epoch(self.codes, labels, own, training, parts)

        return train_classes(train, self.labels, weights)

    def original(self, weights: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return fixed-point weights in the units of the data."""
        return self.quantiser.to_original(weights, self.params.engine.fraction_bits)

    def float_epoch(self, weights: NDArray[np.float64], epoch: int = 1) -> NDArray[np.float64]:
        """Train an epoch, from 1 on, of float64 SGD on weights of the scaled features."""
        own = np.atleast_2d(self.targets), np.atleast_2d(weights)
        results = [
            float_sgd.epoch(
                self.data.features,
                *pair,
                seen=self.quantiser.scaled,
                loss=self.requested.loss,
                batch=self.requested.batch,
                step=self.eta_of(epoch) / self.requested.batch,
                l2_shift=self.l2_shift,
            )
            for pair in zip(*own, strict=True)
        ]
        return np.reshape(results, weights.shape)

    def evaluate(self, original: NDArray[np.float64]) -> tuple[float, float | None]:
        """Return loss and accuracy of weights in original units on the data set as it came."""
        return self.evaluated_on(self.data, original)

    def evaluate_test(self, original: NDArray[np.float64]) -> tuple[float | None, float | None]:
        """Return loss and accuracy on the samples that were held out; None if there are none."""
        test = self.data.test
        return (None, None) if test is None else self.evaluated_on(test, original)

    def evaluated_on(
        self, data: DataSet, original: NDArray[np.float64]
    ) -> tuple[float, float | None]:
        """Return loss and accuracy on ``data`` of weights in original units.

        Classes that the data lack are left out.
        """
        intercept = self.quantiser.intercept(original)
        labels = self.targets_of(data)
        if self.classes > 1:
            used = slice(max(1, len(self.data.label_values)))
            labels, original, intercept = labels[used], original[used], intercept[used]
        return float_sgd.evaluate(self.requested.loss, data.features, labels, original, intercept)

    @property
    def chance(self) -> float:
        """Return the loss of weights that are all zero, an untrained model."""
        return self.evaluate(np.zeros(self.shape))[0]
