"""Describes a run from its beginning to its result: one design does one workload in simulation.

``ingather train``, ``spmm`` and every other run's command, sweeps and the Python API all go this
way: ``Session(params, workload)`` reads the data and checks that the hardware can do it,
``build`` makes the simulator, ``run`` simulates and gives the :class:`Result`.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from hdl.common.core_clock import CORE_MHZ
from sim.harness.part_builds import WORKERS
from sim.harness.verilate import Build
from sim.harness.workload import Workload

CLOCK_MHZ = float(CORE_MHZ)  #: of figures in seconds, unless told otherwise
NOT_SIMULATED = "this design is not simulated by itself: it has figures by a formula only"
UNCOMPARED = "nothing was compared with a golden model"


@dataclass(frozen=True, kw_only=True)
class Result:
    """Holds what came of a run."""

    figures: Mapping[str, float]  #: by the names in the session's ``counted`` and ``calculated``
    compared: str = ""  #: what was compared and is equal unless there is a difference, in a line
    difference: str = ""  #: the first difference, in a line
    uncompared: str = UNCOMPARED  #: what a run says that has compared nothing, in a line
    warnings: Sequence[str] = ()  #: reasons not to trust the result although it is exact
    #: title -> name -> numbers; the first name of each is the horizontal axis
    curves: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict, repr=False)
    #: what else the JSON says
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def exact(self) -> bool | None:
        """Return whether all that was compared is equal; None if nothing was compared."""
        return False if self.difference else True if self.compared else None

    @property
    def verdict(self) -> str:
        """Return in a line what was compared and is equal, or the difference, or why neither."""
        return self.difference or self.compared or self.uncompared


class Listener:
    """Receives a run's progress; this base class ignores it."""

    def line(self, text: str) -> None:
        """Show a line that stays, such as an epoch's figures."""

    def progress(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Show what is going on, and how far it has come if that is known."""


class Session:
    """Runs a workload on a design with ``params``.

    A design that is not simulated, but has figures by a formula, has a session without ``counted``.
    Raises ValueError for data that cannot be read, and for what the hardware cannot do.
    """

    workload: ClassVar[type[Workload]]
    counted: ClassVar[Mapping[str, str]] = {}  #: figure -> what it is, from counters of the RTL
    calculated: ClassVar[Mapping[str, str]] = {}  #: figure -> what it is, from a formula
    maximise: ClassVar[Sequence[str]] = ()  #: what a search maximises by default
    swept: ClassVar[Mapping[str, Any]] = {}  #: defaults of a sweep that differ from the workload's
    decided: Mapping[str, Any] = {}  #: settings in effect that data or hardware have decided
    #: workers of a Dask cluster that build and simulate (sim.cluster.placing), if there are any
    workers: Any = None

    def __init__(self, params: Any, requested: Any) -> None:
        self.params, self.requested = params, requested

    @classmethod
    def files(cls, requested: Any) -> Sequence[Path]:
        """Return the files that ``requested`` names: a run with other contents is another run."""
        return ()

    @classmethod
    def needs(cls, requested: Any) -> Mapping[str, Any]:
        """Return parameters of the hardware that ``requested`` needs, unless the user sets them."""
        return {}

    @classmethod
    def check(cls, params: Any, requested: Any) -> None:
        """Raise ValueError for what hardware with ``params`` cannot do, if that is known at once.

        A sweep then neither builds nor measures the point.
        """

    @classmethod
    def hardware(cls, params: Any, requested: Any) -> Hashable:
        """Return all that decides how the simulator is built: equal values share one."""
        return params

    @classmethod
    def build(cls, hardware: Any) -> Build:
        """Build the simulator of ``hardware``; raise ValueError if there cannot be one."""
        raise ValueError(NOT_SIMULATED)

    @classmethod
    def calculate(cls, params: Any, requested: Any) -> dict[str, float]:
        """Calculate the figures that need no simulation."""
        return {}

    @property
    def title(self) -> str:
        """Describe the run in a line."""
        return f"{type(self).__name__} of {self.params}"

    @property
    def settings(self) -> dict[str, Any]:
        """Return the workload as it was in effect, fit for JSON: None for what had no effect."""
        return {**self.requested.as_json(), **self.decided}

    def about(self) -> Iterable[str]:
        """Return lines to show before the run."""
        return ()

    def simulator(self) -> Build:
        """Build the simulator of the run, or let ``workers`` build those of its parts."""
        if self.workers is None:
            return self.build(self.hardware(self.params, self.requested))
        token = WORKERS.set(self.workers)
        try:
            cut = replace(self.requested, processes=2)
            return self.build(self.hardware(self.params, cut))
        finally:
            WORKERS.reset(token)

    @property
    def at_a_time(self) -> int:
        """Return how many parts are simulated at a time; if on ``workers``, on each of them."""
        return self.requested.processes or 1 if self.workers else self.requested.at_a_time

    def check_parts(self) -> None:
        """Raise ValueError unless the run can be cut into parts, for ``workers`` to simulate."""
        raise ValueError("this run is not cut into parts")

    def run(
        self,
        simulator: Build,
        folder: Path,
        listener: Listener | None = None,
        clock_mhz: float = CLOCK_MHZ,
    ) -> Result:
        """Simulate in ``folder``; raise RunFailed if the hardware stops before the end."""
        raise ValueError(NOT_SIMULATED)

    def unfinished(self) -> Result | None:
        """Return the result of what had ended of an interrupted run; None if that is nothing."""
        return None

    def write(self, folder: Path) -> Sequence[str]:
        """Write pictures and data of the ended run into ``folder``; return their names."""
        return ()

    def summary(self, result: Result) -> Iterable[str]:
        """Return lines to show after the run, above its verdict."""
        width = max(map(len, result.figures), default=0)
        return (f"{name:{width}}  {value:,.6g}" for name, value in result.figures.items())


class RunFailed(RuntimeError):
    """Reports that the hardware stopped before the end of the run, and why."""
