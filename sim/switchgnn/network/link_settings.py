"""Describes how the links of a simulated network behave; the module imports little."""

from dataclasses import dataclass

CERTAIN = 1 << 16  #: a chance of the links
CHANCES = ("drop", "duplicate", "reorder", "corrupt")


@dataclass(frozen=True, kw_only=True)
class LinkSettings:
    """Says how links behave, each alike, in both directions; see ``Link``."""

    latency: int = 20  #: cycles that a frame takes
    displacement: int = 400  #: most cycles by which a reordered or doubled frame is late
    drop: float = 0.0  #: chance that a frame is lost
    duplicate: float = 0.0  #: chance that a frame comes twice
    reorder: float = 0.0  #: chance that another frame comes before one
    corrupt: float = 0.0  #: chance that a bit of a frame is wrong
    background: float = 0.0  #: share of each link that other traffic takes
    seed: int = 1  #: seed of these chances

    @property
    def fields(self) -> dict[str, int]:
        """Return the values of a link's settings port."""
        return {name: round(getattr(self, name) * CERTAIN) for name in CHANCES} | {
            name: getattr(self, name) for name in ("latency", "displacement", "seed")
        }

    @property
    def late(self) -> int:
        """Return the most cycles that a frame takes beyond the latency."""
        return self.displacement if self.reorder or self.duplicate else 0

    @property
    def answered(self) -> float:
        """Return the chance that a frame and the answer to it both arrive whole."""
        return ((1 - self.drop) * (1 - self.corrupt)) ** 2
