"""Runs a cluster on a job that lies in a folder: in one simulation, or in one of each part."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from hdl.common.component import Component
from sim.harness.in_simulator import JOB, MEMBERS, to_text
from sim.harness.part_builds import PartBuilds
from sim.harness.parts import Link, Part, Workers, run_parts
from sim.harness.verilator import Build, Simulation, run


class Members(Protocol):
    """Names what of a cluster one simulation has."""

    @property
    def name(self) -> str:
        """Return the name of a part, which is also that of its folder."""
        ...


M = TypeVar("M", bound=Members)


@dataclass(frozen=True, kw_only=True)
class Cluster(Generic[M]):
    """Describes a cluster and the folder with its job, which environment variables name.

    ``test_module`` runs in each simulation; it reads the job and which members it has.
    """

    simulator: Build  #: of the whole cluster, or :class:`PartBuilds` of its parts
    test_module: str
    folder: Path  #: an absolute path
    plusargs: Sequence[str]
    everything: M
    parts: Sequence[M]
    links: Sequence[Link]  #: between parts
    epoch: int  #: cycles that parts run without each other
    component: Callable[[M], Component]  #: hardware of everything, or of a part
    files: Callable[[M], Sequence[str]] = lambda members: ()  #: names of what a part reads
    env: Mapping[str, str] = field(default_factory=dict)  #: variables beside the job's
    progress: str = ""  #: name of the file that says how far a simulation is

    @property
    def cut(self) -> bool:
        """Return whether each part has a simulator of its own."""
        return isinstance(self.simulator, PartBuilds)

    @property
    def folders(self) -> list[Path]:
        """Return the folders in which simulations run and leave their results."""
        return [self.folder / each.name for each in self.parts] if self.cut else [self.folder]

    def run(
        self,
        *,
        seed: int | None = None,
        processes: int | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Simulate everything, or all parts; SimulationError if that ends badly.

        At most ``processes`` parts work at a time, by default all; they do so on ``workers``, if
        there are any. Results and cycles are the same.
        """
        if not isinstance(self.simulator, PartBuilds):
            run(self.simulator, self.simulation(self.everything), seed=seed, folder=self.folder)
            return
        parts = [
            Part(
                name=members.name,
                build=build,
                simulation=self.simulation(members),
                files=self.files(members),
                progress=self.progress,
            )
            for members, build in zip(self.parts, self.simulator.parts, strict=True)
        ]
        run_parts(
            parts,
            self.links,
            epoch=self.epoch,
            processes=processes or len(parts),
            folder=self.folder,
            seed=seed,
            workers=workers,
        )

    def simulation(self, members: M) -> Simulation:
        """Return the simulation of some members."""
        component = self.component(members)
        return Simulation(
            test_module=self.test_module,
            params=component.params,
            component=type(component),
            plusargs=self.plusargs,
            env={JOB: str(self.folder), MEMBERS: to_text(members), **self.env},
        )
