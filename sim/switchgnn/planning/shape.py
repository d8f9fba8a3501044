"""Describes the sizes of a switch that preprocessing depends on."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sim.switchgnn.planning.saved import refuse

ENTRY_INDEX_BITS = 15  #: width of an index in an entry of a row; the 16th bit says that it is valid
MAX_PORTS = 1 << 16  #: ports that descriptors can name; hardware has 32 at most
STEPS = 256  #: steps of a turn program


@dataclass(frozen=True, kw_only=True)
class SwitchShape:
    """Holds a switch's ports, aggregators and tables; raises UserError for impossible ones.

    With two open turns each has half of every bank's aggregators: one fills while the other drains.
    """

    ports: int  #: number of workers at most; over 32 only to count what plans send
    banks: int  #: P, aggregators that a row can name
    depth: int  #: aggregators in a bank
    lanes: int  #: L, features of a packet and sums of an aggregator
    open_turns: int = 1  #: 1 or 2
    rows: int = 1 << 28  #: rows of lists that the switch's memory holds
    descriptor_rows: int = 1 << 24  #: rows of descriptors that the switch's memory holds

    def __post_init__(self) -> None:
        refuse(
            not 2 <= self.ports <= MAX_PORTS,
            f"a switch has 2 to {MAX_PORTS} ports, not {self.ports}",
        )
        refuse(self.banks < 1, f"a switch has at least 1 bank, not {self.banks}")
        refuse(self.lanes < 1, f"a packet has at least 1 feature, not {self.lanes}")
        refuse(self.open_turns not in (1, 2), f"1 or 2 turns are open, not {self.open_turns}")
        refuse(
            not self.open_turns <= self.depth <= self.open_turns << ENTRY_INDEX_BITS,
            f"a bank has {self.open_turns} to {self.open_turns << ENTRY_INDEX_BITS} aggregators,"
            f" not {self.depth}",
        )
        refuse(self.aggregators < 2, f"a turn needs at least 2 aggregators, has {self.aggregators}")

    @property
    def turn_depth(self) -> int:
        """Return the number of aggregators of a bank that a turn may use."""
        return self.depth // self.open_turns

    @property
    def aggregators(self) -> int:
        """Return K, the most destinations of a block."""
        return self.banks * self.turn_depth

    def check_workers(self, workers: int) -> None:
        """Raise UserError if there are more workers than ports."""
        refuse(
            workers > self.ports,
            f"{workers} workers need {workers} ports, the switch has {self.ports}: take --workers"
            f" {self.ports}, or a --preset with more ports",
        )


SHAPES: Mapping[str, SwitchShape] = MappingProxyType(
    {
        "tiny": SwitchShape(ports=3, banks=2, depth=8, lanes=2),
        "small": SwitchShape(
            ports=4, banks=4, depth=512, lanes=32, rows=4096, descriptor_rows=4096
        ),
        "full": SwitchShape(ports=8, banks=8, depth=4096, lanes=128),
    }
)
