"""Measures a design for a sweep: the figures of its first run, and those of synthesis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gen.base.errors import unknown
from gen.designs.catalogue import find_design
from gen.designs.design import Design
from gen.sweep.sources import SYNTHESIS
from gen.sweep.synthesis import METRICS as SYNTHESISED

LISTS = "ingather list --json"  #: the command that lists all metrics


@dataclass(frozen=True)
class Subject:
    """Describes how a design is swept.

    Metrics come from three sources: counters of the RTL in simulation, an estimate by synthesis,
    and formulas.
    """

    design: Design
    run: str = ""  #: name of the run that is measured; empty for the first

    @cached_property
    def session(self) -> Any:
        """Return the class of the sessions of the design's run."""
        return self.design.swept(self.run).session_class

    @property
    def workload(self) -> type:
        """Return the dataclass of what the hardware is asked to do."""
        return self.session.workload

    @property
    def maximise(self) -> Sequence[str]:
        """Return the metrics that a search maximises unless it names others."""
        return self.session.maximise

    def metrics(self) -> dict[str, str]:
        """Return all metrics, and what each means."""
        return {**self.session.counted, **self.session.calculated, **SYNTHESISED}

    def origins(self, metrics: Sequence[str]) -> set[str]:
        """Return which of "rtl" and "synth" ``metrics`` need; UserError for an unknown metric."""
        known = self.metrics()
        for name in metrics:
            if name not in known:
                raise unknown("metric", name, known, LISTS)
        result = {"rtl": self.session.counted, "synth": SYNTHESISED}
        return {origin for origin, names in result.items() if set(metrics) & names.keys()}

    def sources(self, origins: set[str]) -> tuple[str, ...]:
        """Return the modules that metrics of ``origins`` depend on, with all that these import."""
        result = {
            "gen.base.emission.emit",
            self.design.component.partition(":")[0],
            self.session.__module__,
        }
        return tuple(sorted(result | set(SYNTHESIS if "synth" in origins else ())))

    def files(self, requested: Any) -> Sequence[Path]:
        """Return the files that a run reads: points with other contents differ."""
        return self.session.files(requested)

    def defaults(self) -> Mapping[str, Any]:
        """Return the settings of a sweep that differ from the workload's own defaults."""
        return self.session.swept

    def check(self, metrics: Sequence[str], params: Any, requested: Any) -> None:
        """Raise ValueError if ``metrics`` need a run that the hardware refuses."""
        if set(metrics) - SYNTHESISED.keys():
            self.session.check(params, requested)

    def calculate(self, params: Any, requested: Any) -> dict[str, float]:
        """Calculate the metrics that need no simulation."""
        return self.session.calculate(params, requested)

    def hardware(self, params: Any, requested: Any) -> Any:
        """Return what a simulator is built of: equal values share one."""
        return self.session.hardware(params, requested)

    def build(self, hardware: Any) -> Any:
        """Build the simulator, a ``sim.harness.verilate.Build``."""
        return self.session.build(hardware)

    def measure(
        self, params: Any, requested: Any, build: Any, folder: Path, clock_mhz: float
    ) -> dict[str, float]:
        """Return the figures of a run in ``folder``; raise ValueError if something is illegal."""
        result = self.session(params, requested).run(build, folder, clock_mhz=clock_mhz)
        if result.difference:
            print(f"not exact: {result.difference}")
        return dict(result.figures)


def find_subject(name: str, run: str = "") -> Subject:
    """Return how design ``name`` is swept; raise UserError if it is unknown, or cannot be swept."""
    design = find_design(name)
    design.swept(run)
    return Subject(design, run)
