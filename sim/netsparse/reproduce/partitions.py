"""Runs each matrix in blocks of rows and by partitioners: what section 9.4 leaves to others."""

from sim.netsparse.partition_names import BLOCKS, HYPERGRAPH, METIS
from sim.netsparse.reproduce.choices import Choice, Lines
from sim.netsparse.reproduce.judging import words
from sim.reproduce.figure import Claim, by_us

OPEN = ("stokes", "europe")  #: matrices that "could benefit from further improvements"


def claims(lines: Lines) -> list[Claim]:
    """Return what the hypergraph must bring."""
    prs, faster = {}, {}
    for family, own in lines.items():
        blocks, best = own[BLOCKS], own[HYPERGRAPH]
        prs[family] = best.figures["unit_prs"] / blocks.figures["unit_prs"]
        faster[family] = best.speed_up / blocks.speed_up
    return [
        by_us(
            "by hypergraph, all matrices need fewer PRs than in blocks",
            max(prs.values()) < 1,
            words(prs, ".2f"),
        ),
        by_us(
            f"by hypergraph, {' and '.join(OPEN)} are faster, of which the section says that they"
            " could benefit",
            min(faster[family] for family in OPEN) > 1,
            words(faster, ".2f"),
        ),
    ]


PARTITIONED = Choice(
    name="partitions",
    title="Rows in blocks, and by partitioners",
    source="section 9.4",
    quote="This imbalance is not a consequence of the NetSparse hardware, but of the way the sparse"
    " matrix is partitioned across nodes. [...] future work should rethink partitioning methods and"
    " algorithms.",
    setting="partition",
    values={name: name for name in (BLOCKS, METIS, HYPERGRAPH)},
    explained=". METIS cuts few nonzeros, and *hypergraph*, Mt-KaHyPar, leaves few PRs; both give"
    " nodes nearly as many nonzeros. Speed-ups are over SUOpt in blocks",
    claims=claims,
)
