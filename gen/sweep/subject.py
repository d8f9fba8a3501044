"""What a sweep knows of a design: what it can do, and which metrics come of it, and how."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from gen.catalogue import find_design, load
from gen.errors import UserError, unknown
from gen.sweep.sources import SYNTHESIS
from gen.sweep.synthesis import METRICS as SYNTHESISED

SUBJECTS = {
    "p4sgd-worker": "gen.sweep.subjects.worker:WorkerSubject",
    "p4sgd-switch": "gen.sweep.subjects.switch:SwitchSubject",
    "p4sgd-engine": "gen.sweep.subjects.engine:EngineSubject",
    "netsparse-snic": "gen.sweep.subjects.snic:SnicSubject",
}


class Subject(ABC):
    """A design that can be swept.

    ``metrics`` come from three sources: counted by the RTL in simulation (of a
    :class:`SimulatedSubject`), estimated by synthesis, and calculated by a formula.
    """

    workload: ClassVar[type]  #: a frozen dataclass: what the hardware is made to do
    counted: ClassVar[Mapping[str, str]] = {}  #: metric -> what it is, from simulation
    calculated: ClassVar[Mapping[str, str]] = {}  #: metric -> what it is, from a formula
    maximise: ClassVar[Sequence[str]] = ()  #: what a search is for, unless it says so itself
    hardware: ClassVar[str]  #: the module of its component

    def metrics(self) -> dict[str, str]:
        """All metrics, and what they are."""
        return {**self.counted, **self.calculated, **SYNTHESISED}

    def origins(self, metrics: Sequence[str]) -> set[str]:
        """Of "rtl" and "synth", what ``metrics`` need; UserError for what is none."""
        known = self.metrics()
        for name in metrics:
            if name not in known:
                raise unknown("metric", name, known)
        found = {"rtl": self.counted, "synth": SYNTHESISED}
        return {origin for origin, names in found.items() if set(metrics) & names.keys()}

    def sources(self, origins: set[str]) -> tuple[str, ...]:
        """The modules that metrics of ``origins`` depend on, with all that these import."""
        found = ["gen.emission.emit", self.hardware, type(self).__module__]
        found += SYNTHESIS if "synth" in origins else ()
        return tuple(sorted(found))

    def files(self, workload: Any) -> Sequence[Path]:
        """What is read besides: other contents are another point."""
        return ()

    @abstractmethod
    def calculate(
        self, params: Any, workload: Any, counted: Mapping[str, float]
    ) -> dict[str, float]:
        """The metrics that are calculated; of what was ``counted`` there may be nothing."""


class SimulatedSubject(Subject):
    """A design whose RTL is simulated for a point."""

    @abstractmethod
    def simulated(self, params: Any, workload: Any) -> Any:
        """What a simulator is built of: equal values share one."""

    @abstractmethod
    def build(self, simulated: Any) -> Any:
        """The simulator, a ``sim.harness.verilate.Build``."""

    @abstractmethod
    def measure(
        self, params: Any, workload: Any, build: Any, folder: Path, clock_mhz: float
    ) -> dict[str, float]:
        """The metrics that are counted, simulated in ``folder``; ValueError for what is illegal."""


def find_subject(design: str) -> Subject:
    """How to sweep a design; UserError if there is none of that name."""
    find_design(design)
    if design not in SUBJECTS:
        raise UserError(f"{design} cannot be swept yet; {', '.join(SUBJECTS)} can")
    return load(SUBJECTS[design])()
