"""Reproduces Figure 8: what rows that do not begin at lines leave of a link's bandwidth."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes

from hdl.gather.params import ReadOrder
from sim.gather.rates import ORDERS, Asked, Measured
from sim.gather.reproduce import paper
from sim.gather.reproduce.asked import GatherAsked
from sim.gather.reproduce.paper import gathered
from sim.gather.reproduce.points import BEST, CLOCK_HZ, TAGS, least_of, way_back
from sim.golden.pcie_link import traffic
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, by_us

SIZES = range(1024, 1045, 4)  #: bytes of rows
QUICK_SIZES = (1024, 1028, 1044)
#: in the order of the picture, and what the paper has for rows that are no multiple of a line
PAPERS: Mapping[ReadOrder, tuple[float, float] | None] = {
    ReadOrder.NAIVE: paper.NAIVE,
    ReadOrder.ALIGNED: paper.ALIGNED,
    ReadOrder.MERGED: None,
}
COLOURS = {
    ReadOrder.NAIVE: "tab:orange",
    ReadOrder.ALIGNED: "tab:blue",
    ReadOrder.MERGED: "tab:green",
}
SHORT_TRIP = 1.2e-6  #: seconds: a round trip for which there are tags enough
ROUNDING = 0.01  #: of a share: the paper's limits are whole percents, from the mean of many


def points(asked: GatherAsked, quick: bool) -> list[Asked]:
    """Return each size in each order; and naive ones again, with a shorter round trip."""
    rows = 200 if quick else 800
    sizes = QUICK_SIZES if quick else SIZES
    usual = [
        Asked(row_bytes=size, order=order, rows=rows, latency_cycles=way_back(asked.round_trip))
        for order, size in product(PAPERS, sizes)
    ]
    short = round(SHORT_TRIP * CLOCK_HZ)
    naive = [one for one in usual if one.order is ReadOrder.NAIVE]
    return [*usual, *(replace(one, latency_cycles=short) for one in naive)]


def figure(asked: GatherAsked, found: Sequence[Measured]) -> Figure:
    """Return shares and bandwidths beside arithmetic and the paper's."""
    rows = [row(asked, one) for one in found]
    usual = rows[: len(rows) * len(PAPERS) // (len(PAPERS) + 1)]
    dma = gathered(BEST, asked.memory)
    papers_dma = gathered(paper.MEMCPY, paper.MEMORY)
    return Figure(
        name="alignment",
        title="Rows that do not begin at lines",
        source="section 4.2, figure 8",
        quote="With more misaligned accesses, the efficiency of the naive zero-copy implementation"
        " drops to 78-82% while the optimized zero-copy implementation can achieve 88-93% of"
        " efficiency. [...] the effective bandwidth of the DMA-based approach is only about half of"
        " the zero-copy approaches as it requires a long CPU gathering process.",
        setting=f"{found[0].asked.rows} rows, packed back to back, picked at random, through the"
        f" RTL of the gather's datapath with {TAGS} tags at 250 MHz; Gen3 x16, of which completions"
        f" of 256 bytes leave {BEST / 1e9:.2f} GB/s, and a round trip of {asked.round_trip:g} us."
        " *Naive* and *aligned* are the paper's kernels without and with its circular shift,"
        " *merged* is ours. The paper's shares are of its copy by DMA, 25.8 GB/s; ours of the"
        " completions of 256 bytes.",
        rows=rows,
        shown=list(shown(usual)),
        panels=[
            Panel("effective bandwidth, Gen3 x16", lambda axes: draw_bandwidth(axes, usual, dma)),
            Panel("share of the link's best case", lambda axes: draw_share(axes, usual)),
        ],
        claims=list(claims(rows[: len(usual)], rows[len(usual) :], dma, papers_dma)),
        note=note(dma, papers_dma),
    )


def row(asked: GatherAsked, one: Measured) -> dict[str, Any]:
    """Return what is known of one point."""
    order, size = one.asked.order, one.asked.row_bytes
    model = traffic(ORDERS[order], size)
    papers = PAPERS[order]
    if size % 128 == 0 and papers:
        papers = (paper.PERFECT, paper.PERFECT)
    by_tags = TAGS * size / model.requests / one.asked.latency_cycles * CLOCK_HZ / BEST
    return {
        "row_bytes": size,
        "order": order.name.lower(),
        "round_trip_us": round(one.asked.latency_cycles / CLOCK_HZ * 1e6, 3),
        "rtl_gb_per_s": round(one.bytes_per_cycle * CLOCK_HZ / 1e9, 3),
        "rtl_share": round(one.share, 4),
        "rtl_reads_a_row": one.counts["reads"] / one.asked.rows,
        "rtl_link_bytes_a_row": one.counts["down"] / one.asked.rows,
        "rtl_payload_a_row": one.counts["payload"] / one.asked.rows,
        "model_share_of_headers": round(model.share, 4),
        "model_share_of_tags": round(by_tags, 4),
        "model_reads_a_row": model.requests,
        "paper_share_low": papers[0] if papers else "",
        "paper_share_high": papers[1] if papers else "",
        "dma_model_gb_per_s": round(gathered(BEST, asked.memory) / 1e9, 3),
    }


def shown(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield the lines of the page's table."""
    for one in rows:
        low, high = one["paper_share_low"], one["paper_share_high"]
        span = "-" if low == "" else f"{low:.1%}" if low == high else f"{low:.0%} to {high:.0%}"
        yield {
            "row": f"{one['row_bytes']:,} B",
            "order": one["order"],
            "RTL": f"{one['rtl_gb_per_s']:.2f} GB/s, {one['rtl_share']:.1%}",
            "headers leave": f"{one['model_share_of_headers']:.1%}",
            "tags allow": f"{min(1, one['model_share_of_tags']):.1%}",
            "paper": span,
            "reads a row": f"{one['rtl_reads_a_row']:.2f}, model {one['model_reads_a_row']:.2f}",
        }


def claims(
    usual: Sequence[Mapping[str, Any]],
    short: Sequence[Mapping[str, Any]],
    dma: float,
    papers_dma: float,
) -> Iterator[Claim]:
    """Yield what the paper says, judged."""

    def shares(order: ReadOrder, whole_lines: bool = False) -> list[float]:
        return [
            one["rtl_share"]
            for one in usual
            if one["order"] == order.name.lower() and (one["row_bytes"] % 128 == 0) == whole_lines
        ]

    def told(found: Sequence[float]) -> str:
        return ", ".join(f"{share:.1%}" for share in found)

    whole = [*shares(ReadOrder.NAIVE, True), *shares(ReadOrder.ALIGNED, True)]
    yield by_paper(
        "rows of 1,024 B reach about 95.1 %, in either order (within 3 points)",
        all(abs(share - paper.PERFECT) <= 0.03 for share in whole),
        told(whole),
    )
    for order, text in ((ReadOrder.NAIVE, "naive reads 78-82 %"), (ReadOrder.ALIGNED, "88-93 %")):
        low, high = PAPERS[order] or (0, 1)
        found = shares(order)
        yield by_paper(
            f"{text} of rows of 1,028 to 1,044 B, on average"
            if order is ReadOrder.NAIVE
            else f"reads of lines {text} of them, on average",
            low <= fmean(found) <= high + ROUNDING,
            f"{fmean(found):.1%}: {told(found)}",
        )
    merged = shares(ReadOrder.MERGED)
    yield by_us(
        "merged reads leave at least 97 % for every size",
        min(merged) >= 0.97,
        told(merged),
    )
    yield by_us(
        f"naive reads reach what headers leave, within a point, where a round trip of"
        f" {SHORT_TRIP * 1e6:g} us leaves tags to spare",
        all(abs(one["rtl_share"] - one["model_share_of_headers"]) <= 0.01 for one in short),
        ", ".join(
            f"{one['rtl_share']:.1%} of {one['model_share_of_headers']:.1%}" for one in short
        ),
    )
    of_paper = papers_dma / (fmean([*paper.ALIGNED]) * paper.MEMCPY)
    ours = dma / (fmean(shares(ReadOrder.ALIGNED)) * BEST)
    yield by_paper(
        "DMA has only about half of the gather's bandwidth (within 10 points, the model on the"
        " paper's link)",
        abs(of_paper - paper.OF_DMA) <= 0.10,
        f"{of_paper:.0%} on the paper's link; {ours:.0%} on ours, which is slower before the same"
        " memory",
    )


def note(dma: float, papers_dma: float) -> str:
    """Return what explains the differences."""
    return (
        "Naive reads are spans of 128 bytes from the row's begin on, cut at lines and widened to"
        " sectors of 32 bytes, of which none is read twice. This is the paper's own example: a row"
        " of 480 bytes at address 480 takes 8 reads, and 5 after the shift. Headers and the number"
        " of tags limit them about as much; with a round trip of"
        f" {SHORT_TRIP * 1e6:g} us the tags suffice.\n\n"
        f"DMA is a model, not measured: two more passes over host memory, then the copy:"
        f" {dma / 1e9:.1f} GB/s on our link, {papers_dma / 1e9:.1f} GB/s on the paper's."
    )


def draw_bandwidth(axes: Axes, rows: Sequence[Mapping[str, Any]], dma: float) -> None:
    """Draw bandwidths by size."""
    lines(axes, rows, lambda one: one["rtl_gb_per_s"])
    axes.axhline(dma / 1e9, color="0.4", linestyle="--", label="gathered by processor, DMA (model)")
    axes.set_ylabel("GB/s of rows")
    axes.set_ylim(0, 16)


def draw_share(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw shares by size, arithmetic as dots, and what the paper has as areas."""
    lines(axes, rows, lambda one: 100 * one["rtl_share"])
    for order, papers in PAPERS.items():
        of_order = [one for one in rows if one["order"] == order.name.lower()]
        sizes = [one["row_bytes"] for one in of_order]
        model = [100 * least_of(one) for one in of_order]
        axes.plot(sizes, model, "x", color=COLOURS[order])
        if papers:
            axes.axhspan(100 * papers[0], 100 * papers[1], color=COLOURS[order], alpha=0.15, lw=0)
    axes.plot([], [], "kx", label="arithmetic: headers, tags")
    axes.axhspan(0, 0, color="0.5", alpha=0.3, label="paper, 1,028 to 1,044 B")
    axes.set_ylabel("% of the best case")
    axes.set_ylim(60, 104)


def lines(
    axes: Axes, rows: Sequence[Mapping[str, Any]], value: Callable[[Mapping[str, Any]], float]
) -> None:
    """Draw a line for each order."""
    for order, colour in COLOURS.items():
        of_order = [one for one in rows if one["order"] == order.name.lower()]
        axes.plot(
            [one["row_bytes"] for one in of_order],
            [value(one) for one in of_order],
            "o-",
            color=colour,
            label=f"{order.name.lower()}, RTL",
        )
    axes.set_xlabel("bytes of a row")
    axes.set_xticks(sorted({one["row_bytes"] for one in rows}))
