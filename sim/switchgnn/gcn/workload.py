"""Describes what a training of a graph network is asked to do."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from sim.harness.workload import Workload, setting
from sim.surroundings.at_a_time import check_cut, chosen_processes
from sim.switchgnn.network.link_settings import CHANCES, LinkSettings
from sim.switchgnn.planning.choices import ORDER_NAMES, PLANS

if TYPE_CHECKING:
    from sim.switchgnn.links import Faults

BITS = (8, 12, 16)
METIS = "metis"
MAX_WORKERS = 32
MAX_RACKS, MAX_SPINES = 16, 8
CUT_WORKERS, CUT_LATENCY = 4, 50  #: least workers, and cycles of their links, for which it pays


class Adder(StrEnum):
    """Names who adds up features between workers, as on the command line."""

    RTL = "rtl"  # the hardware of the switch and of an endpoint for each worker, simulated
    GOLDEN = "golden"  # the golden switch and workers, frame by frame
    EXACT = "exact"  # scipy: nothing is sent


class Norm(StrEnum):
    """Names what a layer makes of a vertex and its neighbours, as on the command line."""

    SYMMETRIC = "symmetric"  # their sum, each divided by the roots of both degrees
    MEAN = "mean"  # their mean


@dataclass(frozen=True, kw_only=True)
class TrainingWorkload(Workload):
    """Asks for a training on all vertices at once in each epoch, between workers at links."""

    data: str = setting(
        "digits",
        "Train on this graph: digits, a Matrix Market file (.gz, .bz2, .xz too) or an .npz file"
        " that scipy.sparse.save_npz wrote (arrays format, shape, data, indices and indptr). The"
        " .npz file, or NAME.npz beside NAME.mtx, has arrays features [vertices, features] and"
        " labels [vertices], -1 where there is none;"
        " an array train [vertices], true or false, may say which vertices are trained on.",
        metavar="digits|PATH",
    )
    labels: int = setting(
        10,
        "Train on this many vertices of each class, drawn by the seed, unless the data say which;"
        " all others with a label are tested on.",
        least=1,
    )
    layers: int = setting(2, "Make a network of this many layers.", least=1, most=4)
    hidden: int = setting(
        32, "Give a vertex this many features between layers.", least=1, most=1024
    )
    norm: Norm = setting(
        Norm.SYMMETRIC,
        "Give a vertex the sum of itself and its neighbours, each divided by the square roots of"
        " both degrees (symmetric), or their mean (mean).",
    )
    bits: int = setting(16, "Send features of this many bits: 8, 12 or 16.")
    eta: float = setting(0.4, "Learn at this rate.")
    l2_shift: int = setting(
        5, "Shrink weights by 2^-N of themselves in each epoch; 0 is off.", least=0, most=23
    )
    epochs: int = setting(60, "Train this many times on all vertices.", least=1)
    workers: int = setting(
        4,
        "Share the vertices between this many workers; a switch joins two or more.",
        least=1,
        most=MAX_WORKERS,
    )
    partition: str = setting(
        METIS,
        "Assign vertices to workers by metis, or by a file with a number for each (.npy, .npz"
        " of a partition, or text with one a line).",
        metavar="metis|PATH",
    )
    plan: str = setting(PLANS[0], f"Make blocks of edges by this plan: {', '.join(PLANS)}.")
    order: str = setting(ORDER_NAMES[0], f"Send vertices in this order: {', '.join(ORDER_NAMES)}.")
    open_turns: int = setting(1, "Keep this many turns open at a time.", least=1, most=2)
    link_latency: int = setting(
        20,
        "Delay frames on a link of the simulated hardware by this many cycles, one way.",
        least=0,
        most=4095,
    )
    drop: float = setting(0.0, "Drop a frame on a link with this chance.", least=0, most=0.9)
    duplicate: float = setting(0.0, "Double a frame on a link with this chance.", least=0, most=0.9)
    reorder: float = setting(
        0.0, "Delay a frame beyond later ones on a link with this chance.", least=0, most=1
    )
    corrupt: float = setting(
        0.0, "Flip a bit of a frame on a link with this chance.", least=0, most=0.9
    )
    displacement: int = setting(
        400,
        "Delay reordered and doubled frames by at most this many cycles in the simulated hardware.",
        least=0,
        most=4095,
    )
    timeout: int = setting(
        0,
        "Repeat a worker's frame after this many cycles of the simulated hardware; 0 chooses a"
        " time that suits the links.",
        least=0,
        most=(1 << 23) - 1,
    )
    seed: int = setting(
        1,
        "Draw with this seed the first weights, the labels that are trained on, the plan and the"
        " links' faults.",
        least=0,
        most=(1 << 31) - 1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bits not in BITS:
            raise ValueError(f"bits must be {', '.join(map(str, BITS))}: {self.bits}")
        if not 0 < self.eta <= 1000:
            raise ValueError(f"eta must be above 0 and at most 1000: {self.eta}")
        for name, known in (("plan", PLANS), ("order", ORDER_NAMES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be {', '.join(known)}: {getattr(self, name)!r}")
        if self.workers == 1 and self.partition != METIS:
            raise ValueError("a single worker owns all vertices: there is nothing to partition")

    @property
    def paths(self) -> list[Path]:
        """Return the files that are named as data or as partition."""
        named = {self.data: "digits", self.partition: METIS}
        return [Path(name) for name, other in named.items() if name != other]


@dataclass(frozen=True, kw_only=True)
class GcnWorkload(TrainingWorkload):
    """Asks for a training of a graph network by one of several adders, in racks if need be."""

    racks: int = setting(
        1,
        "Put the workers into this many racks of as many workers each, in their order; each has a"
        " switch, and spines above join these.",
        least=1,
        most=MAX_RACKS,
    )
    spines: int = setting(
        1,
        "Connect the switch of each rack to this many spines, which share the sums that leave it.",
        least=1,
        most=MAX_SPINES,
    )
    adder: Adder = setting(
        Adder.RTL,
        "Add features between workers by rtl, the simulated hardware, by golden, its model,"
        " frame by frame, or by exact, scipy without a network. The weights are the same.",
    )
    quick_plan: bool = setting(
        False,
        "Let workers send sums of their own features, and add up busy destinations in several"
        " aggregators, where rows of lists would take longer than the ports.",
    )
    background: float = setting(
        0.0,
        "Let other traffic take this share of each link of the simulated hardware, in flows of 6 KB"
        " at random times.",
        least=0,
        most=0.9,
    )
    ecn: bool = setting(
        False,
        "Let switches of the simulated hardware mark frames while their queues are long, and the"
        " workers halve their rate when they hear of it, of a queue between racks as well.",
    )

    processes: int | None = setting(
        None,
        "Let this many processes simulate the hardware at a time: if more than 1, each worker and"
        " each switch is one of its own. The result is the same, to the cycle, for any number.",
        least=1,
        shown=f"the cores for {CUT_WORKERS} workers or more with links of at least {CUT_LATENCY}"
        " cycles, else 1",
    )
    waves_worker: int = setting(
        0,
        "Write the waveform of this worker if --waves asks for one and workers are processes of"
        " their own.",
        least=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.workers % self.racks:
            raise ValueError(
                f"racks must be as many as divide the workers: {self.racks} racks,"
                f" {self.workers} workers"
            )
        if self.racks == 1 and self.spines > 1:
            raise ValueError(f"a single rack needs no spines: {self.spines}")
        if not self.has_links and any(getattr(self, name) for name in CHANCES):
            alone = "a single worker" if self.workers == 1 else f"--adder {self.adder}"
            raise ValueError(f"{alone} has no links: nothing can happen to a frame")
        if self.is_simulated:
            check_cut(self.processes, self.link_latency)
        if self.waves_worker >= self.workers:
            raise ValueError(
                f"waves_worker must be below the {self.workers} workers: {self.waves_worker}"
            )

    @property
    def at_a_time(self) -> int:
        """Return how many processes work at a time; 1: all is simulated as a whole."""
        pays = self.workers >= CUT_WORKERS and self.link_latency >= CUT_LATENCY
        return chosen_processes(self.processes, pays) if self.is_simulated else 1

    @property
    def is_simulated(self) -> bool:
        """Return whether hardware adds, that of a network."""
        return self.has_links and self.adder is Adder.RTL

    @property
    def idle(self) -> set[str]:
        """Return the names of the fields that have no effect beside the others."""
        result = {"partition", "adder"} if self.workers == 1 else set()
        if not self.has_links:
            result |= {"plan", "order", "open_turns", "racks", *CHANCES}
        if not self.has_links or self.racks == 1:
            result.add("spines")
        if not self.is_simulated:
            result |= {"link_latency", "displacement", "timeout", "background", "ecn", "processes"}
        if self.at_a_time == 1:
            result.add("waves_worker")
        return result if self.duplicate or self.reorder else result | {"displacement"}

    @property
    def has_links(self) -> bool:
        """Return whether frames are sent at all."""
        return self.workers > 1 and self.adder is not Adder.EXACT

    @property
    def faults(self) -> "Faults":
        """Return what links do to frames, by chance."""
        from sim.switchgnn.links import Faults

        return Faults(**{name: getattr(self, name) for name in CHANCES})

    @property
    def links(self) -> LinkSettings:
        """Return how the links of simulated hardware behave."""
        return LinkSettings(
            latency=self.link_latency,
            displacement=self.displacement,
            background=self.background,
            seed=self.seed,
            **{name: getattr(self, name) for name in CHANCES},
        )
