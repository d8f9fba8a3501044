"""Reads what a file says of a graph's vertices: arrays of an .npz file, [V] or [V, features]."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.workloads.arrays import Archive


@dataclass(frozen=True, kw_only=True, eq=False)
class Vertices:
    """Holds what vertices bring for training, as far as there is anything."""

    features: NDArray[np.float64] | None = None  #: [V, features], finite
    labels: NDArray[np.int64] | None = None  #: [V]
    train: NDArray[np.bool_] | None = None  #: [V]: whether it is trained on

    @classmethod
    def of(cls, archive: Archive, vertices: int) -> "Vertices":
        """Read those of an .npz file; raise InputError for a wrong shape or type."""
        found: dict[str, Any] = {
            name: archive.take(name, kinds, vertices, *more).astype(kind)
            for name, kinds, kind, *more in (
                ("features", "biuf", np.float64, "features"),
                ("labels", "iu", np.int64),
                ("train", "b", np.bool_),
            )
            if name in archive
        }
        return cls(**found)
