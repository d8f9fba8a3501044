"""What a sweep measures of a design: the figures of its first run, and those of synthesis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gen.designs.catalogue import find_design
from gen.designs.design import Design
from gen.errors import UserError, unknown
from gen.sweep.sources import SYNTHESIS
from gen.sweep.synthesis import METRICS as SYNTHESISED


@dataclass(frozen=True)
class Subject:
    """A design that is swept.

    Metrics come from three sources: counters of the RTL in simulation, an estimate by synthesis,
    and formulas.
    """

    design: Design

    @cached_property
    def session(self) -> Any:
        """The class of its run's sessions."""
        return self.design.swept().session_class

    @property
    def workload(self) -> type:
        """The dataclass of what is done."""
        return self.session.workload

    @property
    def maximise(self) -> Sequence[str]:
        """What a search is for, unless it says so itself."""
        return self.session.maximise

    def metrics(self) -> dict[str, str]:
        """All metrics, and what they are."""
        return {**self.session.counted, **self.session.calculated, **SYNTHESISED}

    def origins(self, metrics: Sequence[str]) -> set[str]:
        """Those of "rtl" and "synth" that ``metrics`` need; UserError for an unknown one."""
        known = self.metrics()
        for name in metrics:
            if name not in known:
                raise unknown("metric", name, known)
        found = {"rtl": self.session.counted, "synth": SYNTHESISED}
        return {origin for origin, names in found.items() if set(metrics) & names.keys()}

    def sources(self, origins: set[str]) -> tuple[str, ...]:
        """The modules that metrics of ``origins`` depend on, with all that these import."""
        found = {
            "gen.emission.emit",
            self.design.component.partition(":")[0],
            self.session.__module__,
        }
        return tuple(sorted(found | set(SYNTHESIS if "synth" in origins else ())))

    def files(self, asked: Any) -> Sequence[Path]:
        """What is read besides: other contents are another point."""
        return self.session.files(asked)

    def defaults(self) -> Mapping[str, Any]:
        """The settings of a sweep that differ from the workload's own defaults."""
        return self.session.swept

    def calculate(self, params: Any, asked: Any) -> dict[str, float]:
        """The metrics that need no simulation."""
        return self.session.calculate(params, asked)

    def hardware(self, params: Any, asked: Any) -> Any:
        """What a simulator is built of: equal values share one."""
        return self.session.hardware(params, asked)

    def build(self, hardware: Any) -> Any:
        """The simulator, a ``sim.harness.verilate.Build``."""
        return self.session.build(hardware)

    def measure(
        self, params: Any, asked: Any, build: Any, folder: Path, clock_mhz: float
    ) -> dict[str, float]:
        """The figures of a run in ``folder``; ValueError for what is illegal."""
        result = self.session(params, asked).run(build, folder, clock_mhz=clock_mhz)
        if result.difference:
            print(f"not exact: {result.difference}")
        return dict(result.figures)


def find_subject(name: str) -> Subject:
    """How to sweep the design ``name``; UserError if there is none, or it has nothing to sweep."""
    design = find_design(name)
    if not design.runs:
        raise UserError(f"{name} cannot be swept: its descriptor has no runs")
    return Subject(design)
