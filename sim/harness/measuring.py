"""Runs sessions of a component that a module of tests drives and measures inside the simulator.

The module asks for the workload with :func:`sim.harness.in_simulator.workload_in_simulator`, and
hands what it finds to :func:`sim.harness.in_simulator.report`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from hdl.common.component import Component
from sim.harness.in_simulator import FINDINGS, WORKLOAD, to_text
from sim.harness.session import CLOCK_MHZ, Listener, Result, Session
from sim.harness.verilate import Build, build
from sim.harness.verilator import Simulation, emission_of, run

FILE = "results.json"


class MeasuringSession(Session):
    """Runs a session whose figures a module of tests finds.

    Its workload may have a ``seed``.
    """

    component: ClassVar[Callable[[Any], Component]]  #: what is simulated, made from ``hardware``
    test_module: ClassVar[str]  #: what drives it
    options: ClassVar[Mapping[str, Any]] = {"optimise": True}  #: options of its build

    @classmethod
    def build(cls, hardware: Any) -> Build:
        """Build the simulator of the component."""
        return build(emission_of(cls.component(hardware)), **cls.options)

    def plusargs(self, folder: Path) -> Sequence[str]:
        """Return the simulator's arguments; files that they name are in ``folder``."""
        return ()

    def run(
        self,
        simulator: Build,
        folder: Path,
        listener: Listener | None = None,
        clock_mhz: float = CLOCK_MHZ,
    ) -> Result:
        """Drive the component in ``folder``; what it gives is checked on the way."""
        folder.mkdir(parents=True, exist_ok=True)
        simulation = Simulation(
            test_module=self.test_module,
            params=self.hardware(self.params, self.requested),
            component=type(self).component,
            plusargs=self.plusargs(folder),
        )
        seed = getattr(self.requested, "seed", 1)
        result = run_workload(simulator, simulation, self.requested, folder, seed)
        return self.result(result, clock_mhz * 1e6)

    def result(self, result: Any, clock_hz: float) -> Result:
        """Turn what was found into a result, for a clock of ``clock_hz``."""
        raise NotImplementedError


def run_workload(
    simulator: Build, simulation: Simulation, requested: Any, folder: Path, seed: int = 1
) -> Any:
    """Run ``simulation`` in ``folder`` for the workload ``requested``; return what it tells."""
    file = folder.absolute() / FILE
    env = {FINDINGS: str(file), WORKLOAD: to_text(requested)}
    run(simulator, replace(simulation, env=env), seed=seed, folder=folder)
    return json.loads(file.read_text())
