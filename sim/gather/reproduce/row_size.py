"""Reproduces the trend of Figure 12: how much faster than by DMA rows come, by size and cards.

Each point is a run of ``ingather gather``: whole engines, on one card, or on two whose links begin
at one host memory.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from matplotlib.axes import Axes

from sim.gather.reproduce import paper
from sim.gather.reproduce.paper import gathered
from sim.gather.reproduce.points import BEST
from sim.gather.reproduce.requested import GatherRequest
from sim.gather.reproduce.runs import Figures, Point
from sim.reproduce.figure import (
    Claim,
    Figure,
    Panel,
    Rows,
    by_paper,
    by_us,
    curve,
    doubling,
    rows_with,
)

SIZES = tuple(512 << k for k in range(6))  #: bytes of rows, of the paper's 128 to 4,096 dimensions
QUICK_SIZES = (512, 16384)
CARDS = (1, 2)
CARD_BYTES = 256 * 1024  #: bytes of rows for each card
COLOURS = {1: "tab:blue", 2: "tab:green"}
NEAR = 0.05  #: relative difference below which bandwidths count as equal
NEAR_PAPER = 0.10  #: the same for a speed-up in the paper's text


def points(requested: GatherRequest, quick: bool) -> list[Point]:
    """Return each size on one card and on two; those that take longest first."""
    return [
        Point(
            row_bytes=size,
            cards=cards,
            octets=CARD_BYTES,
            memory_gigabytes=requested.memory_gigabytes,
        )
        for cards, size in product(reversed(CARDS), QUICK_SIZES if quick else SIZES)
    ]


def training(size: int, gather: float, dma: float, others: float) -> float:
    """Return how many times as fast as by DMA a training is that spends ``others`` s a row too."""
    return (others + size / dma) / (others + size / gather)


def others_of(size: int, gather: float, dma: float, speed_up: float) -> float:
    """Return the seconds for each row that give :func:`training` that speed-up."""
    return (size / dma - speed_up * size / gather) / (speed_up - 1)


#: of the paper's machine with two GPUs: the gather, DMA, and what a training spends on other things
PAPERS_GATHER = paper.PERFECT * paper.TWO_COPIES
PAPERS_DMA = gathered(paper.MEMCPY, paper.MEMORY, cards=2)
OTHERS = others_of(SIZES[0], PAPERS_GATHER, PAPERS_DMA, sum(paper.SMALL_ROWS) / 2)


def figure(requested: GatherRequest, result: Mapping[Point, Figures]) -> Figure:
    """Return bandwidths and speed-ups beside arithmetic and the paper's."""
    ordered = sorted(result, key=lambda point: (point.cards, point.row_bytes))
    rows = [row(requested, point, result[point]) for point in ordered]
    return Figure(
        name="row-size",
        title="Sizes of rows, one card and two",
        source="section 4.4.2, figure 12",
        quote="With small node feature dimensions, the zero-copy method is only 1.5-1.6x faster"
        " than the DMA-based method. However, when the node feature dimension is 4096, the"
        " zero-copy method is about 2.7x faster than the DMA-based method.",
        setting=f"{ordered[0].octets // 1024} KB of merged rows for each card, picked at random;"
        " the RTL of whole engines of the preset u280, Gen3 x16 links of their own to one host"
        f" memory that carries {requested.memory_gigabytes:g} GB/s, in one simulation with the root"
        " complex of cocotbext-pcie, from a work request to its completion. The paper's figure is"
        " the time of a whole training, ours that of the rows.",
        rows=rows,
        shown=list(shown(rows)),
        panels=[
            Panel("bandwidth of all cards", lambda axes: draw_bandwidth(axes, rows)),
            Panel("times as fast as by DMA", lambda axes: draw_speed_up(axes, rows)),
        ],
        claims=list(claims(rows)),
        note=note(requested),
    )


def row(requested: GatherRequest, point: Point, figures: Figures) -> dict[str, Any]:
    """Return what is known of one point."""
    measured = figures["bytes_per_second"]
    model = min(point.cards * BEST, requested.memory)  # merged, from whole lines on
    dma = gathered(BEST, requested.memory, point.cards)
    size = point.row_bytes
    return {
        "row_bytes": size,
        "cards": point.cards,
        "rtl_gb_per_s": round(measured / 1e9, 3),
        "rtl_link_share": round(figures["link_share"], 4),
        "rtl_memory_share": round(figures["memory_share"], 4),
        "rtl_reads": figures["reads"],
        "rtl_link_bytes": figures["link_bytes"],
        "model_gb_per_s": round(model / 1e9, 3),
        "dma_model_gb_per_s": round(dma / 1e9, 3),
        "times_dma": round(measured / dma, 3),
        "training_model": round(training(size, measured, dma, OTHERS), 3),
        "training_model_of_paper": round(training(size, PAPERS_GATHER, PAPERS_DMA, OTHERS), 3),
    }


def shown(rows: Rows) -> Iterator[dict[str, str]]:
    """Yield the lines of the page's table."""
    small, large = f"{paper.SMALL_ROWS[0]:g} to {paper.SMALL_ROWS[1]:g}", f"{paper.LARGE_ROWS:g}"
    for item in rows:
        of_paper = {SIZES[0]: small, SIZES[-1]: large}.get(item["row_bytes"], "-")
        two = item["cards"] == 2
        yield {
            "row": f"{item['row_bytes']:,} B",
            "cards": str(item["cards"]),
            "gather, RTL": f"{item['rtl_gb_per_s']:.2f} GB/s",
            "link and memory allow": f"{item['model_gb_per_s']:.2f} GB/s",
            "DMA, model": f"{item['dma_model_gb_per_s']:.2f} GB/s",
            "rows, times DMA": f"{item['times_dma']:.2f}",
            "training, model": f"{item['training_model']:.2f}",
            "model on the paper's links": f"{item['training_model_of_paper']:.2f}" if two else "-",
            "paper": of_paper if two else "-",
        }


def claims(rows: Rows) -> Iterator[Claim]:
    """Yield what the paper says, judged."""
    item, two = (rows_with(rows, cards=cards) for cards in CARDS)
    trend = [row["training_model_of_paper"] for row in two]
    yield by_paper(
        f"two GPUs: from 1.5-1.6 times with small rows to about {paper.LARGE_ROWS:g} times with 16"
        f" KB (within {NEAR_PAPER:.0%}, the model on the paper's links, set by the small rows)",
        trend == sorted(trend) and abs(trend[-1] / paper.LARGE_ROWS - 1) <= NEAR_PAPER,
        f"{trend[0]:.2f} to {trend[-1]:.2f}",
    )
    own = [row["training_model"] for row in two]
    yield by_paper(
        "the larger the rows, the more it is worth (RTL of two cards, in the model of a training)",
        own == sorted(own),
        f"{own[0]:.2f} to {own[-1]:.2f}",
    )
    yield by_us(
        "two cards gain more over DMA than one: host memory is what DMA runs out of",
        all(b["times_dma"] > a["times_dma"] for a, b in zip(item, two, strict=True)),
        f"{item[-1]['times_dma']:.2f} and {two[-1]['times_dma']:.2f} times with 16 KB",
    )
    rates = [b["rtl_gb_per_s"] / a["rtl_gb_per_s"] for a, b in zip(item, two, strict=True)]
    apart = [row["rtl_gb_per_s"] / row["model_gb_per_s"] - 1 for row in rows]
    yield by_us(
        "engines reach what links and host memory allow (within 5 %)",
        max(map(abs, apart)) <= NEAR,
        f"{min(apart):+.1%} to {max(apart):+.1%}; two are {min(rates):.2f} to {max(rates):.2f}"
        " times one",
    )


def note(requested: GatherRequest) -> str:
    """Return what explains the differences."""
    item, two = (gathered(BEST, requested.memory, cards) / 1e9 for cards in CARDS)
    return (
        "DMA is a model: all rows are read and written by the processor, then copied, by both links"
        f" at the same time if there are two: {item:.1f} and {two:.1f} GB/s here,"
        f" {PAPERS_DMA / 1e9:.1f} GB/s on the paper's two links, whose copies take half of our time"
        " while the processor's passes take the same. So rows alone can be at most"
        f" {2 * BEST / 1e9 / two:.2f} times as fast on our two links,"
        f" {PAPERS_GATHER / PAPERS_DMA:.2f} times on the paper's.\n\n"
        "A training spends time on other things too, which is why the paper's small rows gain"
        f" less. The model has one number for that: {OTHERS * 1e9:.0f} ns a row, by which rows of"
        f" {SIZES[0]} bytes are {sum(paper.SMALL_ROWS) / 2:.2f} times as fast on the paper's"
        " machine; all other sizes follow from bandwidths."
    )


def draw_bandwidth(axes: Axes, rows: Rows) -> None:
    """Draw measured bandwidths by size, and those of DMA."""
    for cards, colour in COLOURS.items():
        by_size = axes, rows_with(rows, cards=cards), "row_bytes"
        name = f"{cards} card{'s' * (cards > 1)}"
        curve(*by_size, "rtl_gb_per_s", color=colour, label=f"gather, RTL, {name}")
        curve(*by_size, "dma_model_gb_per_s", "--", color=colour, label=f"DMA (model), {name}")
        curve(*by_size, "model_gb_per_s", "x", color="black")
    axes.plot([], [], "kx", label="links and memory allow")
    finish(axes, "GB/s of rows")


def draw_speed_up(axes: Axes, rows: Rows) -> None:
    """Draw speed-ups of rows, of a training in the model, and the paper's."""
    for cards, colour in COLOURS.items():
        label = f"rows, RTL, {cards} on Gen3"
        own = rows_with(rows, cards=cards)
        curve(axes, own, "row_bytes", "times_dma", color=colour, label=label)
    two, label = (axes, rows_with(rows, cards=2), "row_bytes"), "training (model), RTL, 2 on Gen3"
    curve(*two, "training_model", "o:", color=COLOURS[2], label=label)
    curve(*two, "training_model_of_paper", "k--", label="training (model), 2 on Gen4")
    low, high = paper.SMALL_ROWS
    middle = (low + high) / 2
    axes.errorbar([SIZES[0]], [middle], yerr=[(high - low) / 2], fmt="s", color="tab:red")
    axes.plot([SIZES[-1]], [paper.LARGE_ROWS], "s", color="tab:red", label="the paper, by its text")
    finish(axes, "times as fast as by DMA")


def finish(axes: Axes, label: str) -> None:
    """Name the axes, and leave room for what lines are."""
    doubling(axes, SIZES, "bytes of a row")
    axes.set(ylabel=label, ylim=(0, 1.6 * axes.get_ylim()[1]))
