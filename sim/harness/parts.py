"""Runs a system that is cut into parts: a simulation of each, at the same time, which meet."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sim.harness import host
from sim.harness.build_tools import how_it_ended
from sim.harness.captures import FOLDER
from sim.harness.failures import failure
from sim.harness.results import Run
from sim.harness.verilate import Build
from sim.harness.verilator import LOG, Simulation, chosen_seed, ended, repeatable, request_of

WAVES = "dump.vcd"  #: name of the file of a run's waves

Link = tuple[host.Place, host.Place]  #: the two ends of a cut: a part's number, a channel in it


@dataclass(frozen=True, kw_only=True)
class Part:
    """Describes a part of a system that is cut."""

    name: str  #: also that of the folder in which it runs, which stays
    build: Build
    simulation: Simulation
    files: Sequence[str] = ()  #: names of what it reads in the folder of all parts
    progress: str = ""  #: name of the file in its folder that says how far it is


@dataclass(frozen=True, kw_only=True)
class CutRun:
    """Describes a run of parts, which meet."""

    parts: Sequence[Part]
    links: Sequence[Link]
    epoch: int  #: cycles that each runs without the others
    processes: int  #: most that work at a time on a machine
    seed: int


class Workers(Protocol):
    """Runs parts on other machines."""

    def simulate(self, cut_run: CutRun, folder: Path) -> list[int]:
        """Simulate parts; return their exit statuses. Files that they write are in ``folder``."""
        ...


def run_parts(
    parts: Sequence[Part],
    links: Sequence[Link],
    *,
    epoch: int,
    processes: int,
    folder: Path,
    seed: int | None = None,
    workers: Workers | None = None,
) -> list[Run]:
    """Simulate parts, which run ``epoch`` cycles without each other; return their runs.

    ``links`` names the two ends of each cut, a part's number and the channel in it. At most
    ``processes`` parts work at a time. ``folder`` has the folders of all, and their waves and
    frames. ``workers`` simulate in place of this machine. SimulationError says which part has
    failed first.
    """
    __tracebackhide__ = True
    seed = chosen_seed() if seed is None else seed
    start = time.monotonic()
    cut_run = CutRun(parts=parts, links=links, epoch=epoch, processes=processes, seed=seed)
    try:
        statuses = workers.simulate(cut_run, folder) if workers else simulate(cut_run, folder)
        troubles = [how_it_ended(status) if status else "" for status in statuses]
    except host.HostDied as error:
        statuses, troubles = [1] * len(parts), [str(error)] * len(parts)
    finally:
        collect(folder, [part.name for part in parts])
    seconds = time.monotonic() - start
    runs, failed = [], []
    for part, status, trouble in zip(parts, statuses, troubles, strict=True):
        done = ended(part.build, part.simulation, seed, folder / part.name, trouble, seconds)
        runs.append(done)
        if trouble or not done.passed:
            failed.append((status == host.ENDED, part, done, trouble))
    for _, part, done, trouble in sorted(failed, key=lambda each: each[0])[:1]:
        log = folder / part.name / LOG
        error = failure(done, trouble, log, False, repeatable(part.simulation))
        error.args = (f"{part.name.replace('_', ' ')}: {error}",)
        raise error
    return runs


def simulate(cut_run: CutRun, folder: Path) -> list[int]:
    """Simulate parts on this machine; return their exit statuses."""
    return host.simulate_together(request_of_some(cut_run, range(len(cut_run.parts)), folder))


def request_of_some(
    cut_run: CutRun,
    numbers: Sequence[int],
    folder: Path,
    sockets: Mapping[host.Place, int] | None = None,
) -> host.Together:
    """Describe the simulations of some of all parts, which have ``sockets`` to the others."""
    requests = []
    for number in numbers:
        part, scratch = cut_run.parts[number], folder / cut_run.parts[number].name
        scratch.mkdir(parents=True, exist_ok=True)
        requests.append(
            request_of(
                part.build,
                part.simulation,
                cut_run.seed,
                scratch,
                waves=part.build.traced,
                more={host.EXCHANGE: f"{cut_run.epoch} {number} {len(cut_run.parts)}"},
            )
        )

    def place(number: int, channel: int) -> host.Place:
        return numbers.index(number), channel

    return host.Together(
        requests,
        [(place(*a), place(*b)) for a, b in cut_run.links if a[0] in numbers and b[0] in numbers],
        cut_run.processes if cut_run.processes < len(numbers) else None,
        [(place(*end), socket) for end, socket in (sockets or {}).items()],
    )


def collect(folder: Path, names: Sequence[str]) -> None:
    """Move waves and frames of parts to where those of a system that is not cut would be."""
    for name in names:
        if (waves := folder / name / WAVES).exists():
            shutil.move(waves, folder / WAVES)
        for file in (folder / name / FOLDER).glob("*"):
            (folder / FOLDER).mkdir(exist_ok=True)
            _, *path = file.name.split(".")
            shutil.move(file, folder / FOLDER / ".".join(["top", name, *path]))
