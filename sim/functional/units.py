"""The groups of bins that single components have, by component."""

from collections.abc import Mapping

from sim.functional import common, netsparse, p4sgd
from sim.functional.unit_bins import UnitGroup


def units() -> Mapping[str, tuple[UnitGroup, ...]]:
    """The groups of each component, ``hdl.common.fifo.Fifo``, that has any."""
    return common.GROUPS | netsparse.GROUPS | p4sgd.GROUPS
