"""Runs each matrix on three topologies: figure 22."""

from sim.netsparse.reproduce.choices import Choice, Lines
from sim.netsparse.topology_names import DRAGONFLY, HYPERX, LEAF_SPINE
from sim.reproduce.figure import Claim, by_paper

HIGH = 0.5  #: least share of the speed-up on leaf and spine at which it "remains high"
EXCEPTION = "stokes", "HyperX"


def claims(lines: Lines) -> list[Claim]:
    """Return the paper's sentences, each judged."""
    shares = {
        (family, name): own[name].speed_up / own["leaf-spine"].speed_up
        for family, own in lines.items()
        for name in ("HyperX", "Dragonfly")
    }
    reported = ", ".join(f"{' '.join(place)} {share:.2f}" for place, share in shares.items())
    return [
        by_paper(
            "on all three networks, but for stokes with HyperX, the speed-up is more than half of"
            " that on leaf and spine",
            all(share > HIGH for place, share in shares.items() if place != EXCEPTION),
            reported,
        ),
        by_paper(
            "the speed-up of stokes drops by more than 2x with HyperX",
            shares[EXCEPTION] < HIGH,
            f"{shares[EXCEPTION]:.2f} of that on leaf and spine",
        ),
    ]


TOPOLOGY = Choice(
    name="topology",
    title="Speed-up by the network's topology",
    source="figure 22, section 9.6",
    quote="the performance of NetSparse remains high for all three networks. One notable exception"
    " is stokes with HyperX, where the speedup drops by more than 2x compared to the Leaf-Spine"
    " network",
    setting="topology",
    values={
        "leaf-spine": LEAF_SPINE,
        "HyperX": f"{HYPERX}:4x4x2:4",
        "Dragonfly": f"{DRAGONFLY}:4x8:16",
    },
    explained=", or the same nodes four at each of 32 switches: a HyperX of 4 x 4 x 2 with four"
    " links between two, a Dragonfly of four groups of eight with 16 links between two groups",
    claims=claims,
    note="Halves of each network are joined by 64 links. The paper names four links of the"
    " Dragonfly between groups, and a bisection like that of leaf and spine, which 16 links between"
    " two groups give. All switches of the last two have caches, as each has nodes; a read can hit"
    " in a switch on its way, too.",
)
