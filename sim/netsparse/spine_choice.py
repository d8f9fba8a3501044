"""Names how a cluster chooses the spine of a packet between racks."""

from enum import StrEnum


class SpineChoice(StrEnum):
    """Names what chooses the spine of a read and of its response, as on the command line."""

    HOME = "home"  # the node that owns the idx: all racks ask it by the same spine
    RACKS = "racks"  # the two racks: all of their nodes share a spine
