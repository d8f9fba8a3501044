"""Specifies P4SGD training: mini-batch SGD in fixed point, bit-exact with the RTL.

Numbers are integers; weights, activations, labels and derivatives have `fraction_bits` fraction
bits in 32 bits, feature codes `Training.shift` in 16 (signed: two's complement). Algorithm 1.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.golden.arithmetic import FRACTION_BITS, Integers, Mask, Step, round_shift, saturate
from sim.golden.choices import Loss
from sim.p4sgd.golden.sigmoid import sigmoid

L2_SHIFTS = range(4, 24)  #: N of weights that shrink by 2^-N of themselves in a mini-batch
FEATURES_LIMIT = 1 << 24
"""Features of a worker: up to it, sums of 32-bit weights times codes fit 63 bits."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """Holds what the host programs into every worker before a job."""

    loss: Loss
    bits: int  # precision of a feature, 1..16
    signed: bool  # codes are two's complement
    batch: int  # samples of a mini-batch, at least 8, a multiple of banks
    banks: int  # samples of a micro-batch, 1..16
    step: Step  # eta / batch
    l2_shift: int = 0  # weights shrink by 2**-l2_shift per mini-batch, 4..23; 0: off
    fraction_bits: int = FRACTION_BITS  # 5..26

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 16:
            raise ValueError(f"bits must be 1..16, not {self.bits}")
        if not 1 <= self.banks <= 16:
            raise ValueError(f"banks must be 1..16, not {self.banks}")
        if self.batch < 8 or self.batch % self.banks:
            raise ValueError(
                f"batch must be at least 8 and a multiple of banks ({self.banks}), not {self.batch}"
            )
        if self.l2_shift and self.l2_shift not in L2_SHIFTS:
            raise ValueError(f"l2_shift must be 0 (off) or 4..23, not {self.l2_shift}")
        if not 5 <= self.fraction_bits <= 26:
            raise ValueError(f"fraction_bits must be 5..26, not {self.fraction_bits}")

    @property
    def shift(self) -> int:
        """Return the fraction bits of a feature: value = code / 2**shift."""
        return self.bits - 1 if self.signed else self.bits


@dataclass(frozen=True)
class Parts:
    """Describes how features are split, which decides where saturation happens and is counted."""

    worker_of: NDArray[np.integer]  # [D] worker that holds the feature
    group_of: NDArray[np.integer]  # [D] one number per (worker, engine, chunk)

    @classmethod
    def single(cls, features: int) -> "Parts":
        """Return the partition with everything in one worker and one chunk."""
        nothing = np.zeros(features, dtype=np.int64)
        return cls(nothing, nothing)

    def worker_features(self) -> list[NDArray[np.intp] | slice]:
        """Return the indices of the features of each worker that has any."""
        workers = np.unique(self.worker_of)
        if workers.size <= 1:
            return [slice(None)]
        return [np.flatnonzero(self.worker_of == worker) for worker in workers]


@dataclass(frozen=True)
class Saturations:
    """Counts how often each saturation point clamped."""

    activation: int = 0  # partial activations, per sample and worker
    full: int = 0  # sums over workers: full activations, per sample, or exchanged weights
    derivative: int = 0  # loss derivatives, per sample
    delta: int = 0  # per sample
    model: int = 0  # per micro-batch and group of features in which any feature clamped

    def __add__(self, other: "Saturations") -> "Saturations":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Saturations(*(own + reference for own, reference in pairs))


def partial_activation(
    codes: NDArray[np.number], weights: ArrayLike, shift: int
) -> tuple[Integers, Mask]:
    """Return PA[S] = sat32(round(codes[S, D] @ weights[D] / 2**shift)) and what saturated.

    The sum is exact before its one rounding. Codes are integers of any dtype below 2**shift in
    magnitude, shift at most 16; weights are signed 32 bits; D is at most FEATURES_LIMIT.
    """
    weights, codes = np.asarray(weights, dtype=np.int64), np.asarray(codes, dtype=np.float64)
    if shift < 8 or (shift == 8 and codes.min(initial=0) >= 0):
        return saturate(round_shift(_exact_products(codes, weights), shift))
    # Of larger codes the low 8 bits are added by themselves: the sum has up to 71 bits.
    high = np.floor(codes / 256)
    low = _exact_products(codes - 256 * high, weights) + (1 << shift - 1)
    return saturate((_exact_products(high, weights) + (low >> 8)) >> shift - 8)


def _exact_products(codes: NDArray[np.float64], weights: Integers) -> Integers:
    """Return codes[S, D] @ weights[D] of codes -255..255, which is below 2**63.

    Float64 products run in BLAS and are exact: with weights cut into 16-bit halves, every partial
    sum is an integer of at most 2**(8 + 16 + 24) < 2**53, in whatever order it is taken.
    """
    halves = np.stack([weights >> 16, weights & 0xFFFF], axis=1).astype(np.float64)
    high, low = (codes @ halves).astype(np.int64).T
    return (high << 16) + low


def full_activation(partial: ArrayLike) -> tuple[Integers, Mask]:
    """Return FA[S] = sat32(sum over workers of partial[M, S]) and what saturated."""
    return saturate(np.sum(np.asarray(partial, dtype=np.int64), axis=0))


def derivative(
    loss: Loss, full: ArrayLike, labels: ArrayLike, fraction_bits: int = FRACTION_BITS
) -> tuple[Integers, Mask]:
    """Return the loss derivative at full[S] and labels[S] (32-bit fixed point), sat32, and mask.

    - linear: FA - y
    - logistic: sigmoid(FA) - y
    - hinge: -y if y FA < 1 else 0, where y is +1 for labels >= 0 and -1 for others
    """
    full = np.asarray(full, dtype=np.int64)
    labels = np.asarray(labels, dtype=np.int64)
    if loss is Loss.LINEAR:
        return saturate(full - labels)
    if loss is Loss.LOGISTIC:
        return saturate(sigmoid(full, fraction_bits) - labels)
    item = 1 << fraction_bits
    sign = np.where(labels >= 0, 1, -1)
    return saturate(np.where(sign * full < item, -sign * item, 0))


def delta(derivative: ArrayLike, step: Step) -> tuple[Integers, Mask]:
    """Return sat32(round(derivative * step)) and what saturated; products are below 2**48."""
    product = np.asarray(derivative, dtype=np.int64) * step.mantissa
    return saturate(round_shift(product, step.exponent))


def update(
    weights: ArrayLike,
    codes: NDArray[np.number],
    deltas: ArrayLike,
    shift: int,
    l2_shift: int = 0,
) -> tuple[Integers, Mask]:
    """Return the model after one micro-batch, and which features saturated.

    weights[D] is the updated model so far, codes[K, D] and deltas[K] the micro-batch:

        w - round(sum over k of delta_k code_kd / 2**shift) - round(w / 2**l2_shift)

    with one saturation at the end. l2_shift is 0 (no such term) but at the last micro-batch of a
    mini-batch of a regularised training.
    """
    weights = np.asarray(weights, dtype=np.int64)
    # Exact in float64: K <= 16 products of 31 + 16 bits are integers of at most 2**51.
    sums = np.asarray(deltas, dtype=np.float64) @ np.asarray(codes, dtype=np.float64)
    updated = weights - round_shift(sums.astype(np.int64), shift)
    if l2_shift:
        updated -= round_shift(weights, l2_shift)
    return saturate(updated)


def epoch(
    codes: NDArray[np.integer],
    labels: ArrayLike,
    weights: ArrayLike,
    training: Training,
    parts: Parts | None = None,
) -> tuple[Integers, Saturations]:
    """Train one epoch on codes[S, D] and labels[S] in order; return weights[D] and saturations.

    All forward passes of a mini-batch see the weights of its start; its micro-batches change the
    updated model one after the other. A last mini-batch or micro-batch may be incomplete: absent
    samples contribute nothing, the step stays. Without `parts` there is one worker and one group.
    """
    labels = np.asarray(labels, dtype=np.int64)
    weights = np.asarray(weights, dtype=np.int64)
    parts = parts or Parts.single(codes.shape[1])
    check(codes, labels, weights, training, parts)
    total = Saturations()
    for start in range(0, len(codes), training.batch):
        batch = slice(start, start + training.batch)
        weights, counts = _mini_batch(codes[batch], labels[batch], weights, training, parts)
        total += counts
    return weights, total


def _mini_batch(
    codes: NDArray[np.integer],
    labels: Integers,
    weights: Integers,
    training: Training,
    parts: Parts,
) -> tuple[Integers, Saturations]:
    values = codes.astype(np.float64)  # once for all the products below
    deltas, total = forward(values, labels, weights, training, parts)
    weights, counts = updated(values, deltas, weights, training, parts)
    return weights, total + counts


def updated(
    values: NDArray[np.float64],
    deltas: Integers,
    weights: Integers,
    training: Training,
    parts: Parts,
) -> tuple[Integers, Saturations]:
    """Return the weights after the micro-batches of a mini-batch."""
    total = Saturations()
    for start in range(0, len(values), training.banks):
        last = start + training.banks >= len(values)
        micro_batch = slice(start, start + training.banks)
        weights, mask = update(
            weights,
            values[micro_batch],
            deltas[micro_batch],
            training.shift,
            training.l2_shift if last else 0,
        )
        if mask.any():
            total += Saturations(model=np.unique(parts.group_of[mask]).size)
    return weights, total


def forward(
    values: NDArray[np.float64],
    labels: Integers,
    weights: Integers,
    training: Training,
    parts: Parts,
) -> tuple[Integers, Saturations]:
    """Return the deltas of samples whose features are values[S, D], and what saturated."""
    partial, partial_masks = _partial_activations(values, weights, training.shift, parts)
    full, full_mask = full_activation(partial)
    slope, slope_mask = derivative(training.loss, full, labels, training.fraction_bits)
    deltas, delta_mask = delta(slope, training.step)
    masks = (partial_masks, full_mask, slope_mask, delta_mask)
    return deltas, Saturations(*(int(np.count_nonzero(mask)) for mask in masks))


def _partial_activations(
    values: NDArray[np.float64], weights: Integers, shift: int, parts: Parts
) -> tuple[list[Integers], list[Mask]]:
    pairs: Sequence[tuple[Integers, Mask]] = [
        partial_activation(values[:, features], weights[features], shift)
        for features in parts.worker_features()
    ]
    return [partial for partial, _ in pairs], [mask for _, mask in pairs]


def check(
    codes: NDArray[np.integer],
    labels: Integers,
    weights: Integers,
    training: Training,
    parts: Parts,
) -> None:
    """Raise ValueError for shapes that do not fit each other or codes out of range."""
    samples, features = codes.shape
    if labels.shape != (samples,):
        raise ValueError(f"labels must have shape ({samples},), not {labels.shape}")
    for name, array in (
        ("weights", weights),
        ("worker_of", parts.worker_of),
        ("group_of", parts.group_of),
    ):
        if array.shape != (features,):
            raise ValueError(f"{name} must have shape ({features},), not {array.shape}")
    if features > FEATURES_LIMIT:
        raise ValueError(f"at most {FEATURES_LIMIT} features, not {features}")
    lowest = -(1 << training.shift) if training.signed else 0
    highest = (1 << training.shift) - 1
    if codes.size and not (lowest <= codes.min() and codes.max() <= highest):
        raise ValueError(f"codes must be {lowest}..{highest}, not {codes.min()}..{codes.max()}")
