"""Draws what the bytes on the link were in a gather, beside what the model of the link says."""

from collections.abc import Mapping
from pathlib import Path

from sim.gather.workload import Gathering, GatherWorkload, Order
from sim.golden.pcie_link import traffic


def draw(
    path: Path, title: str, asked: GatherWorkload, what: Gathering, figures: Mapping[str, float]
) -> None:
    """Draw the bytes on the link, and the share of the best case in each order of reads."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (link, share) = pyplot.subplots(1, 2, figsize=(10.4, 3.8))
    parts = {
        "rows": figures["row_bytes"],
        "idxs, and beside rows": figures["read_bytes"] - figures["row_bytes"],
        "headers": figures["link_bytes"] - figures["read_bytes"],
    }
    colours = ("tab:green", "tab:blue", "tab:orange")
    left = 0.0
    for (name, count), colour in zip(parts.items(), colours, strict=True):
        link.barh([asked.order.value], [count / 1e3], 0.4, left=left, label=name, color=colour)
        left += count / 1e3
    link.set_xlabel("kilobytes on the link from the host")
    link.set_ylim(-0.6, 0.8)
    link.legend(loc="upper center", ncols=3)
    row_bytes = what.table.shape[1]
    names = [order.value for order in Order]
    model = [100 * traffic(order.golden, row_bytes).share for order in Order]
    share.bar(names, model, 0.5, color="0.75", label="model of the link, rows alone")
    share.plot(
        [asked.order.value], [100 * figures["share_of_best"]], "o", color="tab:red", label="RTL"
    )
    share.set_ylabel("% of the best case")
    share.set_ylim(0, 120)
    share.legend(loc="upper right", ncols=2)
    figure.suptitle(f"{title}: {figures['bytes_per_second'] / 1e9:.2f} GB/s")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
