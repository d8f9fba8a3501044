"""Reads what a file says of a graph's vertices: arrays of an .npz file, [V] or [V, features]."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen.errors import UserError


@dataclass(frozen=True, kw_only=True, eq=False)
class Vertices:
    """Holds what vertices bring for training, as far as there is anything."""

    features: NDArray[np.float64] | None = None  #: [V, features], finite
    labels: NDArray[np.int64] | None = None  #: [V]
    train: NDArray[np.bool_] | None = None  #: [V]: whether it is trained on

    @classmethod
    def of(cls, path: Path, archive: Any, vertices: int) -> "Vertices":
        """Read those of an opened .npz file; raise UserError for a wrong shape or type."""
        found = {name: archive.get(name) for name in ("features", "labels", "train")}
        checks = {"features": _features, "labels": _labels, "train": _train}
        there = {
            name: checks[name](path, array, vertices)
            for name, array in found.items()
            if array is not None
        }
        return cls(**there)


def _features(path: Path, features: NDArray[Any], vertices: int) -> NDArray[np.float64]:
    if features.ndim != 2 or len(features) != vertices or features.dtype.kind not in "biuf":
        raise UserError(
            f"{path}: features must be numbers [{vertices}, features], not {features.dtype}"
            f" {list(features.shape)}"
        )
    if not np.isfinite(features).all():
        raise UserError(f"{path}: features must be finite, found NaN or infinity")
    return features.astype(np.float64)


def _labels(path: Path, labels: NDArray[Any], vertices: int) -> NDArray[np.int64]:
    if labels.shape != (vertices,) or labels.dtype.kind not in "biu":
        raise UserError(
            f"{path}: labels must be integers [{vertices}], not {labels.dtype} {list(labels.shape)}"
        )
    return labels.astype(np.int64)


def _train(path: Path, train: NDArray[Any], vertices: int) -> NDArray[np.bool_]:
    if train.shape != (vertices,) or train.dtype.kind != "b":
        raise UserError(
            f"{path}: train must be true or false for each of {vertices} vertices, not"
            f" {train.dtype} {list(train.shape)}"
        )
    return train
