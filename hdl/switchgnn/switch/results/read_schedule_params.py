"""Describes the sizes of the schedule of READs."""

from amaranth.utils import ceil_log2

from hdl.common.params import Params, whole


class ReadScheduleParams(
    Params, suffix="{ports}x{banks}_s{settling}_h{hole_cycles}_p{patience}_{passes}"
):
    """Sets the number of ports and banks, and the latencies of banks and rows after a choice."""

    ports: int = whole(2, 32)  #: number of ports
    banks: int = whole(1, 16)  #: number of banks
    settling: int = whole(1, 8, default=2)  #: cycles from a READ until ``ready`` reflects it
    #: cycles from ``make_hole`` until ``holes`` has the hole
    hole_cycles: int = whole(1, 16, default=2)
    #: cycles that the port whose turn it is waits for a hole by chance
    patience: int = whole(2, 1024, default=32)
    #: results of other banks that may precede one of the bank with the turn
    passes: int = whole(1, 16, default=3)

    @property
    def port_bits(self) -> int:
        """Return the width of a port's number."""
        return ceil_log2(self.ports)

    @property
    def max_wait(self) -> int:
        """Return the cycles within which an open port with ready lists is read.

        This is without copies, which take the output path meanwhile.
        """
        return self.ports * (self.patience + 2 * self.hole_cycles + 8)

    @property
    def max_passes(self) -> int:
        """Return the number of READs of a port within which each of its ready lists is read."""
        return self.banks * (self.passes + 2)
