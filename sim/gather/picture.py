"""Draws what links carried in a gather, beside what the model of the link says."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.gather.gathering import Gathering
from sim.gather.workload import GatherWorkload, Order
from sim.golden.pcie_link import BEST_CASE, traffic
from sim.harness.picture import picture

ROWS, BESIDE, HEADERS, RTL, MODEL = "tab:green", "tab:blue", "tab:orange", "tab:green", "0.8"
LEAST_SHOWN = 0.08  #: share of the bytes from which on a part has room for its own


def draw(
    path: Path,
    title: str,
    requested: GatherWorkload,
    what: Gathering,
    figures: Mapping[str, float],
    engines: Sequence[float],
    link_bytes: float,
) -> None:
    """Draw what bytes links carried, rows' share in each order of reads, and bandwidths.

    ``engines`` are bytes of rows a second of each engine; ``link_bytes`` what its link carries.
    """
    title = f"{title}: {figures['bytes_per_second'] / 1e9:.2f} GB/s"
    with picture(path, title, 3, width=4.7, width_ratios=(1.2, 1, 1)) as panels:
        draw_bytes(panels[0], figures)
        draw_orders(panels[1], requested, what.table.shape[1], figures["share_of_best"])
        draw_bandwidths(panels[2], engines, link_bytes * float(BEST_CASE))
        for axes in panels:
            axes.spines[["top", "right"]].set_visible(False)


def draw_bytes(axes: Any, figures: Mapping[str, float]) -> None:
    """Draw a bar of all bytes on links: rows, what is read beside them, headers."""
    rows, read, whole = (figures[name] for name in ("row_bytes", "read_bytes", "link_bytes"))
    parts = (
        ("rows", rows, ROWS),
        ("idxs, and what is read beside rows", read - rows, BESIDE),
        ("headers and framing", whole - read, HEADERS),
    )
    left = 0.0
    for name, count, colour in parts:
        axes.barh([0], [count / 1e3], 0.5, left=left, color=colour, label=f"{name}: {count:,.0f} B")
        if count >= LEAST_SHOWN * whole:
            middle = left + count / 2e3
            axes.text(middle, 0, f"{count / whole:.1%}", ha="center", va="center", color="white")
        left += count / 1e3
    axes.set_title("what came from the host", fontsize=10)
    axes.set(xlabel="kilobytes on links", yticks=[], ylim=(-0.5, 1.1))
    axes.legend(loc="upper left", fontsize=8, frameon=False)


def draw_orders(axes: Any, requested: GatherWorkload, row_bytes: int, share: float) -> None:
    """Draw rows' share of the link's best case: the model in each order, the RTL in one."""
    orders = list(Order)
    model = [100 * traffic(order.golden, row_bytes).share for order in orders]
    bars = axes.bar([order.value for order in orders], model, 0.6, color=MODEL, label="model, rows")
    axes.bar_label(bars, fmt="%.1f", padding=2, fontsize=8)
    place, height = orders.index(requested.order), 100 * share
    axes.bar([place], [height], 0.3, color=RTL, label="this run, RTL, with its idxs")
    axes.text(place, height / 2, f"{height:.1f}", ha="center", color="white")
    axes.set_title("rows' share of the link's best case", fontsize=10)
    axes.set(ylabel="%", ylim=(0, 130))
    axes.legend(loc="upper right", fontsize=8, frameon=False)


def draw_bandwidths(axes: Any, engines: Sequence[float], best: float) -> None:
    """Draw the bandwidth of each engine, below the best case of its link."""
    names = [f"engine {number}" for number in range(len(engines))]
    bars = axes.bar(names, [item / 1e9 for item in engines], 0.5, color=RTL, label="rows, RTL")
    axes.bar_label(bars, fmt="%.2f", label_type="center", color="white", fontsize=8)
    axes.axhline(best / 1e9, color="0.4", linestyle="--", label="best case of a link")
    axes.set_title("bandwidth of each engine", fontsize=10)
    axes.set_ylabel("GB/s")
    axes.set(xlim=(-0.7, len(engines) - 0.3), ylim=(0, 1.3 * max(best, *engines) / 1e9))
    axes.legend(loc="upper right", fontsize=8, frameon=False)
