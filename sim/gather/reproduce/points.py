"""Says what all figures measure the gather's datapath on, and measures their points at once."""

from collections.abc import Mapping
from typing import Any

from sim.gather.surroundings.gather_on_host import GatherOnHostParams
from sim.golden.pcie_link import BEST_CASE, LINK_BYTES
from sim.surroundings.pcie.params import CLOCK_HZ

__all__ = ["BEST", "CLOCK_HZ", "COLOURS", "HARDWARE", "TAGS", "least_of", "return_path"]

HARDWARE = GatherOnHostParams()
TAGS = HARDWARE.gather.reads.tags
BEST = LINK_BYTES * float(BEST_CASE)  #: bytes a second of completions of 256 bytes
COLOURS = {"naive": "tab:orange", "aligned": "tab:blue", "merged": "tab:green"}


def return_path(round_trip: float) -> int:
    """Convert a round trip from microseconds to cycles."""
    return round(round_trip * 1e-6 * CLOCK_HZ)


def least_of(row: Mapping[str, Any]) -> float:
    """Return the share of the best case that headers and tags allow."""
    return min(row["model_share_of_headers"], row["model_share_of_tags"])
