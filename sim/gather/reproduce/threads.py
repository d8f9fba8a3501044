"""Sets the paper's kernel, played thread by thread, beside orders that see a row by itself."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes

from sim.gather.golden.threads import Kernel, traffic_of
from sim.gather.reproduce import paper
from sim.gather.reproduce.points import BEST, COLOURS
from sim.golden.pcie_link import Order, aligned, naive, traffic
from sim.reproduce.figure import (
    Claim,
    Figure,
    Panel,
    Rows,
    by_paper,
    by_us,
    curve,
    rows_with,
    written,
)

SIZES = (132, *range(1024, 1045, 4))  #: bytes of rows
UNEVEN = SIZES[2:]  #: those of figure 8 that are no multiple of a line
#: of each way to read, whether threads shift, and the order of reads that stands for it
WAYS: Mapping[str, tuple[bool, Order]] = {"naive": (False, naive), "aligned": (True, aligned)}
PAPERS = {"naive": paper.NAIVE, "aligned": paper.ALIGNED}
STYLES = {"rows": "-", "sectors kept": "--", "sectors read again": ":"}
SHOWN = {"row": "{row_bytes:,} B", "order": "{order}"}
SHOWN |= {f"by {name}": f"{{reads, {name}:.2f}} reads, {{share, {name}:.1%}}" for name in STYLES}


def figure() -> Figure:
    """Return reads of a row, and shares of the link, in each way."""
    rows = [row(way, size) for way in WAYS for size in SIZES]
    return Figure(
        name="threads",
        title="The paper's kernel, thread by thread: by arithmetic alone",
        source="section 3.2.1, listing 2; figures 8 and 10",
        quote="The shifting stage is aware of the GPU cacheline size and shifts the memory access"
        " indices by calculating the offset between the nearest 128B aligned location and the"
        " current indexing location.",
        setting="rows of floats back to back, picked at random from a million. *By rows* is the"
        " order of reads that the RTL has, which sees each row by itself; *by threads* plays"
        " listing 2, whose warps of 32 threads run over the borders of rows. Sectors of 32 bytes"
        " that the warp before has read are read again, or are kept.",
        rows=rows,
        shown=written(rows, SHOWN),
        panels=[
            Panel("reads of a row", partial(draw, rows=rows, value="reads")),
            Panel("share of the link's best case", partial(draw, rows=rows, value="share")),
        ],
        claims=list(claims(rows)),
        note="The paper does not say whether sectors stay in a cache between warps. Its shares for"
        " rows of 1,028 to 1,044 bytes are near those of kept sectors, and far from those of"
        " sectors that are read again.",
    )


def row(way: str, size: int) -> dict[str, Any]:
    """Return what is known of rows of one size."""
    shifts, order = WAYS[way]
    traffics = {
        "rows": traffic(order, size),
        "sectors kept": traffic_of(Kernel(shifts, keeps=True), size),
        "sectors read again": traffic_of(Kernel(shifts, keeps=False), size),
    }
    result: dict[str, Any] = {"row_bytes": size, "order": way}
    for name, item in traffics.items():
        result[f"reads, {name}"] = round(item.requests, 3)
        result[f"share, {name}"] = round(item.share, 4)
        result[f"gb_per_s, {name}"] = round(item.share * BEST / 1e9, 3)
    return result


def claims(rows: Rows) -> Iterator[Claim]:
    """Yield what the paper says of its kernel, and what playing it shows, judged."""

    def values(way: str, value: str, sizes: Sequence[int] = UNEVEN) -> list[float]:
        return [item[value] for item in rows_with(rows, order=way) if item["row_bytes"] in sizes]

    for way, (low, high) in PAPERS.items():
        kept, again = (
            fmean(values(way, f"share, {name}")) for name in ("sectors kept", "sectors read again")
        )
        yield by_paper(
            f"{way} reads of 1,028 to 1,044 B have {low:.0%} to {high:.0%} with kept sectors, on"
            " average (within a point)",
            low - 0.01 <= kept <= high + 0.01,
            f"{kept:.1%}",
        )
        yield by_us(
            f"{way} reads have less than that if sectors are read again",
            again < low - 0.01,
            f"{again:.1%}",
        )
    again = "reads, sectors read again"
    shifted, plain = values("aligned", again, SIZES[:1]), values("naive", again, SIZES[:1])
    yield by_us(
        "the shift takes more reads than it saves for rows of 132 B, if sectors are read again",
        shifted[0] > plain[0],
        f"{shifted[0]:.2f} reads of a row, {plain[0]:.2f} without it",
    )
    whole = [item[f"reads, {name}"] for item in rows_with(rows, row_bytes=1024) for name in STYLES]
    yield by_us(
        "rows of 1,024 B, of which figure 10 is, take the same 8 reads in all",
        set(whole) == {8},
        ", ".join(f"{reads:g}" for reads in sorted(set(whole))),
    )


def draw(axes: Axes, *, rows: Rows, value: str) -> None:
    """Draw ``value`` of rows of figure 8's sizes, in each way."""
    for way in WAYS:
        near = [item for item in rows_with(rows, order=way) if item["row_bytes"] >= 1024]
        for name, style in STYLES.items():
            how = {"color": COLOURS[way], "marker": ".", "label": f"{way}, by {name}"}
            curve(axes, near, "row_bytes", f"{value}, {name}", style, **how)
        if value == "share":
            axes.axhspan(*PAPERS[way], color=COLOURS[way], alpha=0.15, lw=0)
    axes.set_xlabel("bytes of a row")
    axes.set_xticks([*SIZES[1:]])
    axes.set_ylabel({"reads": "reads of a row", "share": "share (areas: the paper)"}[value])
