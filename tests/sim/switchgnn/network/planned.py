"""Plans for the networks that tests simulate."""

from sim.switchgnn.gcn.golden_aggregator import Planner, SwitchSetup
from sim.switchgnn.planning.shape import SwitchShape


def planner(params, open_turns=1):
    """Return what plans aggregations on a network's switches."""
    switch = params.switch
    depth = open_turns * params.endpoints.endpoint.depth
    shape = SwitchShape(
        ports=switch.ports,
        banks=switch.banks,
        depth=depth,
        lanes=switch.lanes,
        open_turns=open_turns,
        rows=switch.rows,
        descriptor_rows=switch.descriptor_rows,
    )
    levels = {"racks": params.racks, "spines": switch.links}
    return Planner(SwitchSetup(shape=shape, window=switch.window, **levels))
