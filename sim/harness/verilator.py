"""From a component to a verdict: emit, build with Verilator, run cocotb tests.

A unit test calls :func:`simulate`; a longer one keeps the pieces: :func:`build`, :func:`run`.
"""

import base64
import logging
import os
import pickle
import random
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, overload

import cocotb_tools.runner

from gen.emission.emit import Emission
from hdl.common.component import Component
from sim.harness import emissions
from sim.harness.build_tools import BuildError, cocotb_folder, find_verilator
from sim.harness.cache import CHECKOUT, cache_root, keep_log, unfinished_name
from sim.harness.errors import HarnessError
from sim.harness.harvest import covers, gather
from sim.harness.lint import lint
from sim.harness.results import Case, Run, read_results
from sim.harness.verilate import Build, build, class_path

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

P = TypeVar("P")

_emissions: dict[tuple[type, Any], Emission] = {}


class SimulationError(HarnessError, AssertionError):
    """Tests failed inside the simulator, or it died; the text says how to see it again."""

    def __init__(self, text: str, run: Run, simulation: "Simulation | None" = None) -> None:
        super().__init__(text)
        self.run = run
        self.simulation = simulation

    @property
    def line(self) -> str:
        """What failed first, and where the simulator's log is."""
        first, *others = map(str.strip, str(self).splitlines())
        case = f": {others[0]}" if self.run.failures else ""
        log = next(line for line in others if line.startswith("log:"))
        return f"{first}{case}; its {' '.join(log.split())}"


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """A call of :func:`simulate`, which can be sent to another process and made again."""

    component: Any  #: the class
    params: Any
    test_module: str
    plusargs: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    test_filter: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  #: of :func:`build`

    def again(self, *, seed: int, **changes: Any) -> Run:
        """Simulate once more; ``changes`` are further arguments of :func:`simulate`."""
        arguments: dict[str, Any] = {
            "plusargs": self.plusargs,
            "env": self.env,
            "test_filter": self.test_filter,
            **self.options,
            **changes,
        }
        return simulate(self.component(self.params), self.test_module, seed=seed, **arguments)


#: called at the end of every run, before a failure is raised; without a Simulation if it was not
#: started by :func:`simulate`
observers: list[Callable[[Simulation | None, Run], None]] = []


class Simulator(cocotb_tools.runner.Verilator):
    """Cocotb's runner, on a program that is already built."""

    def __init__(self, build: Build, environment: Mapping[str, str]) -> None:
        super().__init__()
        self.log.setLevel(logging.WARNING)
        self.build_of_design = build
        self.environment = environment

    def _set_env_test(self) -> None:
        super()._set_env_test()  # lets the process's own environment win over its arguments
        self.env.update(self.environment)
        old = self.env.get("LD_LIBRARY_PATH")
        self.env["LD_LIBRARY_PATH"] = os.pathsep.join(
            [str(cocotb_folder() / "libs"), *([old] if old else [])]
        )

    def _test_command(self) -> list[Any]:
        trace = ["--trace"] if self.waves else []
        return [[str(self.build_of_design.program), *trace, *self.test_args, *self.plusargs]]


def emission_of(component: Component) -> Emission:
    """The Verilog of ``component``, looked for once in a process."""
    key = (type(component), component.params)
    if key not in _emissions:
        _emissions[key] = emissions.emission_of(component)
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

    ``options`` go to :func:`build`. ``waves`` is what ``pytest --waves`` says unless given.
    """
    __tracebackhide__ = True
    waves = bool(os.environ.get("INGATHER_WAVES")) if waves is None else waves
    simulation = Simulation(
        component=type(component),
        params=component.params,
        test_module=test_module,
        plusargs=tuple(plusargs),
        env=dict(env or {}),
        test_filter=test_filter,
        options=options,
    )
    chosen: dict[str, Any] = {"coverage": covers(), "waves": waves, **options}
    made = build(emission_of(component), **chosen)
    return run(
        made,
        test_module,
        params=component.params,
        component=type(component),
        simulation=simulation,
        seed=seed,
        plusargs=plusargs,
        env=env,
        waves=waves,
        test_filter=test_filter,
        folder=folder,
    )


def run(
    build: Build,
    test_module: str,
    *,
    params: Any = None,
    component: type[Component] | None = None,
    seed: int | None = None,
    plusargs: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    waves: bool = False,
    test_filter: str | None = None,
    folder: Path | None = None,
    simulation: Simulation | None = None,
) -> Run:
    """Run the cocotb tests of ``test_module`` that match ``test_filter`` in a folder of its own.

    ``params`` and ``component`` are what the tests find inside the simulator. ``seed`` is what
    ``pytest --seed`` says unless given, or else random. Quiet when all pass; a failure raises
    :class:`SimulationError` and prints the log. ``simulation`` is the call that this is part of.
    """
    __tracebackhide__ = True
    if waves and not build.traced:
        raise ValueError("waves need a build with waves=True")
    seed = chosen_seed() if seed is None else seed
    # The simulator works in its own folder: what it is told must not depend on ours.
    scratch = (folder or new_scratch(test_module)).absolute()
    scratch.mkdir(parents=True, exist_ok=True)
    log, results = scratch / "log.txt", scratch / "results.xml"
    environment = {
        "INGATHER_PARAMS": to_text(params),
        "INGATHER_COMPONENT": to_text(component),
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_RESULTS_FILE": str(results),
        "COCOTB_ANSI_OUTPUT": "0",
        # Of pytest, cocotb uses only the assertions; its plugins take longer than many a test.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        # It would look for assertions in all that is imported, NumPy included, and so compile it.
        "COCOTB_REWRITE_ASSERTION_FILES": f"{test_module.rpartition('.')[2]}.py *bench.py",
        **(env or {}),
    }
    results.unlink(missing_ok=True)
    start = time.monotonic()
    trouble = ""
    try:
        Simulator(build, environment).test(
            test_module,
            build.top,
            hdl_toplevel_lang="verilog",
            build_dir=build.folder,
            test_dir=scratch,
            results_xml=str(results),
            plusargs=plusargs,
            waves=waves,
            log_file=log,
            test_filter=test_filter,
        )
    except SystemExit:  # tests failed: the results say more than the exit status does
        pass
    except RuntimeError as error:  # of a simulator that died, perhaps behind its last test
        trouble = str(error)
    done = Run(
        top=build.top,
        seed=seed,
        seconds=time.monotonic() - start,
        tests=read_results(results),
        folder=scratch,
        built=build.built,
        build_seconds=build.seconds,
    )
    if not trouble:
        gather(scratch, about(build, component, params, test_module, seed))
    for observer in observers:
        observer(simulation, done)
    if trouble or not done.passed:
        raise failure(done, trouble, log, waves, simulation)
    if folder is None and not waves:
        shutil.rmtree(scratch, ignore_errors=True)
    return done


def about(
    build: Build, component: type[Component] | None, params: Any, test_module: str, seed: int
) -> dict[str, Any]:
    """What a run was of, as JSON."""
    return {
        "component": None if component is None else class_path(component),
        "params": repr(params),
        "test_module": test_module,
        "test": pytest_item(),
        "top": build.top,
        "build": str(build.folder),
        "components": dict(build.components),
        "seed": seed,
    }


def chosen_seed() -> int:
    """``$INGATHER_SEED``, which pytest sets for a whole session, or a random number."""
    text = os.environ.get("INGATHER_SEED")
    return int(text) if text else random.SystemRandom().randrange(1 << 31)


def new_scratch(test_module: str) -> Path:
    """An empty folder that carries the name of the test that asks for it."""
    test = (pytest_item() or test_module).rpartition("/")[2]
    name = re.sub(r"[^\w.-]+", "-", test)[:80]
    root = cache_root() / "runs"
    root.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{unfinished_name(name)}-", dir=root))


def failure(
    run: Run, trouble: str, log: Path, waves: bool, simulation: Simulation | None
) -> SimulationError:
    """The error of a run that failed; pytest shows its log, and elsewhere a note has it."""
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
    """What failed, and how to see it again."""
    if run.failures:
        lines = [f"{len(run.failures)} of {len(run.tests)} cocotb tests failed"]
        lines += [f"  {case.name}: {case.message}" for case in run.failures]
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
    """The test that pytest is running; empty outside of one."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)")


def shown(path: Path) -> str:
    """``path``, relative to the checkout where it lies inside."""
    return str(path.relative_to(CHECKOUT) if path.is_relative_to(CHECKOUT) else path)


def to_text(value: Any) -> str:
    """Anything, in a form that an environment variable can hold."""
    return base64.b64encode(pickle.dumps(value)).decode()


def from_text(name: str) -> Any:
    """What :func:`to_text` put into environment variable ``name``."""
    if name not in os.environ:
        raise RuntimeError("this works only inside the simulator, in a cocotb test")
    return pickle.loads(base64.b64decode(os.environ[name]))


@overload
def params_in_simulator() -> Any: ...
@overload
def params_in_simulator(kind: type[P]) -> P: ...
def params_in_simulator(kind: type = object) -> Any:
    """Inside the simulator: the parameters of the component under test, which are a ``kind``."""
    params = from_text("INGATHER_PARAMS")
    if not isinstance(params, kind):
        raise TypeError(f"the parameters are {type(params).__name__}, not {kind.__name__}")
    return params


@lru_cache
def component_in_simulator() -> Component | None:
    """Inside the simulator: a component like the one under test, to read its layouts."""
    kind = from_text("INGATHER_COMPONENT")
    return None if kind is None else kind(params_in_simulator())
