"""Describes what a reproduction of P4SGD may be asked for."""

from dataclasses import dataclass

from sim.harness.workload import Workload, setting

#: Lists the figures, in the order of the paper.
FIGURES = ("allreduce", "parallelism", "batch-size", "scale-up", "scale-out", "convergence")
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
