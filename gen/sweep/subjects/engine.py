"""A P4SGD engine by itself: synthesis only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gen.sweep.subject import Subject


@dataclass(frozen=True, kw_only=True)
class NoWorkload:
    """Nothing is simulated."""


class EngineSubject(Subject):
    """Estimates of one engine."""

    workload = NoWorkload
    hardware = "hdl.p4sgd.engine.engine"
    calculated = {"features_per_cycle": "that a forward stage takes, of one bit: lanes x banks"}
    maximise = ("features_per_cycle",)

    def calculate(
        self, params: Any, workload: Any, counted: Mapping[str, float]
    ) -> dict[str, float]:
        """Of the formula."""
        return {"features_per_cycle": params.banks * params.lanes}
