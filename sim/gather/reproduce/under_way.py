"""Reproduces counterparts of Figures 9 and 10: what a producer has by its requests under way."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import ceil
from typing import Any

from matplotlib.axes import Axes

from hdl.gather.params import ReadOrder
from sim.gather.rates import Measured, Requested
from sim.gather.reproduce import paper
from sim.gather.reproduce.points import BEST, CLOCK_HZ, COLOURS, TAGS, return_path
from sim.gather.reproduce.requested import GatherRequest
from sim.golden.pcie_link import MAX_READ, under_way
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
    written,
)

LIMITS = (8, 16, 32, 64, 96, 128, 192, 256)  #: requests under way
QUICK_LIMITS = (8, 32, 128, 256)
ROW_BYTES = 1024  #: whole lines, of which the paper's estimate is
SHOWN = {
    "link": "{link}",
    "order": "{order}",
    "requests": "{requests_allowed}",
    "measured": "{gb_per_s:.2f} GB/s",
    "of the link's best": "{of_best_case:.1%}",
    "arithmetic": "{model_gb_per_s:.2f} GB/s",
}
OF_PAPER = {"measured": "{gb_per_s:.1f} GB/s", "arithmetic": "{model_gb_per_s:.1f} GB/s"}
ORDERED = (ReadOrder.ALIGNED, ReadOrder.MERGED)
NEAR = 0.05  #: relative difference below which bandwidths count as equal


def points(requested: GatherRequest, quick: bool) -> list[Requested]:
    """Return each limit, of reads of lines and of merged ones."""
    return [
        Requested(
            row_bytes=ROW_BYTES,
            order=order,
            rows=150 if quick else 400,
            reads=most,
            latency_cycles=return_path(requested.round_trip),
        )
        for order, most in product(ORDERED, QUICK_LIMITS if quick else LIMITS)
    ]


def figure(requested: GatherRequest, result: Sequence[Measured]) -> Figure:
    """Return bandwidths beside arithmetic, and the paper's beside its own estimate."""
    rows, papers = [row(item) for item in result], [*map(paper_row, paper.BY_SHARE.items())]
    return Figure(
        name="under-way",
        title="Requests under way",
        source="section 4.3, figures 9 and 10",
        quote="With 2.5-10% of resource allocations, the zero-copy kernel cannot generate enough"
        " number of PCIe read requests and therefore the measured PCIe bandwidth is limited to"
        " 9.5-20.2GB/s. Further increasing the GPU resource allocation can make the zero-copy"
        " bandwidth to reach around 23.0GB/s, but we do not observe any significant improvement"
        " after 15% of allocation.",
        setting=f"{result[0].requested.rows} rows of {ROW_BYTES:,} bytes, picked at random, while"
        " the host takes no more than so many reads at a time; RTL of the gather's datapath,"
        f" {TAGS} tags, Gen3 x16, a round trip of {requested.round_trip:g} us. The paper gives a"
        " share of its GPU to the kernel that reads; each warp of that has a read of 128 bytes"
        " under way, which is why our hardware's setting is the number of reads.",
        rows=[*rows, *papers],
        shown=[*written(rows, SHOWN), *written(papers, SHOWN | OF_PAPER)],
        panels=[
            Panel("ours: Gen3 x16", lambda axes: draw(axes, rows)),
            Panel("the paper's: Gen4 x16", draw_paper),
        ],
        claims=list(claims(rows, requested.round_trip * 1e-6)),
        note="The paper's warps do other things than to wait for reads. Hardware has as many reads"
        " under way as it is allowed, all the time, so that ours follows the arithmetic.",
    )


def row(item: Measured) -> dict[str, Any]:
    """Return what is known of one point."""
    requested, model = item.requested, item.requested.model
    request = requested.row_bytes / model.requests
    rate = requested.reads * request / requested.latency_cycles * CLOCK_HZ
    return {
        "link": "Gen3 x16, RTL",
        "order": requested.order.name.lower(),
        "requests_allowed": requested.reads,
        "requests_at_most": item.counts["most"],
        "gb_per_s": round(item.bytes_per_cycle * CLOCK_HZ / 1e9, 3),
        "model_gb_per_s": round(min(model.share * BEST, rate) / 1e9, 3),
        "of_best_case": round(item.share, 4),
        "link_bytes": item.counts["down"],
        "reads": item.counts["reads"],
    }


def paper_row(of: tuple[float, float]) -> dict[str, Any]:
    """Return the paper's bandwidth at a share of the GPU, and its estimate of requests."""
    share, measured = of
    return {
        "link": f"Gen4 x16, the paper, {share:.1%} of the GPU",
        "order": "aligned",
        "requests_allowed": round(paper.reads_of(share)),
        "requests_at_most": "",
        "gb_per_s": measured / 1e9,
        "model_gb_per_s": round(paper_estimate(paper.reads_of(share)) / 1e9, 3),
        "of_best_case": round(measured / paper.MEMCPY, 4),
        "link_bytes": "",
        "reads": "",
    }


def paper_estimate(reads: float) -> float:
    """Return the bytes a second that the paper's arithmetic gives its link (section 3.2.2)."""
    return min(paper.PERFECT * paper.MEMCPY, reads * paper.LINE / paper.ROUND_TRIP)


def claims(rows: Rows, round_trip: float) -> Iterator[Claim]:
    """Yield what the paper says, judged; what asks for more requests than there are is left out."""
    lines, merged = (
        {item["requests_allowed"]: item["gb_per_s"] for item in rows_with(rows, order=order)}
        for order in ("aligned", "merged")
    )
    apart = {
        f"{item['order']} {item['requests_allowed']}": item["gb_per_s"] / item["model_gb_per_s"] - 1
        for item in rows
    }
    widest = max(apart, key=lambda name: abs(apart[name]))
    yield by_paper(
        "bandwidth follows requests x bytes / round trip up to the link's limit (within 5 %)",
        abs(apart[widest]) <= NEAR,
        f"farthest apart: {widest} requests, {apart[widest]:+.1%}",
    )
    estimates = {share: paper_estimate(paper.reads_of(share)) for share in paper.BY_SHARE}
    yield by_paper(
        "9.5, 20.2 and 23.0 GB/s at 2.5, 10 and 15 % of the GPU (within 10 %, the paper's own"
        " arithmetic, a read of 128 bytes for each warp, on its link)",
        all(abs(estimates[share] / of - 1) <= 0.10 for share, of in paper.BY_SHARE.items()),
        ", ".join(f"{rate / 1e9:.1f} GB/s" for rate in estimates.values()),
    )
    yield by_paper(
        "few requests limit it: the fewest give less than half of the most",
        min(lines.values()) < max(lines.values()) / 2,
        f"{min(lines.values()):.2f} of {max(lines.values()):.2f} GB/s;"
        f" the paper 9.5 of 23.0, with its fewest being about {paper.reads_of(0.025):.0f} requests",
    )
    enough = ceil(under_way(paper.LINE, round_trip))
    past = [item for most, item in lines.items() if most >= enough]
    if past:
        yield by_paper(
            f"beyond enough of them ({enough} lines of 128 B here, {paper.FULL_RATE_READS} on the"
            " paper's link) nothing changes (within 5 %)",
            max(past) / min(past) - 1 <= NEAR,
            f"{min(past):.2f} to {max(past):.2f} GB/s",
        )
    tenth, best = paper.BY_SHARE[0.1] / paper.MEMCPY, max(item["of_best_case"] for item in rows)
    yield by_paper(
        f"a producer beside the training takes 10 % of the GPU and has {tenth:.0%} of the link"
        " (figure 9); hardware of its own takes none of it, and has at least as much",
        best >= tenth,
        f"{best:.1%}",
    )
    few = ceil(under_way(MAX_READ, round_trip))
    if reached := [most for most in merged if most >= few]:
        least = min(reached)
        yield by_us(
            f"merged reads need {few}, a quarter: with {least} the link is full (within 5 %)",
            merged[least] >= (1 - NEAR) * BEST / 1e9,
            f"{merged[least]:.2f} of {BEST / 1e9:.2f} GB/s",
        )


def draw(axes: Axes, rows: Rows) -> None:
    """Draw measured bandwidths as lines, arithmetic as crosses."""
    for order in ("aligned", "merged"):
        by_limit = axes, rows_with(rows, order=order), "requests_allowed"
        curve(*by_limit, "gb_per_s", color=COLOURS[order], label=f"{order}, RTL")
        curve(*by_limit, "model_gb_per_s", "x", color="black")
    axes.plot([], [], "kx", label="arithmetic")
    doubling(axes, sorted({item["requests_allowed"] for item in rows}), "requests under way")
    axes.set(ylabel="GB/s of rows", ylim=(0, 16))


def draw_paper(axes: Axes) -> None:
    """Draw what the paper's text says, and its estimate."""
    shares = [0.01 * k for k in range(1, 26)]
    estimates = [paper_estimate(paper.reads_of(share)) / 1e9 for share in shares]
    axes.plot([100 * share for share in shares], estimates, color="0.4", label="its estimate")
    axes.plot(
        [100 * share for share in paper.BY_SHARE],
        [measured / 1e9 for measured in paper.BY_SHARE.values()],
        "s",
        color="tab:blue",
        label="measured, by its text",
    )
    axes.set_xlabel("% of the GPU that reads (1 %: 39 requests)")
    axes.set(ylabel="GB/s of rows", ylim=(0, 30))
