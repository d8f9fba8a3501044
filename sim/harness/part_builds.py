"""Holds the simulators of all parts of a system that is cut."""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.harness.verilate import Build


@dataclass(frozen=True)
class PartBuilds(Build):
    """Holds the simulators of all parts of a system; otherwise it is one of them."""

    parts: tuple[Build, ...] = ()


def of_parts(parts: Sequence[Build], shown: int = 0) -> PartBuilds:
    """Return the simulators of all parts, as one: that of part ``shown``, whose waves are seen."""
    each = {id(build): build for build in parts}.values()
    return PartBuilds(
        **{
            **vars(parts[shown]),
            "built": any(build.built for build in each),
            "seconds": sum(build.seconds for build in each),
            "parts": tuple(parts),
        }
    )
