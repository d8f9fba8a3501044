"""Describes the sizes of the schedule of READs."""

from dataclasses import dataclass

from amaranth.utils import ceil_log2

from hdl.common.checks import check_range


@dataclass(frozen=True, kw_only=True)
class ReadScheduleParams:
    """Sets the number of ports and banks, and the latencies of banks and rows after a choice."""

    ports: int  #: number of ports, 2..32
    banks: int  #: number of banks, 1..16
    settling: int = 2  #: cycles from a READ until ``ready`` reflects it
    hole_cycles: int = 2  #: cycles from ``make_hole`` until ``holes`` has the hole
    patience: int = 32  #: cycles that the port whose turn it is waits for a hole by chance
    passes: int = 3  #: results of other banks that may precede one of the bank with the turn

    def __post_init__(self) -> None:
        check_range("ports", self.ports, 2, 32)
        check_range("banks", self.banks, 1, 16)
        check_range("settling", self.settling, 1, 8)
        check_range("hole_cycles", self.hole_cycles, 1, 16)
        check_range("patience", self.patience, 2, 1024)
        check_range("passes", self.passes, 1, 16)

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all sizes."""
        return (
            f"{self.ports}x{self.banks}_s{self.settling}_h{self.hole_cycles}"
            f"_p{self.patience}_{self.passes}"
        )

    @property
    def port_bits(self) -> int:
        """Return the width of a port's number."""
        return ceil_log2(self.ports)

    @property
    def most_wait(self) -> int:
        """Return the cycles within which an open port with ready lists is read.

        This is without copies, which take the output path meanwhile.
        """
        return self.ports * (self.patience + 2 * self.hole_cycles + 8)

    @property
    def most_passes(self) -> int:
        """Return the number of READs of a port within which each of its ready lists is read."""
        return self.banks * (self.passes + 2)
