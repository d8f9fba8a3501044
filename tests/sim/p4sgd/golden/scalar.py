"""Computes one epoch of P4SGD in Python's integers and fractions, one sample and feature at a time.

Written from the specification alone, so that the vectorised model has something to disagree with.
"""

import math
from collections import Counter
from fractions import Fraction

from sim.golden.choices import Loss
from sim.p4sgd.golden.sgd import Training


def rounded(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def clamp(value: int, counts: Counter, name: str) -> int:
    inside = max(-(2**31), min(2**31 - 1, value))
    counts[name] += inside != value
    return inside


def sigmoid(x: int, fraction_bits: int) -> int:
    item = 2**fraction_bits
    if x < 0:
        return item - sigmoid(-x, fraction_bits)
    position = Fraction(32 * x, item)
    if position >= 512:
        return item
    index = math.floor(position)
    low, high = (math.floor(item / (1 + math.exp(-end / 32)) + 0.5) for end in (index, index + 1))
    return low + rounded((high - low) * (position - index))


def derivative(loss: Loss, fa: int, label: int, fraction_bits: int) -> int:
    item = 2**fraction_bits
    if loss is Loss.LINEAR:
        return fa - label
    if loss is Loss.LOGISTIC:
        return sigmoid(fa, fraction_bits) - label
    sign = 1 if label >= 0 else -1
    return -sign * item if sign * fa < item else 0


def epoch(
    codes: list[list[int]],
    labels: list[int],
    weights: list[int],
    training: Training,
    worker_of: list[int],
    group_of: list[int],
) -> tuple[list[int], Counter]:
    counts = Counter()
    item = 2**training.shift
    step = Fraction(training.step.mantissa, 2**training.step.exponent)
    model = list(weights)
    deltas = {}
    for i in range(len(codes)):
        if i % training.batch == 0:
            architectural = list(model)  # all samples of the mini-batch see these
        activations = {worker: Fraction(0) for worker in worker_of}
        for d, weight in enumerate(architectural):
            activations[worker_of[d]] += weight * Fraction(codes[i][d], item)
        partial = [clamp(rounded(a), counts, "activation") for a in activations.values()]
        fa = clamp(sum(partial), counts, "full")
        slope = derivative(training.loss, fa, labels[i], training.fraction_bits)
        slope = clamp(slope, counts, "derivative")
        deltas[i] = clamp(rounded(slope * step), counts, "delta")
        batch_ends = (i + 1) % training.batch == 0 or i + 1 == len(codes)
        if (i + 1) % training.banks == 0 or batch_ends:
            decay = training.l2_shift if batch_ends else 0
            saturated = set()
            for d, weight in enumerate(model):
                gradient = sum(delta * Fraction(codes[k][d], item) for k, delta in deltas.items())
                value = weight - rounded(gradient)
                if decay:
                    value -= rounded(Fraction(weight, 2**decay))
                own = Counter()
                model[d] = clamp(value, own, "model")
                if own["model"]:
                    saturated.add(group_of[d])
            counts["model"] += len(saturated)
            deltas = {}
    return model, counts
