"""Reproduces the data part of Figure 11: rows of the paper's data sets, by order and by GPUs."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

from matplotlib.axes import Axes

from hdl.gather.params import ReadOrder
from sim.gather.rates import Measured, Requested
from sim.gather.reproduce import paper
from sim.gather.reproduce.paper import gathered
from sim.gather.reproduce.points import BEST, CLOCK_HZ, COLOURS, return_path
from sim.gather.reproduce.requested import GatherRequest
from sim.reproduce.figure import Claim, Figure, Panel, Rows, by_paper, by_us, rows_with

CARDS = {1: "one card", 2: "two cards"}


def points(requested: GatherRequest, quick: bool) -> list[Requested]:
    """Return each data set's rows in each order."""
    rows, latency = 150 if quick else 600, return_path(requested.round_trip)
    return [
        Requested(row_bytes=4 * features, order=order, rows=rows, latency_cycles=latency)
        for features, order in product(paper.FEATURES.values(), ReadOrder)
    ]


def figure(requested: GatherRequest, result: Sequence[Measured]) -> Figure:
    """Return how long rows of data sets take, beside DMA's, and the paper's gains of trainings."""
    rows = [row(requested, item, cards) for cards, item in product(CARDS, result)]
    return Figure(
        name="training-data",
        title="The data part of trainings",
        source="section 4.4.1, figure 11",
        quote="In a single-GPU setup, the optimized zero-copy method is 16-44% faster than the"
        " DMA-based method and in a dual-GPU setup, it is 65-92% faster.",
        setting=f"{result[0].requested.rows} rows of float32 of each data set, packed back to"
        " back, picked at random, through the RTL of the gather's datapath; Gen3 x16, a round trip"
        f" of {requested.round_trip:g} us. Two cards have twice the bandwidth of one, as far as"
        " host memory carries it (*Sizes of rows* measures that). *On the paper's links* are the"
        f" RTL's shares of the best case, of {paper.MEMCPY / 1e9:g} GB/s a link. The paper's figure"
        " is the time of a whole training; here is what its rows take. DMA is a model.",
        rows=rows,
        shown=list(shown(rows)),
        panels=[Panel(name, partial(draw, rows=rows, cards=k)) for k, name in CARDS.items()],
        claims=list(claims(rows)),
        note="A training also computes, so that it gains less than its rows do; the rest of a"
        " training is not here. A naive kernel does not lose to DMA on one GPU for its data: the"
        " paper says that it blocks the training's kernels (3.2.2), as hardware does not.",
    )


def row(requested: GatherRequest, item: Measured, cards: int) -> dict[str, Any]:
    """Return what is known of a data set's rows in one order on one card or two."""
    size, order = item.requested.row_bytes, item.requested.order.name.lower()
    rate = min(cards * item.bytes_per_cycle * CLOCK_HZ, requested.memory)
    dma = gathered(BEST, requested.memory, cards)
    papers_dma = gathered(paper.MEMCPY, paper.MEMORY, cards)
    low, high = paper.GAINS.get((order, cards), (None, None))
    return {
        "data_set": next(name for name, k in paper.FEATURES.items() if 4 * k == size),
        "row_bytes": size,
        "order": order,
        "cards": cards,
        "rtl_us_for_1000_rows": round(1e9 * size / rate, 2),
        "dma_us_for_1000_rows": round(1e9 * size / dma, 2),
        "times_dma": round(rate / dma, 3),
        "times_dma_paper_links": round(cards * item.share * paper.MEMCPY / papers_dma, 3),
        "paper_training_low": low,
        "paper_training_high": high,
    }


def shown(rows: Rows) -> Iterator[dict[str, str]]:
    """Yield the lines of the page's table."""
    for item in rows:
        low, high = item["paper_training_low"], item["paper_training_high"]
        yield {
            "data set": f"{item['data_set']}, {item['row_bytes']:,} B, {CARDS[item['cards']]}",
            "order": item["order"],
            "1,000 rows, RTL": f"{item['rtl_us_for_1000_rows']:.1f} us",
            "by DMA, model": f"{item['dma_us_for_1000_rows']:.1f} us",
            "times DMA": f"{item['times_dma']:.2f}",
            "on the paper's links": f"{item['times_dma_paper_links']:.2f}",
            "paper, a whole training": f"{low:.2f} to {high:.2f}" if low else "-",
        }


def claims(rows: Rows) -> Iterator[Claim]:
    """Yield what the paper says, judged by the time of rows alone."""
    needed = 3 * paper.MEMCPY
    yield by_paper(
        "DMA at the rate of one link needs 77.4 GB/s of host memory, which has 59",
        round(needed / 1e8) == 774 and needed > paper.MEMORY,
        f"{needed / 1e9:.1f} GB/s",
    )
    first, second = (gathered(paper.MEMCPY, paper.MEMORY, cards) for cards in CARDS)
    low, high = paper.SECOND_GPU
    yield by_paper(
        f"a second GPU makes DMA {low:.0%} to {high:.0%} faster (within 10 points, rows alone)",
        low - 0.1 <= second / first - 1 <= high + 0.1,
        f"{second / first - 1:.0%}",
    )
    for (order, cards), (low, high) in paper.GAINS.items():
        own = rows_with(rows, order=order, cards=cards)
        gains = [item["times_dma_paper_links"] for item in own]
        rule = "gain at least that" if high > 1 else "lose, too"
        yield by_paper(
            f"trainings with {order} reads on {CARDS[cards]} are {low:.2f} to {high:.2f} times as"
            f" fast as with DMA (rows alone {rule})",
            min(gains) >= high if high > 1 else max(gains) < 1,
            f"rows: {min(gains):.2f} to {max(gains):.2f} times",
        )
    least = min(item["times_dma"] for item in rows_with(rows, order="merged"))
    yield by_us("merged reads beat DMA on our links, too", least > 1, f"at least {least:.2f} times")


def draw(axes: Axes, *, rows: Rows, cards: int) -> None:
    """Draw how much faster than by DMA rows come, and the paper's trainings as areas."""
    for number, (order, colour) in enumerate(COLOURS.items()):
        own = rows_with(rows, order=order, cards=cards)
        places = [place + 0.25 * (number - 1) for place in range(len(own))]
        gains = [item["times_dma_paper_links"] for item in own]
        axes.bar(places, gains, 0.22, color=colour, label=f"{order}, rows alone")
        if (order, cards) in paper.GAINS:
            axes.axhspan(*paper.GAINS[order, cards], color=colour, alpha=0.2, lw=0)
    axes.axhspan(0, 0, color="0.5", alpha=0.3, label="the paper's trainings")
    axes.set_xticks(range(len(paper.FEATURES)), [*paper.FEATURES])
    axes.set(ylabel="times DMA, on the paper's links", ylim=(0, 4))
