"""Runs a system that is cut into parts: a simulation of each, at the same time, which meet."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.harness import host
from sim.harness.build_tools import how_it_ended
from sim.harness.captures import FOLDER
from sim.harness.failures import failure
from sim.harness.results import Run
from sim.harness.verilate import Build
from sim.harness.verilator import LOG, Simulation, chosen_seed, ended, repeatable, request_of

WAVES = "dump.vcd"  #: name of the file of a run's waves


@dataclass(frozen=True, kw_only=True)
class Part:
    """Describes a part of a system that is cut."""

    name: str  #: also that of the folder in which it runs, which stays
    build: Build
    simulation: Simulation


def run_parts(
    parts: Sequence[Part],
    links: Sequence[tuple[host.Place, host.Place]],
    *,
    epoch: int,
    processes: int,
    folder: Path,
    seed: int | None = None,
) -> list[Run]:
    """Simulate parts, which run ``epoch`` cycles without each other; return their runs.

    ``links`` names the two ends of each cut, a part's number and the channel in it. At most
    ``processes`` parts work at a time. ``folder`` has the folders of all, and their waves and
    frames. SimulationError says which part has failed first.
    """
    __tracebackhide__ = True
    seed = chosen_seed() if seed is None else seed
    start = time.monotonic()
    requests = []
    for number, part in enumerate(parts):
        (folder / part.name).mkdir(parents=True, exist_ok=True)
        more = {host.EXCHANGE: f"{epoch} {number} {len(parts)}"}
        waves = part.build.traced
        requests.append(
            request_of(
                part.build, part.simulation, seed, folder / part.name, waves=waves, more=more
            )
        )
    turns = processes if processes < len(parts) else None
    try:
        statuses = host.simulate_together(host.Together(requests, [*links], turns))
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


def collect(folder: Path, names: Sequence[str]) -> None:
    """Move waves and frames of parts to where those of a system that is not cut would be."""
    for name in names:
        if (waves := folder / name / WAVES).exists():
            shutil.move(waves, folder / WAVES)
        for file in (folder / name / FOLDER).glob("*"):
            (folder / FOLDER).mkdir(exist_ok=True)
            _, *path = file.name.split(".")
            shutil.move(file, folder / FOLDER / ".".join(["top", name, *path]))
