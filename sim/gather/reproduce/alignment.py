"""Reproduces Figure 8: what rows that do not begin at lines leave of a link's bandwidth."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes

from hdl.gather.params import ReadOrder
from sim.gather.rates import Measured, Requested
from sim.gather.reproduce import paper
from sim.gather.reproduce.paper import gathered
from sim.gather.reproduce.points import BEST, CLOCK_HZ, COLOURS, TAGS, least_of, return_path
from sim.gather.reproduce.requested import GatherRequest
from sim.reproduce.figure import Claim, Figure, Panel, Rows, by_paper, by_us, rows_with

SIZES = range(1024, 1045, 4)  #: bytes of rows
QUICK_SIZES = (1024, 1028, 1044)
#: in the order of the picture, and what the paper has for rows that are no multiple of a line
PAPERS: Mapping[ReadOrder, tuple[float, float] | None] = {
    ReadOrder.NAIVE: paper.NAIVE,
    ReadOrder.ALIGNED: paper.ALIGNED,
    ReadOrder.MERGED: None,
}
SHORT_TRIP = 1.2e-6  #: seconds: a round trip for which there are tags enough
ROUNDING = 0.01  #: of a share: the paper's limits are whole percents, from the mean of many


def points(requested: GatherRequest, quick: bool) -> list[Requested]:
    """Return each size in each order; and naive ones again, with a shorter round trip."""
    rows = 200 if quick else 800
    sizes = QUICK_SIZES if quick else SIZES
    latency = return_path(requested.round_trip)
    usual = [
        Requested(row_bytes=size, order=order, rows=rows, latency_cycles=latency)
        for order, size in product(PAPERS, sizes)
    ]
    short = round(SHORT_TRIP * CLOCK_HZ)
    naive = [item for item in usual if item.order is ReadOrder.NAIVE]
    return [*usual, *(replace(item, latency_cycles=short) for item in naive)]


def figure(requested: GatherRequest, result: Sequence[Measured]) -> Figure:
    """Return shares and bandwidths beside arithmetic and the paper's."""
    rows = [row(requested, item) for item in result]
    usual = rows[: len(rows) * len(PAPERS) // (len(PAPERS) + 1)]
    dma = gathered(BEST, requested.memory)
    papers_dma = gathered(paper.MEMCPY, paper.MEMORY)
    return Figure(
        name="alignment",
        title="Rows that do not begin at lines",
        source="section 4.2, figure 8",
        quote="With more misaligned accesses, the efficiency of the naive zero-copy implementation"
        " drops to 78-82% while the optimized zero-copy implementation can achieve 88-93% of"
        " efficiency. [...] the effective bandwidth of the DMA-based approach is only about half of"
        " the zero-copy approaches as it requires a long CPU gathering process.",
        setting=f"{result[0].requested.rows} rows, packed back to back, picked at random, through"
        f" the RTL of the gather's datapath with {TAGS} tags at 250 MHz; Gen3 x16, of which"
        f" completions of 256 bytes leave {BEST / 1e9:.2f} GB/s, and a round trip of"
        f" {requested.round_trip:g} us. *Naive* and *aligned* are the paper's kernels without and"
        " with its circular shift, *merged* is ours. The paper's shares are of its copy by DMA,"
        " 25.8 GB/s; ours of the completions of 256 bytes.",
        rows=rows,
        shown=list(shown(usual)),
        panels=[
            Panel("effective bandwidth, Gen3 x16", lambda axes: draw_bandwidth(axes, usual, dma)),
            Panel("share of the link's best case", lambda axes: draw_share(axes, usual)),
        ],
        claims=list(claims(rows[: len(usual)], rows[len(usual) :], dma, papers_dma)),
        note=note(dma, papers_dma),
    )


def row(requested: GatherRequest, item: Measured) -> dict[str, Any]:
    """Return what is known of one point."""
    order, size = item.requested.order, item.requested.row_bytes
    model = item.requested.model
    papers = PAPERS[order]
    if size % 128 == 0 and papers:
        papers = (paper.PERFECT, paper.PERFECT)
    by_tags = TAGS * size / model.requests / item.requested.latency_cycles * CLOCK_HZ / BEST
    return {
        "row_bytes": size,
        "order": order.name.lower(),
        "round_trip_us": round(item.requested.latency_cycles / CLOCK_HZ * 1e6, 3),
        "rtl_gb_per_s": round(item.bytes_per_cycle * CLOCK_HZ / 1e9, 3),
        "rtl_share": round(item.share, 4),
        "rtl_reads_a_row": item.counts["reads"] / item.requested.rows,
        "rtl_link_bytes_a_row": item.counts["down"] / item.requested.rows,
        "rtl_payload_a_row": item.counts["payload"] / item.requested.rows,
        "model_share_of_headers": round(model.share, 4),
        "model_share_of_tags": round(by_tags, 4),
        "model_reads_a_row": model.requests,
        "paper_share_low": papers[0] if papers else "",
        "paper_share_high": papers[1] if papers else "",
        "dma_model_gb_per_s": round(gathered(BEST, requested.memory) / 1e9, 3),
    }


def shown(rows: Rows) -> Iterator[dict[str, str]]:
    """Yield the lines of the page's table."""
    for item in rows:
        low, high = item["paper_share_low"], item["paper_share_high"]
        span = "-" if low == "" else f"{low:.1%}" if low == high else f"{low:.0%} to {high:.0%}"
        yield {
            "row": f"{item['row_bytes']:,} B",
            "order": item["order"],
            "RTL": f"{item['rtl_gb_per_s']:.2f} GB/s, {item['rtl_share']:.1%}",
            "headers leave": f"{item['model_share_of_headers']:.1%}",
            "tags allow": f"{min(1, item['model_share_of_tags']):.1%}",
            "paper": span,
            "reads a row": f"{item['rtl_reads_a_row']:.2f}, model {item['model_reads_a_row']:.2f}",
        }


def claims(usual: Rows, short: Rows, dma: float, papers_dma: float) -> Iterator[Claim]:
    """Yield what the paper says, judged."""

    def shares(order: ReadOrder, whole_lines: bool = False) -> list[float]:
        rows = rows_with(usual, order=order.name.lower())
        return [item["rtl_share"] for item in rows if (item["row_bytes"] % 128 == 0) == whole_lines]

    def reported(result: Sequence[float]) -> str:
        return ", ".join(f"{share:.1%}" for share in result)

    whole = [*shares(ReadOrder.NAIVE, True), *shares(ReadOrder.ALIGNED, True)]
    yield by_paper(
        "rows of 1,024 B reach about 95.1 %, in either order (within 3 points)",
        all(abs(share - paper.PERFECT) <= 0.03 for share in whole),
        reported(whole),
    )
    for order, text in ((ReadOrder.NAIVE, "naive reads 78-82 %"), (ReadOrder.ALIGNED, "88-93 %")):
        low, high = PAPERS[order] or (0, 1)
        result = shares(order)
        yield by_paper(
            f"{text} of rows of 1,028 to 1,044 B, on average"
            if order is ReadOrder.NAIVE
            else f"reads of lines {text} of them, on average",
            low <= fmean(result) <= high + ROUNDING,
            f"{fmean(result):.1%}: {reported(result)}",
        )
    merged = shares(ReadOrder.MERGED)
    what = "merged reads leave at least 97 % for every size"
    yield by_us(what, min(merged) >= 0.97, reported(merged))
    yield by_us(
        f"naive reads reach what headers leave, within a point, where a round trip of"
        f" {SHORT_TRIP * 1e6:g} us leaves tags to spare",
        all(abs(item["rtl_share"] - item["model_share_of_headers"]) <= 0.01 for item in short),
        ", ".join(
            f"{item['rtl_share']:.1%} of {item['model_share_of_headers']:.1%}" for item in short
        ),
    )
    of_paper = papers_dma / (fmean([*paper.ALIGNED]) * paper.MEMCPY)
    own = dma / (fmean(shares(ReadOrder.ALIGNED)) * BEST)
    yield by_paper(
        "DMA has only about half of the gather's bandwidth (within 10 points, the model on the"
        " paper's link)",
        abs(of_paper - paper.OF_DMA) <= 0.10,
        f"{of_paper:.0%} on the paper's link; {own:.0%} on ours, which is slower before the same"
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


def draw_bandwidth(axes: Axes, rows: Rows, dma: float) -> None:
    """Draw bandwidths by size."""
    lines(axes, rows, "rtl_gb_per_s")
    axes.axhline(dma / 1e9, color="0.4", linestyle="--", label="gathered by processor, DMA (model)")
    axes.set(ylabel="GB/s of rows", ylim=(0, 16))


def draw_share(axes: Axes, rows: Rows) -> None:
    """Draw shares by size, arithmetic as dots, and what the paper has as areas."""
    lines(axes, rows, "rtl_share", 100)
    for order, papers in PAPERS.items():
        name = order.name.lower()
        of_order, colour = rows_with(rows, order=name), COLOURS[name]
        sizes = [item["row_bytes"] for item in of_order]
        axes.plot(sizes, [100 * least_of(item) for item in of_order], "x", color=colour)
        if papers:
            axes.axhspan(100 * papers[0], 100 * papers[1], color=colour, alpha=0.15, lw=0)
    axes.plot([], [], "kx", label="arithmetic: headers, tags")
    axes.axhspan(0, 0, color="0.5", alpha=0.3, label="paper, 1,028 to 1,044 B")
    axes.set(ylabel="% of the best case", ylim=(60, 104))


def lines(axes: Axes, rows: Rows, column: str, times: int = 1) -> None:
    """Draw a line for each order: so many ``times`` a column."""
    for order, colour in COLOURS.items():
        of_order = rows_with(rows, order=order)
        sizes = [item["row_bytes"] for item in of_order]
        values = [times * item[column] for item in of_order]
        axes.plot(sizes, values, "o-", color=colour, label=f"{order}, RTL")
    axes.set(xlabel="bytes of a row", xticks=sorted({item["row_bytes"] for item in rows}))
