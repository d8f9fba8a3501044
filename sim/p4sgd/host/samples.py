"""Checks a data set against a worker's build, and packs it for the worker's memories."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.golden.arithmetic import Step
from sim.p4sgd.golden.classes import train_classes
from sim.p4sgd.golden.sgd import Loss, Parts, Training, epoch
from sim.p4sgd.host.build import Build
from sim.p4sgd.host.capacity import Capacity
from sim.p4sgd.run_settings import run_settings
from sim.workloads.layout import (
    Geometry,
    hbm_images,
    label_bytes,
    model_images,
    weights_to_model,
)
from sim.workloads.quantise import to_fixed

ALLOWED = {"logistic": (0, 1), "hinge": (-1, 1)}  #: labels, by the loss that takes no others


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Holds a data set as the hardware takes it."""

    build: Build
    codes: NDArray[np.integer]  #: [samples, features]
    labels: NDArray[np.int64]  #: [samples], or of several classes [classes, samples], fixed point
    bits: int  #: of a code
    signed: bool  #: codes are two's complement
    workers: int = 1  #: that have the features in turn
    tile: int = 1  #: micro-batches that share a read of the weights, if these are in memory

    @classmethod
    def checked(
        cls,
        build: Build,
        codes: ArrayLike,
        labels: ArrayLike,
        bits: int,
        signed: bool,
        workers: int = 1,
        tile: int = 1,
    ) -> "Samples":
        """Return the data set of integer codes and real labels; ValueError if it does not fit."""
        fixed, table = build.fixed, np.asarray(codes)
        real = np.asarray(labels, dtype=np.float64)
        least, most = fixed["min_bits"], fixed["max_bits"]
        if not least <= bits <= most:
            raise ValueError(f"bits must be from {least} to {most}: {bits}")
        if table.ndim != 2 or not table.size or table.dtype.kind not in "iu":
            raise ValueError("codes must be integers [samples, features], at least one of each")
        low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
        if table.min() < low or table.max() >= high:
            result = f"{table.min()} to {table.max()}"
            raise ValueError(f"codes of {bits} bits must be from {low} to {high - 1}, not {result}")
        if tile not in (1 << k for k in range(max(1, fixed["max_tile"]).bit_length())):
            most = max(1, fixed["max_tile"])
            raise ValueError(f"tile must be a power of two from 1 to {most}: {tile}")
        if real.shape != build.shape(len(table)) or not np.isfinite(real).all():
            each = f"{len(table)} finite numbers, one for each sample"
            several = f" of each of {fixed['classes']} classes" * (fixed["classes"] > 1)
            raise ValueError(f"labels must be {each}{several}")
        held = Capacity(fixed=fixed, workers=workers, labels_apart=not build.labels_end)
        held.check(len(table), table.shape[1], bits)
        return cls(
            build=build,
            codes=table,
            labels=to_fixed(real, fixed["fraction_bits"]),
            bits=bits,
            signed=signed,
            workers=workers,
            tile=tile,
        )

    @property
    def features(self) -> int:
        """Return the number of features."""
        return self.codes.shape[1]

    @property
    def geometry(self) -> Geometry:
        """Return how features and samples are shared out to all workers."""
        return replace(self.build.geometry, workers=self.workers)

    @property
    def chunks(self) -> int:
        """Return the number of chunks of each engine."""
        return self.geometry.chunks(self.features)

    def images(self, worker: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield the address and the bytes of each port's words, then of the labels."""
        sizes = self.bits, self.geometry, worker, self.tile
        images = hbm_images(self.codes, self.labels, *sizes)
        words = [port for engine in images.words for port in engine]
        yield from zip(self.build.words, words, strict=True)
        yield self.build.labels + self.label_address, images.labels

    @property
    def label_address(self) -> int:
        """Return where the labels begin in their memory."""
        end = self.build.labels_end
        return end and end - label_bytes(self.geometry, len(self.codes))

    def model(self, weights: ArrayLike, worker: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield the address and the bytes of each engine's part of all weights.

        ValueError if they are bad.
        """
        provided, build = np.asarray(weights), self.build
        if provided.shape != build.shape(self.features) or provided.dtype.kind not in "iu":
            several = f" of each of {build.fixed['classes']} classes"
            raise ValueError(
                f"weights must be {self.features} integers, one for each feature"
                + several * (build.fixed["classes"] > 1)
            )
        if not -(1 << 31) <= provided.min() <= provided.max() < 1 << 31:
            raise ValueError("weights must fit 32 bits")
        model = weights_to_model(provided, self.geometry, worker)
        for engine, image in enumerate(model_images(model, build.chunk_stride)):
            yield build.model + engine * build.engine_stride, image

    def settings(
        self, *, loss: str, batch: int, rate: float, epochs: int = 1, l2_shift: int = 0
    ) -> dict[str, int]:
        """Return a run's settings by register field; ValueError for what there is none of."""
        training = self.training(loss, batch, rate, l2_shift)
        if not 1 <= epochs < 1 << 32:
            raise ValueError(f"epochs must be from 1 to {(1 << 32) - 1}: {epochs}")
        return {"loss": self.build.losses[loss]} | run_settings(
            self.geometry,
            *self.codes.shape,
            bits=self.bits,
            stored=self.bits,
            signed=self.signed,
            batch=batch,
            step=training.step,
            l2_shift=l2_shift,
            epochs=epochs,
            label_address=self.label_address,
            tile=self.tile,
        )

    def golden(
        self,
        weights: ArrayLike,
        *,
        loss: str,
        batch: int,
        rate: float,
        epochs: int = 1,
        l2_shift: int = 0,
    ) -> NDArray[np.int64]:
        """Return the weights that such a run must leave, bit for bit, by a model in NumPy."""
        training = self.training(loss, batch, rate, l2_shift)
        parts = Parts(self.geometry.worker_of(self.features), self.geometry.group_of(self.features))
        result = np.asarray(weights, dtype=np.int64)
        for _ in range(epochs):
            result, _ = train_classes(
                lambda labels, own: epoch(self.codes, labels, own, training, parts),
                self.labels,
                result,
            )
        return result

    def training(self, loss: str, batch: int, rate: float, l2_shift: int) -> Training:
        """Return what a run computes; ValueError for what the hardware does not know."""
        fixed = self.build.fixed
        if loss not in self.build.losses:
            raise ValueError(f"loss must be one of {', '.join(self.build.losses)}: {loss!r}")
        allowed, item = ALLOWED.get(loss), 1 << fixed["fraction_bits"]
        if allowed and not np.isin(self.labels, [label * item for label in allowed]).all():
            raise ValueError(f"labels of the {loss} loss must be {allowed[0]} or {allowed[1]}")
        if l2_shift and not fixed["l2_built"]:
            raise ValueError("this build has no L2 term")
        if not 0 < batch < fixed["banks"] << 16:
            raise ValueError(f"batch must be below {fixed['banks'] << 16}: {batch}")
        if self.tile > 1 and batch % (fixed["banks"] * self.tile):
            raise ValueError(
                f"batch must be a multiple of {fixed['banks'] * self.tile}, whole tiles: {batch}"
            )
        return Training(
            loss=Loss(loss),
            bits=self.bits,
            signed=self.signed,
            batch=batch,
            banks=fixed["banks"],
            step=Step.of(rate, batch),
            l2_shift=l2_shift,
            fraction_bits=fixed["fraction_bits"],
        )
