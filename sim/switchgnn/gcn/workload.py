"""What a training of a graph network is asked to do."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sim.harness.workload import Workload, setting
from sim.switchgnn.links import Faults
from sim.switchgnn.network.link_settings import CHANCES, LinkSettings
from sim.switchgnn.planning.orders import ORDERS
from sim.switchgnn.planning.preparation import PLANS

BITS = (8, 12, 16)
METIS = "metis"
MOST_WORKERS = 32


class Adder(StrEnum):
    """Who adds up features between workers; names as on the command line."""

    RTL = "rtl"  # the hardware of the switch and of an endpoint for each worker, simulated
    GOLDEN = "golden"  # the golden switch and workers, frame by frame
    EXACT = "exact"  # scipy: nothing is sent


@dataclass(frozen=True, kw_only=True)
class GcnWorkload(Workload):
    """A graph network, trained on all vertices at once in each epoch."""

    data: str = setting(
        "digits",
        "The graph: digits, a Matrix Market file (.gz, .bz2, .xz too) or an .npz file that"
        " scipy.sparse.save_npz wrote. The .npz file, or one beside the .mtx file with its name,"
        " has arrays features [vertices, features] and labels [vertices], -1 where there is none;"
        " an array train [vertices], true or false, may say which vertices are trained on.",
        metavar="digits|PATH",
    )
    labels: int = setting(
        10,
        "Vertices of each class that are trained on, drawn by the seed, unless the data say which;"
        " all others with a label are tested on.",
        least=1,
    )
    layers: int = setting(2, "Layers of the network.", least=1, most=4)
    hidden: int = setting(32, "Features of a vertex between layers.", least=1, most=1024)
    bits: int = setting(16, "Bits of a feature that is sent: 8, 12 or 16.")
    eta: float = setting(0.4, "Learning rate.")
    l2_shift: int = setting(
        5, "Weights lose 2^-N of themselves in each epoch; 0 is off.", least=0, most=23
    )
    epochs: int = setting(60, "Number of times that all vertices are trained on.", least=1)
    workers: int = setting(
        4,
        "Workers that share the vertices; two or more are joined by a switch.",
        least=1,
        most=MOST_WORKERS,
    )
    partition: str = setting(
        METIS,
        "Which worker owns each vertex: metis, or a file with a number for each vertex (.npy, .npz"
        " of a partition, or text with one a line).",
        metavar="metis|PATH",
    )
    adder: Adder = setting(
        Adder.RTL,
        "Who adds up features between workers: rtl is the simulated hardware, golden its model,"
        " frame by frame, and exact is scipy without a network. The weights are the same.",
    )
    plan: str = setting(PLANS[0], f"How edges become blocks: {', '.join(PLANS)}.")
    order: str = setting(
        next(iter(ORDERS)), f"The order in which vertices are sent: {', '.join(ORDERS)}."
    )
    open_turns: int = setting(1, "Turns that are open at a time.", least=1, most=2)
    link_latency: int = setting(
        20,
        "Cycles that a link between worker and switch takes, one way, in the simulated hardware.",
        least=0,
        most=4095,
    )
    drop: float = setting(0.0, "Chance that a link drops a frame.", least=0, most=0.9)
    duplicate: float = setting(0.0, "Chance that a link doubles a frame.", least=0, most=0.9)
    reorder: float = setting(
        0.0, "Chance that a link delays a frame beyond later ones.", least=0, most=1
    )
    corrupt: float = setting(0.0, "Chance that a link flips a bit of a frame.", least=0, most=0.9)
    displacement: int = setting(
        400,
        "Most cycles by which a reordered or doubled frame is late in the simulated hardware.",
        least=0,
        most=4095,
    )
    timeout: int = setting(
        0,
        "Cycles until a worker of the simulated hardware repeats a frame; 0 takes what suits the"
        " links.",
        least=0,
        most=(1 << 23) - 1,
    )
    seed: int = setting(
        1,
        "Number that decides the first weights, the labels that are trained on, the plan and the"
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
        for name, known in (("plan", PLANS), ("order", ORDERS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be {', '.join(known)}: {getattr(self, name)!r}")
        if self.workers == 1 and self.partition != METIS:
            raise ValueError("a single worker owns all vertices: there is nothing to partition")
        if not self.has_links and any(getattr(self, name) for name in CHANCES):
            alone = "a single worker" if self.workers == 1 else f"--adder {self.adder}"
            raise ValueError(f"{alone} has no links: nothing can happen to a frame")

    @property
    def has_links(self) -> bool:
        """Whether frames are sent at all."""
        return self.workers > 1 and self.adder is not Adder.EXACT

    @property
    def faults(self) -> Faults:
        """What links do to frames."""
        return Faults(**{name: getattr(self, name) for name in CHANCES})

    @property
    def links(self) -> LinkSettings:
        """What the links of simulated hardware are like."""
        return LinkSettings(
            latency=self.link_latency,
            displacement=self.displacement,
            seed=self.seed,
            **{name: getattr(self, name) for name in CHANCES},
        )

    @property
    def paths(self) -> list[Path]:
        """The files that are named: data and partition, if they are files."""
        named = {self.data: "digits", self.partition: METIS}
        return [Path(name) for name, other in named.items() if name != other]
