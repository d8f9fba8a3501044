"""Computes a figure of a P4SGD engine by a formula, without a simulation."""

from hdl.p4sgd.engine.params import EngineParams
from sim.harness.session import Session
from sim.harness.workload import Workload


class EngineSession(Session):
    """Computes how many features an engine can take in a cycle."""

    workload = Workload
    calculated = {"features_per_cycle": "that a forward stage takes, of one bit: lanes x banks"}
    maximise = ("features_per_cycle",)

    @classmethod
    def calculate(cls, params: EngineParams, requested: Workload) -> dict[str, float]:
        """Return the number of features of one bit that the forward stage takes in a cycle."""
        return {"features_per_cycle": params.banks * params.lanes}
