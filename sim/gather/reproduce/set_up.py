"""Reproduces the trade-off of section 5: from which size on a row is worth a copy of its own."""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes

from hdl.gather.params import ReadOrder
from sim.gather.rates import Measured, Requested
from sim.gather.reproduce import paper
from sim.gather.reproduce.paper import copied
from sim.gather.reproduce.points import BEST, CLOCK_HZ, return_path
from sim.gather.reproduce.requested import GatherRequest
from sim.reproduce.figure import (
    Claim,
    Figure,
    Panel,
    Rows,
    by_paper,
    by_us,
    curve,
    doubling,
    written,
)

SIZES = (64, 128, 256, 512, 1024, 2048, 4096)  #: bytes of rows
LARGEST = 16 * 1024  #: bytes of the paper's largest row
SHOWN = {
    "row": "{row_bytes:,} B",
    "gather, RTL": "{rtl_gb_per_s:.2f} GB/s, {rtl_share:.1%}",
    "headers leave": "{model_share:.1%}",
    "DMA, model": "{dma_gb_per_s:.3f} GB/s",
    "gather is faster": "{times_dma:.1f} times",
}
NEAR = 0.05  #: relative difference below which sizes or shares count as equal


def points(requested: GatherRequest, quick: bool) -> list[Requested]:
    """Return each size, merged."""
    octets = 200_000 if quick else 800_000
    return [
        Requested(
            row_bytes=size,
            order=ReadOrder.MERGED,
            rows=max(100, min(2000, octets // size)),
            latency_cycles=return_path(requested.round_trip),
        )
        for size in (SIZES[::2] if quick else SIZES)
    ]


def figure(requested: GatherRequest, result: Sequence[Measured]) -> Figure:
    """Return the gather's bandwidths beside those of a copy for each row."""
    rows = [row(item) for item in result]
    return Figure(
        name="set-up",
        title="A copy by DMA for each row",
        source="section 5",
        quote="The microbenchmark result shows that the average DMA setup time is about 3.16us in"
        " our setup, which is identical to the time of sending 85.5KB of data over PCIe 4.0 x16."
        " Therefore, if the size of individual item is larger than 85.5KB, using a series of DMA"
        " operations can be an alternative of zero-copy method.",
        setting="Merged rows at random through the RTL of the gather's datapath, Gen3 x16, a round"
        f" trip of {requested.round_trip:g} us; beside it, as a model, a copy for each row, which"
        f" the paper's {paper.SET_UP * 1e6:.2f} us precede.",
        rows=rows,
        shown=written(rows, SHOWN),
        panels=[Panel("one row after the other", lambda axes: draw(axes, rows))],
        claims=list(claims(rows)),
        note=f"{paper.SET_UP_BYTES / 1e3:g} KB in {paper.SET_UP * 1e6:g} us are"
        f" {paper.SET_UP_BYTES / paper.SET_UP / 1e9:.1f} GB/s, which is more than the"
        f" {paper.MEMCPY / 1e9:g} GB/s that the paper has measured of a copy; with those it is"
        f" {paper.SET_UP * paper.MEMCPY / 1e3:.1f} KB. A row of that size reaches half of the"
        " link's bandwidth by a copy of its own. Our link is slower, and so is the size at which"
        f" that happens: {paper.SET_UP * BEST / 1e3:.1f} KB.",
    )


def row(item: Measured) -> dict[str, Any]:
    """Return what is known of one size."""
    size = item.requested.row_bytes
    measured, dma = item.bytes_per_cycle * CLOCK_HZ, copied(size, BEST, paper.SET_UP)
    return {
        "row_bytes": size,
        "rtl_gb_per_s": round(measured / 1e9, 3),
        "rtl_share": round(item.share, 4),
        "model_share": round(item.requested.model.share, 4),
        "dma_gb_per_s": round(dma / 1e9, 4),
        "dma_paper_link_gb_per_s": round(copied(size, paper.MEMCPY, paper.SET_UP) / 1e9, 4),
        "times_dma": round(measured / dma, 2),
        "reads": item.counts["reads"],
        "link_bytes": item.counts["down"],
    }


def claims(rows: Rows) -> Iterator[Claim]:
    """Yield what the paper says, judged."""
    half = paper.SET_UP * paper.MEMCPY
    yield by_paper(
        "3.16 us are the time of 85.5 KB on the paper's link (within 5 %)",
        abs(half / paper.SET_UP_BYTES - 1) <= NEAR,
        f"{half / 1e3:.1f} KB at {paper.MEMCPY / 1e9:g} GB/s; on our link"
        f" {paper.SET_UP * BEST / 1e3:.1f} KB",
    )
    share = LARGEST / paper.SET_UP_BYTES
    yield by_paper(
        "its largest row, 16 KB, is about 18.7 % of that (within a point)",
        abs(share - 0.187) <= 0.01,
        f"{share:.1%}; a copy of it reaches {copied(LARGEST, BEST, paper.SET_UP) / BEST:.0%} of our"
        " link's best case",
    )
    least = min(item["times_dma"] for item in rows)
    yield by_us(
        "the gather is faster than a copy for each row, at every size that it takes",
        least > 1,
        f"{least:.1f} times at {max(item['row_bytes'] for item in rows):,} B and more below",
    )


def draw(axes: Axes, rows: Rows) -> None:
    """Draw both bandwidths by size, and where a copy reaches half of the link's."""
    own = {"color": "tab:green", "label": "gather, RTL, Gen3 x16"}
    curve(axes, rows, "row_bytes", "rtl_gb_per_s", **own)
    wide = [64 << k for k in range(14)]
    for link, style, name in ((BEST, "-", "Gen3"), (paper.MEMCPY, "--", "Gen4, the paper's")):
        values = [copied(size, link, paper.SET_UP) / 1e9 for size in wide]
        label = f"a copy for each row, {name} (model)"
        axes.plot(wide, values, style, color="tab:red", label=label)
        axes.axvline(paper.SET_UP * link, color="0.6", linestyle=style, lw=1)
    doubling(axes, wide[::2], "bytes of a row; vertical lines: 3.16 us of the link")
    axes.tick_params(axis="x", labelrotation=45)
    axes.set_ylabel("GB/s of rows")
