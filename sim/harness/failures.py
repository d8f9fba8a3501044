"""Makes the error of a simulation that failed: what failed first, and how to see it again."""

import os
import shlex
from pathlib import Path
from typing import Any

from sim.harness.cache import CHECKOUT, keep_log
from sim.harness.errors import HarnessError
from sim.harness.results import Run


class SimulationError(HarnessError, AssertionError):
    """Reports that tests failed inside the simulator, or that it died, and how to replay it."""

    def __init__(self, text: str, run: Run, simulation: Any = None) -> None:
        super().__init__(text)
        self.run = run
        self.simulation = simulation

    @property
    def line(self) -> str:
        """Return what failed first, and where the simulator's log is."""
        first, *others = map(str.strip, str(self).splitlines())
        case = f": {others[0]}" if self.run.failures else ""
        log = next(line for line in others if line.startswith("log:"))
        return f"{first}{case}; its {' '.join(log.split())}"


def failure(run: Run, trouble: str, log: Path, waves: bool, simulation: Any) -> SimulationError:
    """Make the error of a run that failed; pytest shows its log, and elsewhere a note has it."""
    said = log.read_text(errors="replace") if log.exists() else "the simulator did not start"
    if pytest_item():
        print(said)
    else:  # the folder may be its caller's, who removes it
        log = keep_log(run.top, said)
    error = SimulationError(explain(run, trouble, log, waves), run, simulation)
    if not pytest_item():
        error.add_note(said)
    return error


def explain(run: Run, trouble: str, log: Path, waves: bool) -> str:
    """Return what failed, and how to see it again."""
    if run.failures:
        lines = [f"{len(run.failures)} of {len(run.tests)} cocotb tests failed"]
        lines += [f"  {case.name}: {case.message}" for case in run.failures]
    elif run.tests and run.amiss:
        lines = [run.amiss + f"; the simulator died: {trouble}" * bool(trouble)]
    elif run.tests:
        lines = [f"the simulator died behind its tests, which passed: {trouble}"]
    else:
        lines = ["the simulator ran no test, or died" + f": {trouble}" * bool(trouble)]
    lines.append(f"  seed:   {run.seed}")
    if test := pytest_item():
        lines.append(f"  replay: pytest {shlex.quote(test)} --seed {run.seed}  # and --waves")
    lines.append(f"  log:    {shown(log)}")
    if waves:
        lines.append(f"  waves:  {shown(run.folder / 'dump.vcd')}")
    return "\n".join(lines)


def pytest_item() -> str:
    """Return the test that pytest is running; empty outside of one."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)")


def shown(path: Path) -> str:
    """Return ``path``, relative to the checkout if it lies inside."""
    return str(path.relative_to(CHECKOUT) if path.is_relative_to(CHECKOUT) else path)
