"""Counts what a switch would pass more often if its caches lay in egress pipes (section 6.2.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.netsparse.golden.redundancy import PR_BYTES
from sim.netsparse.switch_counts import SwitchCounts


@dataclass(frozen=True, kw_only=True)
class EgressLoad:
    """Holds bytes of switches with middle pipes, and what caches in egress pipes would add.

    A response from an uplink is mirrored: it goes to the cache of the uplink's egress pipe, too. A
    read that hits there is recirculated: its response enters the switch again.
    """

    entered: int  #: bytes that enter all switches of racks, and cross their crossbar
    mirrored: int
    recirculated: int  #: properties with the fields of a PR, without headers of packets
    busiest: int  #: most bytes that leave by the ports of an egress pipe
    busiest_mirrored: int  #: the most with those that are mirrored to it

    @property
    def crossbar(self) -> float:
        """Return the bytes that cross the only crossbar, for each that enters."""
        return 1 + (self.mirrored + self.recirculated) / self.entered

    @property
    def pipe(self) -> float:
        """Return the busiest egress pipe's bytes, for each that it has with middle pipes."""
        return self.busiest_mirrored / self.busiest


def egress_load(
    switches: Sequence[SwitchCounts], nodes_per_rack: int, property_bytes: int
) -> EgressLoad:
    """Return the loads of the ``switches`` of racks, whose ports are nodes, then uplinks.

    Egress pipes have the ports of the middle pipes, or one each where there are none.
    """
    entered = mirrored = hits = busiest = busiest_mirrored = 0
    for switch in switches:
        pipes = len(switch.pipes) or len(switch.ports)
        leaving, more = [0] * pipes, [0] * pipes
        for number, port in enumerate(switch.ports):
            entered += port["reads_in_bytes"] + port["responses_in_bytes"]
            leaving[number % pipes] += port["reads_out_bytes"] + port["responses_out_bytes"]
            if number >= nodes_per_rack:
                more[number % pipes] += port["responses_in_bytes"]
        mirrored += sum(more)
        hits += switch.pipe("cache_hit")
        busiest = max(busiest, *leaving)
        busiest_mirrored = max(busiest_mirrored, *map(sum, zip(leaving, more, strict=True)))
    return EgressLoad(
        entered=entered,
        mirrored=mirrored,
        recirculated=hits * (PR_BYTES + property_bytes),
        busiest=busiest,
        busiest_mirrored=busiest_mirrored,
    )
