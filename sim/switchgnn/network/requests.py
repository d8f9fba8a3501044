"""What a training and the simulator of its network tell each other; light to import."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.job import PlannedJob

JOB = "INGATHER_SWITCHGNN_NETWORK"  #: environment variable: the socket that requests come by


@dataclass(frozen=True, kw_only=True)
class Begin:
    """The first request: how the network is used."""

    open_turns: int
    links: Any  #: a LinkSettings


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Plans that are aggregated by later on, under a number."""

    number: int
    jobs: dict[int, PlannedJob]  #: by width


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """Features that are to be aggregated by the plans of a number."""

    number: int
    features: NDArray[np.int16]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """To an Aggregate."""

    failure: str = ""  #: why there are no sums
    sums: NDArray[np.int64] | None = None
    counts: dict[str, int] | None = None  #: of the whole network, since reset
