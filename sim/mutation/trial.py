"""Tries mutants against the simulations that must find them."""

import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gen.base.emission.emit import Emission
from sim.harness.cache import cache_root, unfinished_name
from sim.harness.cut_short import with_reset
from sim.harness.verilate import Build, build
from sim.harness.verilator import Simulation, call, request_of
from sim.mutation import server


class TrialError(RuntimeError):
    """Reports that the design with its mutants fails even with none of them in force."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Says how a simulation of a mutant ended."""

    outcome: str  #: passed, failed, hung or crashed
    message: str  #: the first case that failed, and why
    seconds: float  #: time of computing

    @property
    def result(self) -> bool:
        """Return whether the tests noticed the mutant."""
        return self.outcome != "passed"


def builder(emission: Emission, simulation: Simulation) -> Build:
    """Build ``emission`` with the options of ``simulation``, without coverage."""
    options = {**(simulation.options or {}), "coverage": False}
    return build(emission, **options)


def try_mutants(
    built: Build, simulation: Simulation, mutants: Sequence[int], seed: int, most: float
) -> dict[int, Verdict]:
    """Run ``simulation`` on each of ``mutants`` up to its first failure; 0 is the whole design.

    TrialError if the whole design fails, or takes more than ``most`` seconds of computing.
    """
    root = cache_root() / "runs"
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=unfinished_name("mutants-"), dir=root))
    try:
        lines = serve(built, simulation, mutants, seed, most, folder)
        result = {line.pop("mutant"): Verdict(**line) for line in lines}
        if 0 not in result or result[0].result:
            reported = (
                result[0].message if 0 in result else (folder / "log.txt").read_text()[-2000:]
            )
            raise TrialError(f"{built.top} with no mutant in force fails {reported}")
        return result
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def serve(
    built: Build,
    simulation: Simulation,
    mutants: Sequence[int],
    seed: int,
    most: float,
    folder: Path,
) -> list[dict]:
    """Start the simulator with the server in it; return the verdicts that it wrote."""
    verdicts = folder / "verdicts.jsonl"
    job = {
        "modules": with_reset(simulation.test_module),
        "filter": simulation.test_filter,
        "mutants": list(mutants),
        "most": most,
        "verdicts": str(verdicts),
    }
    (folder / "job.json").write_text(json.dumps(job))
    more = {
        "COCOTB_MAX_FAILURES": "1",
        "COCOTB_LOG_LEVEL": "ERROR",
        server.JOB: str(folder / "job.json"),
    }
    call(request_of(built, simulation, seed, folder, ahead=[server.__name__], more=more))
    if not verdicts.exists():
        return []
    return [json.loads(line) for line in verdicts.read_text().splitlines()]
