"""Captures what a test file would simulate, by running it in pytest without a simulator.

This module is also the pytest plugin that takes notes, in a separate process. There every
simulation is noted and counts as passed, so that the test goes on to its next one; what the test
then says of the results does not matter.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from sim.harness import verilator
from sim.harness.cache import CHECKOUT, cache_root, cached_folder, digest
from sim.harness.environment import inherited
from sim.harness.results import Case, Run
from sim.harness.verilate import Build
from sim.harness.verilator import Simulation

NOTES = "INGATHER_CAPTURE"


class CaptureError(RuntimeError):
    """Reports that the tests show nothing to simulate."""


def capture(tests: Sequence[Path], key: str, seed: int) -> list[Simulation]:
    """Return the simulations of pytest files ``tests``, each once; cached under ``key``."""
    name = digest("4", key, str(seed), *map(str, tests))
    files = cache_root() / "captured" / name  # which simulations find by their paths
    folder, _ = cached_folder("captures", name, lambda built: run_tests(tests, seed, built, files))
    result: list[Simulation] = []
    with (folder / "simulations.pickle").open("rb") as file:
        for simulation in unpickled(file):
            if simulation not in result:
                result.append(simulation)
    return result


def unpickled(file: IO[bytes]) -> Iterator[Any]:
    """Yield everything that was pickled into ``file``, one after the other."""
    while True:
        try:
            yield pickle.load(file)
        except EOFError:
            return


def run_tests(tests: Sequence[Path], seed: int, folder: Path, files: Path) -> None:
    """Run pytest with this module as a plugin, its own files in ``files``.

    CaptureError if it finds no tests.
    """
    files.mkdir(parents=True, exist_ok=True)
    notes = folder / "simulations.pickle"
    notes.touch()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", __name__]
    command += ["-p", "no:cacheprovider", "--basetemp", str(files), "--seed", str(seed)]
    command += map(str, tests)
    paths = os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")])
    environment = {**inherited(), NOTES: str(notes), "PYTHONPATH": paths.rstrip(os.pathsep)}
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1) and not notes.stat().st_size:
        raise CaptureError(
            f"pytest fails on {tests[0].name}:\n{(done.stdout + done.stderr)[-1000:]}"
        )


@dataclass(frozen=True)
class NotBuilt(Build):
    """Stands in place of a simulator: what it was to be built with."""

    options: Mapping[str, Any] = field(default_factory=dict)


def note_build(emission: object, **options: Any) -> NotBuilt:
    """Note the options of a build, in place of :func:`sim.harness.verilator.build`."""
    return NotBuilt(Path(os.devnull), "", options=options)


def note(build: Build, simulation: Simulation, **options: Any) -> Run:
    """Write down what was to be simulated, in place of :func:`sim.harness.verilator.run`.

    What was built apart is noted too, if it was one component that its tests know.
    """
    if simulation.component and isinstance(build, NotBuilt) and simulation.options is None:
        simulation = replace(simulation, options=build.options)
    if simulation.options is not None:
        try:
            data = pickle.dumps(simulation)
        except (pickle.PicklingError, AttributeError, TypeError):
            data = b""  # it cannot be sent elsewhere
        with open(os.environ[NOTES], "ab") as file:
            file.write(data)
    return Run(
        top="",
        seed=0,
        seconds=0,
        tests=(Case(name="noted", passed=True, sim_ns=0, seconds=0),),
        folder=Path(os.devnull),
        built=False,
        build_seconds=0,
    )


def pytest_configure(config: object) -> None:
    """Put notes in place of all simulators of this process."""
    if NOTES in os.environ:
        verilator.run = note
        verilator.build = note_build  # pyright: ignore[reportAttributeAccessIssue]
        verilator.emission_of = lambda component: None  # pyright: ignore[reportAttributeAccessIssue]
