"""Defines the messages between a training and the simulator of its network; imports little."""

from dataclasses import dataclass, field
from multiprocessing.connection import Client, Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.job import PlannedJob
from sim.switchgnn.network.link_settings import LinkSettings
from sim.switchgnn.racked_job import RackedJob

JOB = "INGATHER_SWITCHGNN_NETWORK"  #: environment variable: where requests come from


@dataclass(frozen=True, kw_only=True)
class ServerAddress:
    """Says where simulators connect: at a path, or, with a key, at a port of another machine."""

    address: str | tuple[str, int]
    key: bytes | None = None

    def connect(self) -> Connection:
        """Connect to the process that asks."""
        return Client(self.address, authkey=self.key)


@dataclass(frozen=True, kw_only=True)
class Begin:
    """Asks, as the first request, for a way to use the network."""

    open_turns: int
    links: LinkSettings
    timeout: int = 0  #: cycles until a worker repeats a frame; 0 for what suits the links
    ecn: bool = False  #: the switch marks frames, and workers slow down


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Brings plans, which later requests name by a number."""

    number: int
    jobs: dict[int, PlannedJob] | dict[int, RackedJob]  #: plans by width


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """Asks to aggregate features by the plans of a number."""

    number: int
    features: NDArray[np.int16]


@dataclass(frozen=True, kw_only=True)
class Count:
    """Asks for counters to be read."""

    details: bool = False  #: ask for all counters of workers, and findings


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answers an :class:`Aggregate`, with the sums of a simulation's workers, or a failure."""

    failure: str = ""  #: why there are no sums; empty if another simulation knows
    sums: NDArray[np.int64] | None = None


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Answers a :class:`Count` with what has been counted since reset, in one simulation of all."""

    workers: dict[int, dict[str, int]]  #: each worker's counters, by its number
    switches: dict[str, dict[str, Any]]  #: each switch's and its ports', by its name
    frames: int  #: frames that links were given
    lost: int  #: frames that links dropped or broke
    background: int  #: beats of other traffic on links to workers
    cycles: int  #: cycle in which the links' counts were read
    sums: int  #: sums that its workers wanted
    planned_bytes: int  #: planned bytes of all aggregations
    seconds: float = field(compare=False)  #: of CPU that the simulation has taken
    findings: dict[str, Any] = field(default_factory=dict)  #: what else its host has to say


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Holds what the hardware has counted since reset, in all simulations together."""

    counts: dict[str, int] = field(default_factory=dict)  #: sim.switchgnn.gcn.aggregator.COUNTERS
    details: dict[str, Any] = field(default_factory=dict)  #: figures by name
