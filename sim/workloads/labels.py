"""Turns labels into those that a loss wants."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sim.golden.choices import Loss
from sim.workloads.files import InputError

LABEL_LIMIT = 256
"""Real labels must fit signed 32 bits with 23 fraction bits."""

LISTED_CLASSES = 10

Floats = NDArray[np.float64]


def labelling(
    name: str, labels: Floats, loss: Loss, positive: str | None
) -> tuple[Callable[[str, Floats], Floats], str]:
    """Return a function that makes labels fit the loss, and the classes in words."""
    if loss is Loss.LINEAR:
        return lambda name, labels: _real_labels(name, labels, positive), ""
    chosen, classes = _positive_class(name, labels, positive)
    known = np.unique(labels)

    def fitted(name: str, labels: Floats) -> Floats:
        foreign = np.setdiff1d(labels, known).tolist()
        if foreign and positive is None:
            raise InputError(
                f"{name}: label {_number(foreign[0])} is none to train on: {_listed(known)}"
            )
        return np.where(chosen(labels), 1.0, -1.0 if loss is Loss.HINGE else 0.0)

    return fitted, classes


def _real_labels(name: str, labels: Floats, positive: str | None) -> Floats:
    if positive is not None:
        raise InputError(f"{name}: a positive class is for classification, not for linear loss")
    largest = labels[np.argmax(np.abs(labels))]
    if abs(largest) >= LABEL_LIMIT:
        raise InputError(
            f"{name}: labels must be between -{LABEL_LIMIT} and {LABEL_LIMIT}, "
            f"found {_number(largest)}; scale them"
        )
    return labels


def _positive_class(
    name: str, labels: Floats, positive: str | None
) -> tuple[Callable[[Floats], NDArray[np.bool_]], str]:
    classes = np.unique(labels)
    listed = _listed(classes)
    if classes.size == 1:
        raise InputError(f"{name}: only one class ({listed}), nothing to tell apart")
    if positive is None:
        if classes.size > 2:
            raise InputError(
                f"{name}: {classes.size} classes ({listed}), name the positive one "
                'or a threshold such as ">=5"'
            )
        larger, smaller = classes[1], classes[0]
        return lambda labels: labels == larger, f"{_number(larger)} against {_number(smaller)}"
    compare = np.greater_equal if positive.startswith(">=") else np.equal
    value = _parsed(name, positive)
    chosen = compare(classes, value)
    if not chosen.any():
        raise InputError(f"{name}: no label is {positive}; classes: {listed}")
    if chosen.all():
        raise InputError(f"{name}: every label is {positive}; classes: {listed}")
    return lambda labels: compare(labels, value), f"{positive} against the rest of {listed}"


def _parsed(name: str, positive: str) -> float:
    try:
        value = float(positive.removeprefix(">="))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f'{name}: positive must be a label or a threshold such as ">=5", not {positive!r}'
        )
    return value


def _listed(classes: Floats) -> str:
    text = ", ".join(_number(value) for value in classes[:LISTED_CLASSES])
    more = classes.size - LISTED_CLASSES
    return f"{text} and {more} more" if more > 0 else text


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
