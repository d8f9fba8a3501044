"""Reproduces tables 1, 3 and 4: what the matrices mean for sparse communication, without hardware.

The paper prints two ratios of each matrix. With the rows and nonzeros of table 6 they say more:

    useful transfers of a row   = (N - 1) / (SU + 1)
    share of remote nonzeros    = (SA + 1) x useful transfers of a row / nonzeros of a row

so that these three numbers explain a difference between its matrix and ours.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sim.netsparse.golden.redundancy import RACK, WINDOW, header_share
from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.judging import bars, ranking, written
from sim.netsparse.reproduce.subjects import Subject, sizes
from sim.reproduce.figure import Claim, Figure, Panel, by_paper

NEAR = 0.25  #: relative difference within which a number counts as the paper's
FIFTH = 0.2  #: the same for what nodes of a rack share

REMARKS = {
    "queen": "no size of this family has both the paper's destinations and its SU",
    "stokes": "blocks of three lines of a regular box bring SU and SA near the paper's, and the"
    " pattern's symmetry to that of the real matrix, but a node then reads from four others",
}


@dataclass(frozen=True)
class Shape:
    """Holds the three numbers of a matrix from which Table 1 follows."""

    nonzeros: float  #: nonzeros of a row
    remote: float  #: share of the nonzeros that is remote
    useful: float  #: useful transfers of a row

    @classmethod
    def of_paper(cls, matrix: paper.Matrix) -> "Shape":
        """Return those of the paper's matrix, by its tables 1 and 6."""
        useful = (paper.NODES - 1) / (matrix.su + 1)
        nonzeros = matrix.nonzeros / matrix.rows
        return cls(nonzeros, (matrix.sa + 1) * useful / nonzeros, useful)

    @classmethod
    def of(cls, subject: Subject) -> "Shape":
        """Return those of our matrix, counted."""
        result = subject.redundancy
        return cls(result.nonzeros_per_row, result.share_remote, result.useful / result.rows)

    def against(self, other: "Shape") -> str:
        """Return each number as a share of the other's, in words."""
        return (
            f"nonzeros of a row x {self.nonzeros / other.nonzeros:.2f},"
            f" share remote x {self.remote / other.remote:.2f},"
            f" useful transfers of a row x {self.useful / other.useful:.2f}"
        )


@cache
def run_length(subject: Subject) -> float:
    """Return the mean number of consecutive remote nonzeros of a node that one node owns."""
    matrix = subject.matrix
    partition = subject.partition
    count = runs = 0
    for node in range(subject.nodes):
        idxs = partition.idx_stream(matrix, node)
        owners = partition.owner(idxs[~partition.is_local(idxs, node)])
        count += owners.size
        runs += int(np.count_nonzero(np.diff(owners))) + bool(owners.size)
    return count / runs if runs else 0.0


def setting(subjects: Sequence[Subject]) -> str:
    """Return the matrices and their sizes, in words."""
    return f"{subjects[0].nodes} nodes, equal blocks of rows, no hardware. {sizes(subjects)}"


def near(own: float, papers: float, part: float = NEAR) -> bool:
    """Return whether a number is within a part of the paper's, a quarter if none is given."""
    return abs(own - papers) <= part * papers


def all_near(text: str, subjects: Sequence[Subject], name: str) -> Claim:
    """Return the claim that each matrix has the paper's number; its text says why one has not."""
    apart = []
    for each in subjects:
        own, papers = getattr(each.redundancy, name), getattr(each.paper, name)
        if not near(own, papers):
            why = Shape.of(each).against(Shape.of_paper(each.paper))
            apart.append(f"{each.family} {written(own, '.3g')} against {papers:g} ({why})")
    return by_paper(f"{text} within {NEAR:.0%}", not apart, "; ".join(apart) or "all are")


def shared_by_chance(subject: Subject) -> float:
    """Return the most that nodes of a rack share if each nonzero is remote independently.

    A useful PR is shared if its column has a further remote nonzero, of the same rack. In a column
    of d nonzeros that is at most 1 - (1 - r)^(d - 1), with r the share of nonzeros that is remote.
    """
    nonzeros = np.bincount(subject.matrix.indices)
    alone = (1 - subject.redundancy.share_remote) ** (nonzeros - 1.0)
    return 1 - float(np.average(alone, weights=nonzeros))


def mean_of_prs(subjects: Sequence[Subject], shares: Mapping[str, float]) -> float:
    """Return the mean of the matrices' shares, weighted by the useful PRs of the paper's."""
    weights = [each.paper.rows * Shape.of_paper(each.paper).useful for each in subjects]
    return float(np.average([shares[each.family] for each in subjects], weights=weights))


def sharing(subjects: Sequence[Subject]) -> str:
    """Return why the matrices do not all share what the paper's do in the mean, in words."""
    europe = next(each for each in subjects if each.family == "europe")
    return (
        "The paper prints the mean of what nodes of a rack share, not what they share of each"
        " matrix. If each nonzero of a column is remote independently of the others, nodes of a"
        f" rack share no more than {shared_by_chance(europe):.1%} of the PRs of europe, and real"
        " road maps share less than that (`--matrix europe=FILE` counts both for one). With so"
        " little for europe, the paper's mean is not one over five equal matrices, but can be one"
        " over all their PRs."
    )


def redundancy_figure(subjects: Sequence[Subject]) -> Figure:
    """Return table 1."""
    rows, shown = [], []
    for each in subjects:
        result, own, papers = each.redundancy, Shape.of(each), Shape.of_paper(each.paper)
        rows.append(
            {
                "matrix": each.family,
                "source": each.text,
                "rows": result.rows,
                "nonzeros": result.nonzeros,
                "scale": each.scale,
                "su": result.su,
                "su_paper": each.paper.su,
                "sa": result.sa,
                "sa_paper": each.paper.sa,
                "nonzeros_per_row": own.nonzeros,
                "nonzeros_per_row_paper": papers.nonzeros,
                "share_remote": own.remote,
                "share_remote_paper": papers.remote,
                "useful_per_row": own.useful,
                "useful_per_row_paper": papers.useful,
                "share_shared": result.share_shared,
            }
        )
        shown.append(
            {
                "matrix (ours / paper)": each.family,
                "SU": f"{result.su:,.0f} / {each.paper.su:,g}",
                "SA": f"{result.sa:.2f} / {each.paper.sa:g}",
                "nonzeros of a row": f"{own.nonzeros:.1f} / {papers.nonzeros:.1f}",
                "share remote": f"{own.remote:.3f} / {papers.remote:.3f}",
                "useful of a row": f"{own.useful:.4f} / {papers.useful:.4f}",
                "shared in a rack (ours)": f"{result.share_shared:.1%}",
            }
        )
    su = {each.family: each.redundancy.su for each in subjects}
    sa = {each.family: each.redundancy.sa for each in subjects}
    mean = sum(su.values()) / len(su)
    shared = {each.family: each.redundancy.share_shared for each in subjects}
    mean_shared = sum(shared.values()) / len(shared)
    return Figure(
        name="redundancy",
        title="Redundant transfers of sparsity unaware and aware communication",
        source="section 3, table 1",
        quote="On average, 720 redundant transfers are generated for every useful one. [...] The"
        " second row of Table 1 shows that, with the exception of the europe matrix, the SA"
        " approach can also lead to redundant transfers.",
        setting=setting(subjects),
        rows=rows,
        shown=shown,
        panels=[
            Panel("SU", bars(su, {each.family: each.paper.su for each in subjects})),
            Panel("SA", bars(sa, {each.family: each.paper.sa for each in subjects})),
        ],
        claims=[
            by_paper(
                f"{paper.SU_MEAN} redundant transfers for a useful one under SU, on average,"
                f" within {NEAR:.0%}",
                near(mean, paper.SU_MEAN),
                f"{mean:.0f}",
            ),
            all_near("SU of each matrix", subjects, "su"),
            all_near("SA of each matrix", subjects, "sa"),
            by_paper(
                "all but europe have redundant transfers under SA, too",
                all((value > 1) == (name != "europe") for name, value in sa.items()),
                ", ".join(f"{name} {value:.2f}" for name, value in sa.items()),
            ),
            ranking("the same order by SU", su, {each.family: each.paper.su for each in subjects}),
            by_paper(
                f"{paper.SHARED_IN_RACK:.0%} of the useful PRs are for properties that several"
                f" nodes of a rack of {RACK} want, on average, within {FIFTH:.0%}",
                near(mean_shared, paper.SHARED_IN_RACK, FIFTH),
                f"{mean_shared:.0%}: "
                + ", ".join(f"{name} {value:.1%}" for name, value in shared.items())
                + "; weighted by the PRs of the paper's matrices"
                + f" {mean_of_prs(subjects, shared):.0%}",
            ),
        ],
        note=sharing(subjects),
    )


def headers_figure() -> Figure:
    """Return table 3."""
    rows = [
        {
            "K": elements,
            "share": 100 * header_share(elements),
            "share_paper": papers,
            "share_10_prs": 100 * header_share(elements, 10),
        }
        for elements, papers in paper.HEADER_SHARES.items()
    ]
    apart = max(abs(row["share"] - row["share_paper"]) for row in rows)

    def draw(axes: Axes) -> None:
        sizes = [row["K"] for row in rows]
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.set_xlabel("K")
        axes.set_ylabel("headers, % of the traffic")
        axes.plot(sizes, [row["share_paper"] for row in rows], "o", label="paper")
        axes.plot(sizes, [row["share"] for row in rows], label="ours, one PR a packet")
        axes.plot(sizes, [row["share_10_prs"] for row in rows], ":", label="ours, 10 PRs a packet")

    return Figure(
        name="headers",
        title="Headers' share of the traffic",
        source="section 3, table 3",
        quote="For low K, this contribution is as high as 97.6%.",
        setting="A read and its response, by the fields of figure 6: no hardware.",
        rows=rows,
        shown=[
            {
                "K": row["K"],
                "ours, %": f"{row['share']:.1f}",
                "paper, %": row["share_paper"],
                "ours with 10 PRs a packet, %": f"{row['share_10_prs']:.1f}",
            }
            for row in rows
        ],
        panels=[Panel("headers' share", draw)],
        claims=[
            by_paper(
                "headers' share of SA's traffic, within 1 % of the traffic",
                apart <= 1,
                f"at most {apart:.2f} % apart",
            )
        ],
        note="The paper's figures are 160 / (160 + 4 K), a read and a response of 80 bytes of"
        " headers each. Ours have 82: the concatenation layer has 14 bytes, the sum of the fields"
        " in figure 6.",
    )


def destinations_figure(subjects: Sequence[Subject]) -> Figure:
    """Return table 4."""
    own = {each.family: each.redundancy.destinations for each in subjects}
    papers = {each.family: each.paper.destinations for each in subjects}
    rows = [
        {
            "matrix": each.family,
            "source": each.text,
            "destinations": own[each.family],
            "destinations_paper": papers[each.family],
            "mean_run": run_length(each),
        }
        for each in subjects
    ]
    apart = [each for each in subjects if not near(own[each.family], papers[each.family])]
    why = "; ".join(
        f"{each.family} {own[each.family]:.2f} against {papers[each.family]:g}: runs of"
        f" {run_length(each):.1f} remote nonzeros have one owner"
        + (f", {REMARKS[each.family]}" if each.generated and each.family in REMARKS else "")
        for each in apart
    )
    return Figure(
        name="destinations",
        title="Temporal remote destination locality",
        source="section 3, table 4",
        quote="for queen, on average, all 64 consecutive PRs from a source node are directed to the"
        " same destination node (out of the 127 possible destination nodes). [...] even in europe,"
        " 64 consecutive PRs have only 7.4 different destinations out of the 127 possible ones.",
        setting=f"Owners of {WINDOW} consecutive remote nonzeros of a node, mean of all full"
        f" windows. {setting(subjects)}",
        rows=rows,
        shown=[
            {
                "matrix": row["matrix"],
                "ours": f"{row['destinations']:.2f}",
                "paper": row["destinations_paper"],
                "remote nonzeros in a run to one owner": f"{row['mean_run']:.1f}",
            }
            for row in rows
        ],
        panels=[Panel("destinations of 64 PRs", bars(own, papers, logarithmic=False))],
        claims=[
            by_paper(f"destinations of each matrix within {NEAR:.0%}", not apart, why or "all are"),
            by_paper(
                f"{WINDOW} PRs go to few nodes: at most a tenth of the others",
                max(own.values()) <= (subjects[0].nodes - 1) / 10,
                f"at most {max(own.values()):.2f}",
            ),
            ranking("the same order of the matrices", own, papers),
        ],
    )


#: What makes each figure.
OF_MATRICES: Mapping[str, Callable[[Sequence[Subject]], Any]] = {
    "redundancy": redundancy_figure,
    "headers": lambda _: headers_figure(),
    "destinations": destinations_figure,
}
