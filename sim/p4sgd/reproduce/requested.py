"""Describes what a reproduction of P4SGD may be asked for."""

from dataclasses import dataclass
from pathlib import Path

from sim.harness.workload import Workload, setting

#: Lists the figures, in the order of the paper.
FIGURES = (
    "schedules",
    "allreduce",
    "parallelism",
    "batch-size",
    "scale-up",
    "scale-out",
    "epoch-time",
    "convergence",
    "loss-time",
)
#: Lists the data sets of the paper that are trained on, in place of which a file may be named.
TRAINED = ("gisette", "rcv1")
LINK_LATENCY = 130  #: cycles of a link, so that an AllReduce takes about as long as the paper's
MAX_LATENCY = 4095


@dataclass(frozen=True, kw_only=True)
class P4sgdRequest(Workload):
    """Holds the settings of all figures."""

    link_latency: int = setting(
        LINK_LATENCY,
        "Let a link from worker to switch, or back, take this many cycles, up to 4095.",
        least=0,
        most=MAX_LATENCY,
    )
    data: list[str] | None = setting(
        None,
        "Train on this LIBSVM or .npz file in the place of generated data:"
        f" {' or '.join(TRAINED)}=FILE; may be repeated.",
        metavar="NAME=FILE",
        shown="generated data of the same shape",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for text in self.data or ():
            name, equals, path = text.partition("=")
            if not (equals and path):
                raise ValueError(f"--data must be NAME=FILE: {text}")
            if name not in TRAINED:
                raise ValueError(f"--data takes {' or '.join(TRAINED)}, not {name}")
            if not Path(path).is_file():
                raise ValueError(f"--data: there is no file {path}")

    @property
    def files(self) -> dict[str, str]:
        """Return the file of each data set that has one; the last that is named counts."""
        return dict(text.split("=", 1) for text in self.data or ())
