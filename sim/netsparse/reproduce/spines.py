"""Compares both rules by which a read and its response choose their spine."""

from sim.netsparse.reproduce.choices import Choice, Lines
from sim.netsparse.reproduce.judging import ranked
from sim.netsparse.spine_choice import SpineChoice
from sim.reproduce.figure import Claim, by_us

NEAR = 0.05  #: by how much of its speed-up no matrix may lose


def claims(lines: Lines) -> list[Claim]:
    """Return what the default rule must show."""
    home, racks = (
        {family: own[choice].speed_up for family, own in lines.items()} for choice in SpineChoice
    )
    reported = ", ".join(f"{name} {racks[name]:.1f} -> {home[name]:.1f}" for name in home)
    europe = {choice.value: lines["europe"][choice].link_bound for choice in SpineChoice}
    return [
        by_us(
            "by home, no matrix is slower by more than 5 %",
            all(home[name] > (1 - NEAR) * racks[name] for name in home),
            reported,
        ),
        by_us(
            "the speed-ups of the matrices are in the same order by both rules",
            ranked(home) == ranked(racks),
            reported,
        ),
        by_us(
            "by home, europe needs its busiest link for a smaller share of the time",
            europe["home"] < europe["racks"],
            ", ".join(f"{name} {share:.0%}" for name, share in europe.items()),
        ),
    ]


SPINES = Choice(
    name="spines",
    title="What chooses the spine",
    source="section 6.2.1",
    quote="for a pair of {response, read} PRs to communicate a property in a deterministic"
    " routing network, the egress port of the read must match the ingress port of the"
    " response.",
    setting="spine_choice",
    values={choice.value: choice for choice in SpineChoice},
    panels={
        "speed-up over SUOpt": lambda outcome: outcome.speed_up,
        "share of the busiest link": lambda outcome: outcome.link_bound,
    },
    claims=claims,
    note="Both rules fulfil the sentence. By *racks* all nodes of two racks share a spine; by"
    " *home* the node that owns an idx chooses the spine of its reads and of their responses,"
    " and two racks share all spines. The other figures use *home*.",
)
