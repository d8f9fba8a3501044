"""Reads what a simulation says of itself when it has ended."""

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True, kw_only=True)
class Case:
    """Describes a cocotb test that ran."""

    name: str
    passed: bool
    sim_ns: float  #: simulated time
    seconds: float
    message: str = ""  #: why it failed, in a line


@dataclass(frozen=True, kw_only=True)
class Run:
    """Describes a simulation that ended."""

    top: str  #: module
    seed: int
    seconds: float
    tests: tuple[Case, ...]  #: none if the simulator died
    folder: Path  #: where it ran; it stays after a failure, for waves, or if it was asked for
    built: bool  #: its simulator was built for it, not found in the cache
    build_seconds: float
    amiss: str = ""  #: how the tests that ran differ from those that were to; empty if they do not

    @property
    def failures(self) -> tuple[Case, ...]:
        """Return the cases that failed."""
        return tuple(case for case in self.tests if not case.passed)

    @property
    def passed(self) -> bool:
        """Return whether just those tests ran that were to, at least one, and all passed."""
        return bool(self.tests) and not self.failures and not self.amiss


def read_results(path: Path) -> tuple[Case, ...]:
    """Read the cases that cocotb's results file says ran; return none if there is no file."""
    if not path.exists():
        return ()
    result = ElementTree.parse(path).getroot().iter("testcase")
    return tuple(read_case(element) for element in result if element.find("skipped") is None)


def read_case(element: ElementTree.Element) -> Case:
    """Make a case from its element in the file."""
    problems = [*element.findall("failure"), *element.findall("error")]
    reported = [(p.get("type", "Error"), p.get("message", "").partition("\n")[0]) for p in problems]
    properties = {p.get("name"): p.get("value", "") for p in element.iter("property")}
    return Case(
        name=element.get("name", "?"),
        passed=not problems,
        sim_ns=float(properties.get("sim_time_duration") or 0),
        seconds=float(element.get("time") or 0),
        message="; ".join(f"{kind}: {text}" for kind, text in reported),
    )
