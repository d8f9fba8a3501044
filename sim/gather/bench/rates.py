"""Measures rows from host memory over PCI Express, beside arithmetic and the paper's figures."""

from collections.abc import Callable
from statistics import fmean

from hdl.gather.params import ReadOrder
from sim.bench.limits import Limit, Row
from sim.gather.rates import ORDERS, Asked, Measured, measure
from sim.gather.surroundings.gather_on_host import GatherOnHostParams
from sim.golden.pcie_link import BEST_CASE, LINK_BYTES, traffic

SIZES = (1028, 1044)  #: bytes of rows, of Figure 8
#: least share of the best case, and what the paper has of its own link (Figure 8)
LEAST = {
    ReadOrder.MERGED: (0.97, "not in the paper"),
    ReadOrder.ALIGNED: (0.88, "88-93 % in the paper"),
    ReadOrder.NAIVE: (0.78, "78-82 % in the paper"),
}
SMALL = {64: None, 128: Limit(0.98, at_least=True)}  #: of what the headers leave
UNDER_WAY = (8, 16, 32, 64, 128, 256)  #: reads
CLOCK_HZ = 250e6
HARDWARE = GatherOnHostParams()


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Measure orders of reads, small rows, and limits of reads under way, on Gen3 x16."""
    progress("simulator of a gather and a host")
    sized = [Asked(row_bytes=size, order=order, rows=400) for order in LEAST for size in SIZES]
    small = [Asked(row_bytes=size, rows=2000) for size in SMALL]
    limited = [
        Asked(row_bytes=1028, order=ReadOrder.ALIGNED, rows=150, reads=most) for most in UNDER_WAY
    ]
    found = measure(HARDWARE, [*sized, *small, *limited])
    ends = len(sized), len(sized) + len(small)
    return [
        *(
            order_row([one for one in found[: ends[0]] if one.asked.order is order])
            for order in LEAST
        ),
        *map(small_row, found[ends[0] : ends[1]]),
        *map(limit_row, found[ends[1] :]),
    ]


def order_row(found: list[Measured]) -> Row:
    """Return the share of the link's best case of rows of about 1 KB, read in one order."""
    order = found[0].asked.order
    least, paper = LEAST[order]
    sizes = [one.asked.row_bytes for one in found]
    models = [traffic(ORDERS[order], size) for size in sizes]
    return Row(
        what=f"rows of {sizes[0]:,} to {sizes[-1]:,} B, {order.name.lower()}",
        value=fmean(one.share for one in found),
        unit="of the best case",
        limit=Limit(least, at_least=True),
        note=f"{', '.join(f'{one.share:.1%}' for one in found)};"
        f" {fmean(model.share for model in models):.1%} by arithmetic,"
        f" {fmean(model.requests for model in models):.1f} reads a row; {paper}",
    )


def small_row(found: Measured) -> Row:
    """Return the share of what the headers of small rows leave."""
    asked = found.asked
    tags = HARDWARE.gather.reads.tags
    carried = found.counts["down"] / asked.rows / found.link_bytes_per_cycle  # cycles a row
    reads = tags * carried / asked.latency_cycles
    return Row(
        what=f"rows of {asked.row_bytes} B, merged",
        value=found.of_headers,
        unit="of what headers leave",
        limit=SMALL[asked.row_bytes],
        note=f"{min(1, reads):.1%} is what {tags} tags allow in a round trip of"
        f" {asked.latency_cycles / CLOCK_HZ * 1e6:.1f} us",
    )


def limit_row(found: Measured) -> Row:
    """Return the bytes of rows a second while so many reads are under way (Figure 10)."""
    asked = found.asked
    model = traffic(ORDERS[asked.order], asked.row_bytes)
    whole = model.share * float(BEST_CASE) * LINK_BYTES
    seconds = asked.latency_cycles / CLOCK_HZ
    most = min(whole, asked.reads * asked.row_bytes / model.requests / seconds)
    return Row(
        what=f"rows of {asked.row_bytes:,} B, aligned, {asked.reads} reads under way",
        value=found.bytes_per_cycle * CLOCK_HZ / 1e9,
        unit="GB/s",
        note=f"{most / 1e9:.2f} by arithmetic",
    )
