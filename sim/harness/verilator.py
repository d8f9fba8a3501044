"""Takes a component to a verdict: emit it, build it with Verilator, run cocotb tests on it.

A unit test calls :func:`simulate`; a longer one keeps the pieces: :func:`build`, :func:`run`.
"""

import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cocotb_tools.config import pygpi_entry_point

from gen.base.emission.emit import Emission
from hdl.common.component import Component
from sim.harness import captures, declared, emissions, host
from sim.harness.assembly import assembled
from sim.harness.build_tools import BuildError, how_it_ended
from sim.harness.cache import cache_root, unfinished_name
from sim.harness.coverage_runs import covers, keep_coverage
from sim.harness.cut_short import selected_too, with_reset
from sim.harness.environment import inherited
from sim.harness.failures import SimulationError, failure, pytest_item
from sim.harness.in_simulator import component_in_simulator, params_in_simulator, to_text
from sim.harness.lint import lint
from sim.harness.results import Case, Run, read_results
from sim.harness.stimulus.clocks import LIBRARY, library
from sim.harness.verilate import Build, build, class_path
from sim.harness.verilator_tool import find_verilator

__all__ = [
    "Build",
    "BuildError",
    "Case",
    "Run",
    "Simulation",
    "SimulationError",
    "build",
    "component_in_simulator",
    "emission_of",
    "find_verilator",
    "lint",
    "observers",
    "params_in_simulator",
    "run",
    "simulate",
]

LOG, RESULTS = "log.txt", "results.xml"  #: names of files in the folder of a run
CASE = "INGATHER_CASE"  #: environment: the filter of ``pytest --case``, which sets it in any case

_emissions: dict[tuple[type, Any], Emission] = {}


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Describes cocotb tests and what they are told: a run without its build, seed and folder.

    One of :func:`simulate` can be sent to another process and made again.
    """

    test_module: str
    params: Any = None  #: parameters that the tests find inside the simulator
    component: Any = None  #: class of the component that the tests find there
    plusargs: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    test_filter: str | None = None  #: a regular expression of those that are run; None for all
    options: Mapping[str, Any] | None = None  #: options of :func:`build`; None: it was built apart

    def again(self, *, seed: int, **changes: Any) -> Run:
        """Simulate once more; ``changes`` are further arguments of :func:`simulate`.

        TypeError if it has no component to be emitted.
        """
        if self.component is None:
            raise TypeError(f"{self.test_module} has no component")
        arguments: dict[str, Any] = {
            "plusargs": self.plusargs,
            "env": self.env,
            "test_filter": self.test_filter,
            **(self.options or {}),
            **changes,
        }
        return simulate(self.component(self.params), self.test_module, seed=seed, **arguments)


#: called at the end of every run, before a failure is raised; with None for a Simulation that was
#: not made by :func:`simulate`
observers: list[Callable[[Simulation | None, Run], None]] = []


def emission_of(component: Component) -> Emission:
    """Emit ``component``, which may be an assembly, once in a process."""
    key = (type(component), component.params)
    if key not in _emissions:
        _emissions[key] = assembled(component, emissions.emission_of)
    return _emissions[key]


def simulate(
    component: Component,
    test_module: str,
    *,
    seed: int | None = None,
    plusargs: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    test_filter: str | None = None,
    waves: bool | None = None,
    folder: Path | None = None,
    **options: Any,
) -> Run:
    """Emit ``component``, build it and run the cocotb tests of ``test_module`` on it.

    ``options`` go to :func:`build`, and so does ``waves``.
    ``pytest --case`` replaces ``test_filter``.
    """
    __tracebackhide__ = True
    simulation = Simulation(
        test_module=test_module,
        params=component.params,
        component=type(component),
        plusargs=tuple(plusargs),
        env=dict(env or {}),
        test_filter=selected_too(chosen_case() or test_filter),
        options=options,
    )
    chosen: dict[str, Any] = {"coverage": covers(), "waves": waves, **options}
    built = build(emission_of(component), **chosen)
    return run(built, simulation, seed=seed, folder=folder)


def run(
    build: Build,
    simulation: Simulation,
    *,
    seed: int | None = None,
    waves: bool | None = None,
    folder: Path | None = None,
) -> Run:
    """Run ``simulation`` on ``build`` in a folder of its own, or in ``folder``, which stays.

    A build that can write waves does so, unless ``waves`` is False.

    ``seed`` is what ``pytest --seed`` says unless given, or else random. Quiet when all pass; a
    failure raises :class:`SimulationError`, and pytest shows its log.
    """
    __tracebackhide__ = True
    waves = build.traced if waves is None else waves
    if waves and not build.traced:
        raise ValueError("waves need a build with waves=True")
    seed = chosen_seed() if seed is None else seed
    # The simulator works in its own folder: what it is told must not depend on ours.
    scratch = (folder or new_scratch(simulation.test_module)).absolute()
    scratch.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    trouble = call(request_of(build, simulation, seed, scratch, waves=waves))
    done = ended(build, simulation, seed, scratch, trouble, time.monotonic() - start)
    if trouble or not done.passed:
        raise failure(done, trouble, scratch / LOG, waves, repeatable(simulation))
    if folder is None and not waves:
        shutil.rmtree(scratch, ignore_errors=True)
    return done


def ended(
    build: Build, simulation: Simulation, seed: int, scratch: Path, trouble: str, seconds: float
) -> Run:
    """Return what a simulation that has ended says of itself; keep its coverage."""
    tests = read_results(scratch / RESULTS)
    to_run = scratch / declared.FILE
    names = json.loads(to_run.read_text()) if to_run.exists() else []
    done = Run(
        top=build.top,
        seed=seed,
        seconds=seconds,
        tests=tests,
        folder=scratch,
        built=build.built,
        build_seconds=build.seconds,
        amiss=declared.difference(names, simulation.test_filter, tests),
    )
    if not trouble:
        keep_coverage(scratch, build.folder / "design.v", about(build, simulation, seed))
    for observer in observers:
        observer(repeatable(simulation), done)
    return done


def repeatable(simulation: Simulation) -> Simulation | None:
    """Return a simulation that can be made again; None if it cannot."""
    return None if simulation.options is None else simulation


def call(request: host.Request) -> str:
    """Start a simulator and wait for its end; return why it died, if it did."""
    try:
        status = host.simulate(request)
    except host.HostDied as error:
        return str(error)
    return how_it_ended(status) if status else ""


def request_of(
    build: Build,
    simulation: Simulation,
    seed: int,
    scratch: Path,
    *,
    waves: bool = False,
    ahead: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
) -> host.Request:
    """Describe a run of the simulator in ``scratch``.

    Modules ``ahead`` are imported before that of the tests; ``more`` are environment variables.
    """
    log = scratch / LOG
    for path in (log, scratch / RESULTS, scratch / declared.FILE):
        path.unlink(missing_ok=True)
    modules = with_reset(simulation.test_module)
    environment = {
        **inherited(),
        "GPI_USERS": f"{host.libpython()};{pygpi_entry_point()}",
        "PYGPI_USERS": ",".join(declared.CALLED),
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "COCOTB_TOPLEVEL": build.top,
        "COCOTB_TEST_MODULES": ",".join([*ahead, *modules]),
        "COCOTB_TEST_FILTER": simulation.test_filter or "",
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_RESULTS_FILE": str(scratch / RESULTS),
        "COCOTB_ANSI_OUTPUT": "0",
        # Of pytest, cocotb uses only the assertions; its plugins take longer than many a test.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        # It would look for assertions in all that is imported, NumPy included, and so compile it.
        "COCOTB_REWRITE_ASSERTION_FILES": (
            f"{simulation.test_module.rpartition('.')[2]}.py *bench.py"
        ),
        LIBRARY: str(library()),
        "INGATHER_PARAMS": to_text(simulation.params),
        "INGATHER_COMPONENT": to_text(simulation.component),
        **(more or {}),
        **simulation.env,
    }
    trace = ["--trace"] if waves else []
    taps = [captures.argument(scratch)] if build.captures else []
    command = [str(build.program), *trace, *taps, *simulation.plusargs]
    return host.request_of(command, scratch, environment, log, modules)


def about(build: Build, simulation: Simulation, seed: int) -> dict[str, Any]:
    """Return what a run was of, as an object of JSON."""
    return {
        "component": simulation.component and class_path(simulation.component),
        "params": repr(simulation.params),
        "test_module": simulation.test_module,
        "test": pytest_item(),
        "top": build.top,
        "components": dict(build.components),
        "seed": seed,
    }


def chosen_case() -> str | None:
    """Return what ``pytest --case`` says, inside a test of pytest; else None."""
    return os.environ.get(CASE) if pytest_item() else None


def chosen_seed() -> int:
    """Return ``$INGATHER_SEED``, which pytest sets for a session, or a random number."""
    text = os.environ.get("INGATHER_SEED")
    return int(text) if text else random.SystemRandom().randrange(1 << 31)


def new_scratch(test_module: str) -> Path:
    """Make an empty folder that carries the name of the test that asks for it."""
    test = (pytest_item() or test_module).rpartition("/")[2]
    name = re.sub(r"[^\w.-]+", "-", test)[:80]
    root = cache_root() / "runs"
    root.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{unfinished_name(name)}-", dir=root))
