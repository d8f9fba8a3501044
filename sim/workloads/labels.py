"""Turns labels into those that a loss wants."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sim.golden.arithmetic import FRACTION_BITS
from sim.golden.choices import Loss
from sim.workloads.files import InputError

BYTE = 256  #: least steps of the largest real label
LISTED_CLASSES = 10
MOST_CLASSES = 16  #: that hardware trains in one pass

Floats = NDArray[np.float64]


def labelling(
    name: str, labels: Floats, loss: Loss, positive: str | None, classes: int = 1
) -> tuple[Callable[[str, Floats], Floats], str]:
    """Return a function that makes labels fit the loss, and the classes in words.

    With several ``classes``, the most that there may be, it makes labels numbers of classes.
    """
    if classes > 1:
        return _numbering(name, labels, positive, classes)
    if loss is Loss.LINEAR:
        return lambda name, labels: _real_labels(name, labels, positive), ""
    chosen, described = _positive_class(name, labels, positive)
    known = np.unique(labels)

    def fitted(name: str, labels: Floats) -> Floats:
        if positive is None:
            _check_known(name, labels, known)
        return np.where(chosen(labels), 1.0, -1.0 if loss is Loss.HINGE else 0.0)

    return fitted, described


def _numbering(
    name: str, labels: Floats, positive: str | None, classes: int
) -> tuple[Callable[[str, Floats], Floats], str]:
    if positive is not None:
        raise InputError(
            f"{name}: --positive is for hardware that trains one class, with --set classes=1; this"
            f" trains {classes} in one pass"
        )
    known = np.unique(labels)
    if known.size == 1:
        raise InputError(f"{name}: only one class ({_listed(known)}), nothing to tell apart")
    if known.size > classes:
        raise InputError(
            f"{name}: {known.size} classes ({_listed(known)}), and the hardware trains {classes} in"
            f" one pass{_mend(known.size)}"
        )

    def numbered(name: str, labels: Floats) -> Floats:
        _check_known(name, labels, known)
        return np.searchsorted(known, labels).astype(np.float64)

    return numbered, f"each of {_listed(known)} against the rest"


def _mend(classes: int) -> str:
    """Return how hardware is built that trains so many classes in one pass, if there is any."""
    if classes > MOST_CLASSES:
        return f"; hardware trains at most {MOST_CLASSES} in one pass; --loss linear takes numbers"
    return (
        f"; --set classes={classes} --set engines={classes}, or a multiple of it as engines, trains"
        " all in one pass"
    )


def _check_known(name: str, labels: Floats, known: Floats) -> None:
    if foreign := np.setdiff1d(labels, known).tolist():
        raise InputError(
            f"{name}: label {_number(foreign[0])} is none to train on: {_listed(known)}"
        )


def _real_labels(name: str, labels: Floats, positive: str | None) -> Floats:
    if positive is not None:
        raise InputError(f"{name}: a positive class is for classification, not for linear loss")
    check_real_labels(name, labels, least=0)
    return labels


def check_real_labels(
    name: str, labels: Floats, fraction: int = FRACTION_BITS, least: float = BYTE
) -> None:
    """Raise InputError unless labels fit 32 bits, ``fraction`` of them behind the point.

    Unless all are 0, the largest must be ``least`` steps, so that rounding leaves something of it.
    """
    largest, limit = labels[np.argmax(np.abs(labels))], 2 ** (31 - fraction)
    if not -limit <= largest < limit:
        raise InputError(
            f"{name}: labels must be between -{limit} and {limit}, found {_number(largest)};"
            " scale them"
        )
    if 0 < abs(largest) < least * 2.0**-fraction:
        raise InputError(
            f"{name}: labels must reach {least} steps of 2^-{fraction}, and the largest is"
            f" {_number(largest)}; scale them"
        )


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
                f'or a threshold such as ">=5" by --positive{_mend(classes.size)}'
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
