"""Describes a paper that can be reproduced: all that the command knows of it, in one place.

What would take long to import is named by its path, ``module:object``, as in a design.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gen.designs.design import Bench, load


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Describes a paper whose figures are made anew from simulated hardware or from models."""

    name: str
    asked: str  #: path of a sim.harness.workload.Workload: the options that only this paper has
    figures: str  #: path of the names of its figures, in the order of the paper
    #: path of a function of names, ``asked``, ``quick`` and ``progress`` that makes a
    #: sim.reproduce.report.Report
    reproduce: str
    needs: Sequence[str] = ()  #: modules of gen.packages that it cannot do without
    benches: Mapping[str, Bench] = field(default_factory=dict)  #: benches of what needs no design

    @property
    def asked_class(self) -> Any:
        """Return the dataclass of the paper's options."""
        return load(self.asked)

    @property
    def figure_names(self) -> Sequence[str]:
        """Return the names of the figures, which ``--only`` takes."""
        return load(self.figures)
