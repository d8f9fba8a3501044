"""Describes the settings that a reproduction of NetSparse takes."""

from dataclasses import dataclass

from sim.harness.workload import Workload, setting

#: In the order of the paper.
FIGURES = (
    "redundancy",
    "headers",
    "destinations",
    "queues",
    "goodput",
    "spines",
    "egress-cache",
    "speed-up",
    "end-to-end",
    "breakdown",
    "tail-node",
    "tail-node-rtl",
    "ablation",
    "batch-size",
    "rig-units",
    "delay-cycles",
    "cache-size",
    "balance",
    "partitions",
    "adapted-batch",
    "cpus",
    "topology",
    "far-nodes",
    "calibration",
)
LONG = ("tail-node-rtl",)  #: figures that take hours, made only where they are named


@dataclass(frozen=True, kw_only=True)
class NetSparseRequest(Workload):
    """Holds the settings of all figures."""

    matrix: list[str] | None = setting(
        None,
        "Use this Matrix Market file in the place of a family, such as arabic=arabic-2005.mtx;"
        " may be repeated.",
        metavar="FAMILY=PATH",
        shown="generated matrices",
    )
    scale: float = setting(
        1.0,
        "Generate matrices of this many times a 32nd of the rows that the paper's have.",
        least=0.01,
        most=100,
    )
