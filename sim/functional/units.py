"""The groups of bins that single components have, by component."""

from collections.abc import Mapping

from sim.functional import common
from sim.functional.unit_bins import UnitGroup
from sim.netsparse import bins as netsparse
from sim.p4sgd import bins as p4sgd


def units() -> Mapping[str, tuple[UnitGroup, ...]]:
    """The groups of each component, ``hdl.common.fifo.Fifo``, that has any."""
    return common.GROUPS | netsparse.GROUPS | p4sgd.GROUPS
