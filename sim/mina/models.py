"""Describes models to the scheduler: when a step adds up gradients, and how many bytes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
MOST = 1 << 40  #: hosts, steps, bytes, and seconds

#: Maps names to recordings in ``data/``, of batches of 4, in the order of the authors' program.
FILES = {
    "OPT-125M": "opt-125m-4",
    "OPT-350M": "opt-350m-4",
    "OPT-1.3B": "opt-1.3b-4",
    "BERT-base": "bert-base-4",
    "BERT-large": "bert-large-4",
    "ViT-base": "vit-base-4",
    "ViT-large": "vit-large-4",
}


@dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """Describes a training step, which computes for ``period`` seconds and adds gradients up."""

    name: str
    period: float  #: seconds of computing
    starts: Sequence[float]  #: earliest start of each all-reduce, in seconds since the step's
    sizes: Sequence[int]  #: bytes of each all-reduce

    def __post_init__(self) -> None:
        times = [self.period, *self.starts]
        if any(not 0 <= each <= MOST for each in times):
            raise ValueError(f"model {self.name}: times must be from 0 to 2^40 seconds")
        if not self.period:
            raise ValueError(f"model {self.name}: its duration must be more than 0 seconds")
        if list(self.starts) != sorted(self.starts):
            raise ValueError(f"model {self.name}: all-reduces must be in the order of their starts")
        if not self.starts:
            raise ValueError(f"model {self.name}: there must be at least one all-reduce")
        if any(size < 1 for size in self.sizes):
            raise ValueError(f"model {self.name}: sizes must be at least 1 byte")


def model_of(name: str, recorded: Mapping[str, Any]) -> TrainedModel:
    """Read a recording: ``duration``, and ``allreduces`` with ``start`` and ``size``."""
    try:
        operations = recorded["allreduces"]
        return TrainedModel(
            name=name,
            period=float(recorded["duration"]),
            starts=tuple(float(each["start"]) for each in operations),
            sizes=tuple(whole(each["size"]) for each in operations),
        )
    except (KeyError, TypeError, OverflowError) as error:
        text = "it must have duration, and allreduces with start and size"
        raise ValueError(f"model {name}: {text}") from error


def whole(value: Any) -> int:
    """Return ``value``, such as 8 or 1e8, as an integer; raise ValueError if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise ValueError(f"hosts, steps and sizes must be integers: {value!r}")
    if value > MOST:
        raise ValueError(f"hosts, steps and sizes must be at most 2^40: {value!r}")
    return int(value)


@cache
def known_models() -> Mapping[str, TrainedModel]:
    """Return the models that are recorded in ``data/``."""
    return {
        name: model_of(name, json.loads((DATA / f"{file}.json").read_text()))
        for name, file in FILES.items()
    }
