"""Runs each matrix on three topologies: figure 22; and tries what can slow stokes on HyperX."""

from sim.netsparse.partition_names import SCATTERED
from sim.netsparse.reproduce.choices import Choice, Lines
from sim.netsparse.topology_names import DRAGONFLY, HYPERX, LEAF_SPINE
from sim.reproduce.figure import Claim, by_paper, by_us

HIGH = 0.5  #: least share of the speed-up on leaf and spine at which it "remains high"
EXCEPTION = "stokes", "HyperX"
ALONE, TOGETHER = 0.8, 0.6  #: shares of the speed-up that one cause keeps, and that both leave


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
    " in a switch on its way, too. `--only far-nodes` tries what can slow stokes on HyperX.",
)


def far_claims(lines: Lines) -> list[Claim]:
    """Return what slows stokes on HyperX, each cause tried alone and then with the other."""
    own = {name: outcome.speed_up for name, outcome in lines["stokes"].items()}
    links = own["one link"] / own["leaf-spine"]
    hops, both = (own[f"far, {name}"] / own["far, leaf-spine"] for name in ("HyperX", "one link"))
    reported = f"one link {links:.2f}, more hops {hops:.2f}, both {both:.2f}"
    return [
        by_us(
            f"neither alone brings stokes below {ALONE} of its speed-up on leaf and spine",
            min(links, hops) > ALONE,
            reported,
        ),
        by_us(f"both together bring it below {TOGETHER}", both < TOGETHER, reported),
    ]


FAR = Choice(
    name="far-nodes",
    title="What can slow stokes on HyperX: links between switches, and hops",
    source="figure 22, section 9.6",
    quote="This performance degradation is due to the higher number of hops in the HyperX network.",
    setting="topology",
    values={
        "leaf-spine": LEAF_SPINE,
        "one link": f"{HYPERX}:4x4x2",
        "far, leaf-spine": {"topology": LEAF_SPINE, "partition": SCATTERED},
        "far, HyperX": {"topology": f"{HYPERX}:4x4x2:4", "partition": SCATTERED},
        "far, one link": {"topology": f"{HYPERX}:4x4x2", "partition": SCATTERED},
    },
    explained=", or a HyperX of 4 x 4 x 2 with four links between two switches, or with one; *far*:"
    " blocks that need each other are in other racks (`spmm --partition scattered`)",
    claims=far_claims,
    only=("stokes",),
    note="A node of our stokes reads from three nodes on either side, few of them behind another"
    " switch; where the rows of the real matrix lie is not known here. The paper's simulator uses"
    " one link of those between two switches, unless the authors changed it: Merlin of SST routes a"
    " HyperX by default in the order of dimensions, and its `choose_multipath` returns the first of"
    " the links, whatever the width.",
)
