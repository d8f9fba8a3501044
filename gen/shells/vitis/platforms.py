"""Lists the cards for which a kernel is linked: their platforms, memories and cages."""

from dataclasses import dataclass, replace
from typing import Any

from gen.base.errors import UserError, unknown

MB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Platform:
    """Describes a card by the platform that ``v++`` links for.

    Platforms, parts and dies of the cages are those of the VNx project (Xilinx/
    xup_vitis_network_example: README, "Alveo Cards"; ``NetLayers/platform.tcl``; ``Makefile``,
    create-conf-file); memories are those of UG1120.
    """

    name: str  #: what ``--platform`` calls it
    card: str
    platform: str
    part: str
    memory: str = "HBM"  #: the tag of a bank begins so
    banks: int = 32
    bank_bytes: int
    cages: int = 2
    dies: int = 3
    slr: int  #: the die at the cages
    memory_slr: int | None = 0  #: the die that the memory is at; none: each bank is at another

    def check(self, name: str, top: Any) -> None:
        """Raise UserError if the card has too few cages or dies for ``top``, of design ``name``."""
        if top.streams and (count := len(top.ends())) > self.cages:
            raise UserError(f"{name} has {count} ports, and an {self.card} has one cage")
        if (dies := getattr(top.params, "slrs", 1)) > self.dies:
            raise UserError(
                f"{name} lies on {dies} dies, and an {self.card} has {self.dies}: --set"
                f" slrs={self.dies}"
            )


U280 = Platform(
    name="u280",
    card="Alveo U280",
    platform="xilinx_u280_gen3x16_xdma_1_202211_1",
    part="xcu280-fsvh2892-2L-e",
    bank_bytes=256 * MB,
    slr=2,
)
U55C = replace(
    U280,
    name="u55c",
    card="Alveo U55C",
    platform="xilinx_u55c_gen3x16_xdma_3_202210_1",
    part="xcu55c-fsvh2892-2L-e",
    bank_bytes=512 * MB,
    slr=1,
)
U50 = replace(
    U280,
    name="u50",
    card="Alveo U50",
    platform="xilinx_u50_gen3x16_xdma_5_202210_1",
    part="xcu50-fsvh2104-2-e",
    cages=1,
    dies=2,
    slr=1,
)
U250 = Platform(
    name="u250",
    card="Alveo U250",
    platform="xilinx_u250_gen3x16_xdma_4_1_202210_1",
    part="xcu250-figd2104-2L-e",
    memory="DDR",
    banks=4,
    bank_bytes=16384 * MB,
    dies=4,
    slr=2,
    memory_slr=None,
)
PLATFORMS = {platform.name: platform for platform in (U280, U55C, U50, U250)}


def find_platform(name: str) -> Platform:
    """Return a platform by its name; raise UserError for one that is not there."""
    if name not in PLATFORMS:
        raise unknown("platform", name, PLATFORMS)
    return PLATFORMS[name]
