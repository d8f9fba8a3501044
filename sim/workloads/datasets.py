"""Loads data sets as dense float64 arrays, from scikit-learn, LIBSVM text or NumPy archives."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sim.golden.choices import Loss
from sim.workloads import csv_text, libsvm
from sim.workloads.arrays import ARCHIVE_MARKS, ARRAY_MARK, Archive, check
from sim.workloads.files import InputError, read_unpacked
from sim.workloads.labels import labelling

__all__ = ["DataSet", "from_arrays", "load"]

BUILT_IN = {"digits": "load_digits", "breast-cancer": "load_breast_cancer"}
"""Name -> function of scikit-learn's."""

DEFAULT_POSITIVE = {"digits": ">=5"}
FORMS = "LIBSVM text, CSV of numbers with --label COLUMN, or an .npz archive of arrays X and y"
MISSING = "the data set {} needs scikit-learn: pip install 'ingather[data]'"

DENSE_LIMIT = 1 << 28
"""Values of a data set: 2 GiB, and loading takes twice as much. No simulation trains on these."""

Floats = NDArray[np.float64]
Features: TypeAlias = Any
"""An array, or a csr_array of LIBSVM text: its columns are indices as they are written."""


@dataclass(frozen=True)
class DataSet:
    """Holds samples in training order, with labels as the loss wants them."""

    name: str
    features: Floats  # [S, D], not scaled
    labels: Floats  # [S], logistic 0/1, hinge -1/+1, linear as in the source; of several classes
    # that are trained in one pass, their numbers
    classes: str  # what is positive and what is not; "" for linear
    order: str = "in the order of the source"
    test: "DataSet | None" = None  # samples that are not trained on
    label_values: tuple[float, ...] = (0, 1)  # negative and positive label in the source, if two;
    # of several classes that are trained in one pass, the labels of all

    @property
    def feature_count(self) -> int:
        """Return D, with the constant feature of a bias if there is one."""
        return self.features.shape[1]

    def shuffled(self, seed: int) -> "DataSet":
        """Return the same samples in an order that ``seed`` decides; those of ``test`` stay."""
        order = np.random.default_rng(seed).permutation(len(self.labels))
        return replace(
            self,
            features=self.features[order],
            labels=self.labels[order],
            order=f"shuffled with seed {seed}",
        )

    def held_out(self, share: float) -> "DataSet":
        """Hold out the last ``share`` of samples for tests; raise InputError if too few remain."""
        count = round(share * len(self.labels))
        stored = len(self.labels) - count
        if not (count and stored):
            raise InputError(
                f"{self.name}: {share:g} of {len(self.labels)} samples leaves no others"
            )
        if self.classes and np.unique(self.labels[:stored]).size == 1:
            raise InputError(f"{self.name}: the first {stored} to train on are of one class")
        features, labels = self.features, self.labels
        test = replace(self, features=features[stored:], labels=labels[stored:], test=None)
        return replace(self, features=features[:stored], labels=labels[:stored], test=test)


def load(
    source: str,
    *,
    loss: Loss,
    positive: str | None = None,
    bias: bool = False,
    order: int | None = None,
    test: str | None = None,
    label: str | None = None,
    most: int | None = None,
    classes: int = 1,
) -> DataSet:
    """Load `source` for training with `loss`; anything wrong with it raises InputError.

    `source` is "digits", "breast-cancer", or the path of a LIBSVM text, of a CSV whose column
    `label` (its name, or its number from 1 on) has the labels, or of an .npz archive with arrays X
    and y, or features and labels; files are told by their content and may be packed with gzip,
    bzip2 or xz. For the classification losses labels become two classes: of two, the larger
    is the positive one; of several, `positive` names one ("3") or a threshold (">=5", default for
    digits). `bias` appends a constant feature 1. `order` is the seed by which the samples are
    shuffled; without one they stay as they are. `test` is the share of the samples that is held
    out, the last of that order ("0.2"), or another file, whose labels mean the same: features of
    its own that `source` lacks have the weight zero, and are left out. Of `source`, only the first
    `most` samples are taken. With more `classes` than one, up to so many are trained in one pass,
    and labels become the numbers of classes, in rising order.
    """
    if source in BUILT_IN:
        if label is not None:
            raise InputError(f"--label names a column of a CSV file, {source} is none")
        name, (features, labels), names = source, _built_in(source), []
        if loss is not Loss.LINEAR and classes == 1:
            positive = positive or DEFAULT_POSITIVE.get(source)
    else:
        name, (features, labels, names) = Path(source).name, _read(Path(source), label)
    features, labels = features[:most], labels[:most]
    share = None if test is None else _share(test)
    held = None
    if test is not None and share is None:
        test_features, test_labels, test_names = _read(Path(test), label)
        if test_names != names:
            raise InputError(f"{test}: its columns have other names than those of {name}")
        features, held = _alike(name, features, (Path(test).name, test_features, test_labels))
    features, labels = _checked(name, _dense(name, features), labels)
    features = _with_bias(features, bias)
    rule, described = labelling(name, labels, loss, positive, classes)
    data = DataSet(name, features, rule(name, labels), described)
    data = replace(data, label_values=_values(data.labels, labels, classes))
    if held:
        name, (features, labels) = held[0], _checked(*held)
        data = replace(
            data, test=DataSet(name, _with_bias(features, bias), rule(name, labels), described)
        )
    return _ordered(data, order, share)


def from_arrays(
    features: Any,
    labels: Any,
    *,
    loss: Loss,
    positive: str | None = None,
    bias: bool = False,
    order: int | None = None,
    test: str | None = None,
    name: str = "arrays",
    classes: int = 1,
) -> DataSet:
    """Make samples of two arrays, of shapes (samples, features) and (samples,).

    The former may be of scipy.sparse. The rest is as for `load`, but test samples are a share of
    these. Raises InputError.
    """
    share = None if test is None else _share(test)
    if test is not None and share is None:
        raise InputError(f"test samples of arrays are a share of them, such as 0.2, not {test}")
    dense = _dense(name, csr_array(features), 0) if issparse(features) else np.asarray(features)
    features, labels = _checked(name, dense, np.asarray(labels))
    rule, described = labelling(name, labels, loss, positive, classes)
    data = DataSet(name, _with_bias(features, bias), rule(name, labels), described)
    data = replace(data, label_values=_values(data.labels, labels, classes))
    return _ordered(data, order, share)


def _ordered(data: DataSet, order: int | None, share: float | None) -> DataSet:
    """Return the samples as they are trained on: shuffled, then the last ones held out."""
    if order is not None:
        data = data.shuffled(order)
    return data if share is None else data.held_out(share)


def _values(labels: Floats, source: Floats, classes: int) -> tuple[float, ...]:
    """Return the labels of the source that are negative and positive, or 0 and 1 if not two.

    With several ``classes``, return the labels of all.
    """
    values = np.unique(source)
    plain = tuple(int(value) if value.is_integer() else float(value) for value in values)
    if classes > 1:
        return plain
    if len(plain) != 2:
        return 0, 1
    low, high = plain
    return (low, high) if labels[source == values[1]][0] > 0 else (high, low)


def _built_in(name: str) -> tuple[NDArray, NDArray]:
    try:
        from sklearn import datasets
    except ImportError:
        raise InputError(MISSING.format(name)) from None
    return getattr(datasets, BUILT_IN[name])(return_X_y=True)


def _share(test: str) -> float | None:
    """Return ``test`` as a number; None if it names a file."""
    try:
        share = float(test)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise InputError(f"the test samples are a share above 0 and below 1, or a file: {test}")
    return share


def _read(path: Path, label: str | None) -> tuple[Features, NDArray, list[str]]:
    """Return features, labels and the names of the features, as far as they have names."""
    content = read_unpacked(path, instead=f" (built-in data sets: {', '.join(BUILT_IN)})")
    if content.startswith(ARRAY_MARK):
        raise InputError(f"{path}: a single array, expected an .npz archive")
    is_archive = content.startswith(ARCHIVE_MARKS)
    if (b"\0" in content or path.suffix == ".npz") and not is_archive:
        raise InputError(f"{path}: malformed file, expected {FORMS}")
    if label is not None and (is_archive or libsvm.is_libsvm(content)):
        form = "an .npz archive" if is_archive else "LIBSVM text"
        raise InputError(f"{path}: --label names a column of a CSV file, this is {form}")
    is_csv = not is_archive and (label is not None or csv_text.is_csv(content))
    if is_archive:
        return *_read_npz(Archive(path, content)), []
    if is_csv:
        return csv_text.parse(path, content, label)
    features, labels = libsvm.parse(path, content)
    if labels.size and not features.nnz:
        raise InputError(f"{path}: no features")
    return features, labels, []


def _read_npz(archive: Archive) -> tuple[NDArray, NDArray]:
    for features, labels in (("X", "y"), ("features", "labels")):
        if features in archive and labels in archive:
            _limit(archive.path.name, f"{features} holds", archive.size_of(features))
            return archive[features], archive[labels]
    result = ", ".join(archive) or "none"
    raise InputError(
        f"{archive.path}: needs arrays X and y, or features and labels; found {result}"
    )


def _alike(
    name: str, features: Features, held: tuple[str, Features, NDArray]
) -> tuple[Features, tuple[str, NDArray, NDArray]]:
    """Return both with equal features: LIBSVM texts name no width, and may count from 0 or 1."""
    test_name, test, labels = held
    if not _is_sparse(test):
        dense = _dense(name, features)
        if test.shape[1:] != dense.shape[1:]:
            shapes = f"{test.shape} beside the {dense.shape} of {name}"
            raise InputError(f"{test_name}: must have the same number of features, not {shapes}")
        return dense, (test_name, test, labels)
    first = libsvm.first_index(test)
    if _is_sparse(features):
        first = min(first, libsvm.first_index(features))
        features = _dense(name, features, first)
    wide = test.copy()
    wide.resize(test.shape[0], first + features.shape[1])
    return features, (test_name, _dense(test_name, wide, first), labels)


def _dense(name: str, features: Features, first: int | None = None) -> NDArray:
    if not _is_sparse(features):
        return features
    first = libsvm.first_index(features) if first is None else first
    samples, count = features.shape[0], features.shape[1] - first
    most = min(DENSE_LIMIT, (1 << 22) + (features.nnz << 10))  # no file's zeros fill a memory
    _limit(name, f"{samples} samples x {count} features are", samples * count, most)
    return features[:, first:].toarray()


def _limit(name: str, what: str, values: int, most: int | None = None) -> None:
    most = DENSE_LIMIT if most is None else most
    if values > most:
        raise InputError(f"{name}: {what} too many values, at most {most}")


def _is_sparse(features: Features) -> bool:
    return isinstance(features, csr_array)


def _with_bias(features: Floats, bias: bool) -> Floats:
    return np.hstack([features, np.ones((len(features), 1))]) if bias else features


def _checked(name: str, features: NDArray, labels: NDArray) -> tuple[Floats, Floats]:
    for what, array in (("features", features), ("labels", labels)):
        check(f"{name}: {what}", array, "biuf", *array.shape)
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise InputError(
            f"{name}: features must have shape (samples, features) and labels (samples,), "
            f"not {features.shape} and {labels.shape}"
        )
    for what, size in zip(("samples", "features"), features.shape, strict=True):
        if not size:
            raise InputError(f"{name}: no {what}")
    return features.astype(np.float64, copy=False), labels.astype(np.float64, copy=False)
