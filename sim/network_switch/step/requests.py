"""Defines the messages of a training step beside those of an aggregation; imports little."""

from dataclasses import dataclass

from sim.golden.arithmetic import Integers
from sim.switchgnn.network.requests import Begin

LATE = 2  #: latencies, at most, by which some answers are later than others if that is drawn


@dataclass(frozen=True, kw_only=True)
class StepBegin(Begin):
    """Asks, as the first request, for a way to use the system."""

    pcie_latency: int  #: cycles until a read of host memory is answered
    irregular: bool = False  #: the seed draws when memories answer, and when hosts pause and look


@dataclass(frozen=True, kw_only=True)
class Reduce:
    """Asks to begin an all-reduce, at the next aggregation or when a result is waited for."""

    number: int
    parts: list[Integers]  #: numbers of 64 bits of each worker, which are to be added up


@dataclass(frozen=True, kw_only=True)
class Reduced:
    """Asks for the sums of the all-reduce with a number."""

    number: int
