"""Data sets as dense float64 arrays, from scikit-learn, LIBSVM text or NumPy archives."""

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_svmlight_file

from sim.golden.p4sgd import Loss

BUILT_IN = {
    "digits": load_digits,
    "breast-cancer": load_breast_cancer,
}
DEFAULT_POSITIVE = {"digits": ">=5"}
LIBSVM_SUFFIXES = (".svm", ".libsvm", ".txt")

LABEL_LIMIT = 256
"""Real labels must fit signed 32 bits with 23 fraction bits."""

DENSE_LIMIT = 1 << 28
"""Values of a dense data set (2 GiB); far more than a simulation can train on."""

LISTED_CLASSES = 10

Floats = NDArray[np.float64]


class DataError(ValueError):
    """A data set that cannot be used; the message is one line for the user."""


@dataclass(frozen=True)
class DataSet:
    """Samples in training order, with labels as the loss wants them."""

    name: str
    features: Floats  # [S, D], not scaled
    labels: Floats  # [S], logistic 0/1, hinge -1/+1, linear as in the source
    classes: str  # what is positive and what is not; "" for linear

    @property
    def feature_count(self) -> int:
        """D, with the constant feature of a bias if there is one."""
        return self.features.shape[1]


def load(source: str, *, loss: Loss, positive: str | None = None, bias: bool = False) -> DataSet:
    """Load `source` for training with `loss`; anything wrong with it raises DataError.

    `source` is "digits", "breast-cancer", or the path of a LIBSVM text (.svm, .libsvm, .txt, each
    also with .gz) or of an .npz archive with arrays X and y, or features and labels. For the
    classification losses labels become two classes: of two, the larger is the positive one; of
    several, `positive` names one ("3") or a threshold (">=5", default for digits). `bias` appends
    a constant feature 1.
    """
    if source in BUILT_IN:
        name, (features, labels) = source, BUILT_IN[source](return_X_y=True)
        if loss is not Loss.LINEAR:
            positive = positive or DEFAULT_POSITIVE.get(source)
    else:
        name, (features, labels) = Path(source).name, _read(Path(source))
    features, labels = _checked(name, features, labels)
    if bias:
        features = np.hstack([features, np.ones((len(features), 1))])
    if loss is Loss.LINEAR:
        return DataSet(name, features, _real_labels(name, labels, positive), "")
    chosen, classes = _positive_samples(name, labels, positive)
    negative = -1.0 if loss is Loss.HINGE else 0.0
    return DataSet(name, features, np.where(chosen, 1.0, negative), classes)


def _read(path: Path) -> tuple[NDArray, NDArray]:
    if not os.path.isfile(path):  # unlike Path.is_file, False for any impossible name
        raise DataError(f"{path}: no such file (built-in data sets: {', '.join(BUILT_IN)})")
    file = path.name.lower()
    archive = file.endswith(".npz")
    if not archive and not file.removesuffix(".gz").endswith(LIBSVM_SUFFIXES):
        kinds = f"{', '.join(LIBSVM_SUFFIXES)} (each also with .gz) or .npz"
        raise DataError(f"{path}: unknown kind of file, expected {kinds}")
    try:
        return _read_npz(path) if archive else _read_libsvm(path)
    except DataError:
        raise
    except Exception as error:  # parsers of foreign files raise nearly anything
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise DataError(f"{path}: malformed file ({reason})") from None


def _read_libsvm(path: Path) -> tuple[NDArray, NDArray]:
    features, labels = load_svmlight_file(str(path))[:2]
    if features.shape[0] and not features.nnz:
        raise DataError(f"{path}: no features")
    values = features.shape[0] * features.shape[1]
    if values > DENSE_LIMIT:
        raise DataError(
            f"{path}: {features.shape[0]} samples x {features.shape[1]} features are too many, "
            f"at most {DENSE_LIMIT} values"
        )
    return features.toarray(), labels


def _read_npz(path: Path) -> tuple[NDArray, NDArray]:
    archive = np.load(path, allow_pickle=False)
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise DataError(f"{path}: a single array, expected an .npz archive")
    with archive:
        for features, labels in (("X", "y"), ("features", "labels")):
            if features in archive and labels in archive:
                return archive[features], archive[labels]
        found = ", ".join(archive.files) or "none"
    raise DataError(f"{path}: needs arrays X and y, or features and labels; found {found}")


def _checked(name: str, features: NDArray, labels: NDArray) -> tuple[Floats, Floats]:
    for what, array in (("features", features), ("labels", labels)):
        if array.dtype.kind not in "biuf":
            raise DataError(f"{name}: {what} must be real numbers, not {array.dtype}")
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise DataError(
            f"{name}: features must have shape (samples, features) and labels (samples,), "
            f"not {features.shape} and {labels.shape}"
        )
    for what, size in zip(("samples", "features"), features.shape, strict=True):
        if not size:
            raise DataError(f"{name}: no {what}")
    features, labels = features.astype(np.float64), labels.astype(np.float64)
    for what, array in (("features", features), ("labels", labels)):
        if not np.isfinite(array).all():
            raise DataError(f"{name}: {what} must be finite, found NaN or infinity")
    return features, labels


def _real_labels(name: str, labels: Floats, positive: str | None) -> Floats:
    if positive is not None:
        raise DataError(f"{name}: a positive class is for classification, not for linear loss")
    largest = labels[np.argmax(np.abs(labels))]
    if abs(largest) >= LABEL_LIMIT:
        raise DataError(
            f"{name}: labels must be between -{LABEL_LIMIT} and {LABEL_LIMIT}, "
            f"found {_number(largest)}; scale them"
        )
    return labels


def _positive_samples(
    name: str, labels: Floats, positive: str | None
) -> tuple[NDArray[np.bool_], str]:
    classes = np.unique(labels)
    listed = _listed(classes)
    if classes.size == 1:
        raise DataError(f"{name}: only one class ({listed}), nothing to tell apart")
    if positive is None:
        if classes.size > 2:
            raise DataError(
                f"{name}: {classes.size} classes ({listed}), name the positive one "
                'or a threshold such as ">=5"'
            )
        return labels == classes[1], f"{_number(classes[1])} against {_number(classes[0])}"
    threshold = positive.startswith(">=")
    value = _parsed(name, positive)
    chosen = labels >= value if threshold else labels == value
    if not chosen.any():
        raise DataError(f"{name}: no label is {positive}; classes: {listed}")
    if chosen.all():
        raise DataError(f"{name}: every label is {positive}; classes: {listed}")
    return chosen, f"{positive} against the rest of {listed}"


def _parsed(name: str, positive: str) -> float:
    try:
        value = float(positive.removeprefix(">="))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(
            f'{name}: positive must be a label or a threshold such as ">=5", not {positive!r}'
        )
    return value


def _listed(classes: Floats) -> str:
    text = ", ".join(_number(value) for value in classes[:LISTED_CLASSES])
    more = classes.size - LISTED_CLASSES
    return f"{text} and {more} more" if more > 0 else text


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
