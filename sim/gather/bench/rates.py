"""Measures rows from host memory over PCI Express, beside arithmetic and the paper's figures."""

from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

from hdl.gather.params import ReadOrder
from sim.bench.limits import Limit, Row
from sim.gather.rates import Measured, Requested, measure, posts_of
from sim.gather.surroundings.gather_on_host import GatherOnHostParams
from sim.golden.pcie_link import BEST_CASE, LINK_BYTES, WRITE_HEADER
from sim.surroundings.pcie.params import CLOCK_HZ

SIZES = range(1028, 1045, 4)  #: bytes of rows, of Figure 8
#: least share of the best case, its statistic over the sizes, and what the paper has for its link
LEAST: dict[ReadOrder, tuple[float, Callable[[list[float]], float], str]] = {
    ReadOrder.MERGED: (0.97, min, "not in the paper"),
    ReadOrder.ALIGNED: (0.88, min, "88-93 % in the paper"),
    ReadOrder.NAIVE: (0.78, fmean, "on average; 78-82 % in the paper"),
}
OF_HEADERS = {64: 0.95, 128: 0.98}  #: least share of what the headers of small rows leave
OF_TAGS = 0.95  #: least share of what tags allow, where that is less
SHORT_TRIP = 300  #: cycles: a round trip for which 256 tags are enough, whatever the order
OF_ARITHMETIC = 0.95  #: least share of what a limited number of reads under way can carry
UNDER_WAY = (8, 16, 32, 64, 128, 256)  #: limits of reads under way
#: cycles: a round trip for which tags are enough whatever the rows, at an idx a cycle
SHORTEST_TRIP = 50
HARDWARE = GatherOnHostParams()
POSTS = replace(HARDWARE, posts=True)
PAYLOADS = (1, 2)  #: codes of the largest payload of hosts: 256 and 512 bytes
OF_BEATS = 0.95  #: least share of the bytes that beats of RQ leave to rows that are posted
KEEPS = replace(HARDWARE, gather=replace(HARDWARE.gather, kept_parts=1024))


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Measure orders of reads, small rows, limits of reads under way, a build that keeps rows, and
    one that posts them to the host, on Gen3 x16.
    """
    progress("simulator of a gather and a host")
    sized = [Requested(row_bytes=size, order=order, rows=400) for order in LEAST for size in SIZES]
    naive = [item for item in sized if item.order is ReadOrder.NAIVE]
    short = [replace(item, latency_cycles=SHORT_TRIP) for item in naive]
    small = [Requested(row_bytes=size, rows=2000) for size in OF_HEADERS]
    aligned = Requested(row_bytes=1028, order=ReadOrder.ALIGNED, rows=150)
    limited = [replace(aligned, reads=most) for most in UNDER_WAY]
    tiny = Requested(row_bytes=4, rows=2000, latency_cycles=SHORTEST_TRIP)
    requested = [*sized, *short, *small, *limited, tiny]
    result = dict(zip(requested, measure(HARDWARE, requested), strict=True))
    progress("simulator of a build that keeps rows")
    both = [tiny, *small, sized[0]]
    stored = measure(KEEPS, both)
    progress("simulator of a build that posts rows")
    posted = [Requested(row_bytes=SIZES[0], rows=400, payload=code) for code in PAYLOADS]
    posts = measure(POSTS, posted)
    alone = result[replace(posted[0], payload=1)]
    return [
        *(order_row([result[item] for item in sized if item.order is order]) for order in LEAST),
        short_row([result[item] for item in short]),
        *(small_row(result[item]) for item in small),
        *(limit_row(result[item]) for item in limited),
        *(kept_row(result[first], second) for first, second in zip(both, stored, strict=True)),
        *(posted_row(item, alone) for item in posts),
    ]


def posted_row(item: Measured, alone: Measured) -> Row:
    """Return the rate of rows that are posted to the host, of what the link and RQ leave.

    The rows' packets share the beats of RQ with the reads: a packet takes whole beats, with a
    header of 16 bytes. What they leave of it, or what the reads alone bring, is the most.
    """
    requested, beat = item.requested, HARDWARE.gather.reads.data_bits // 8
    packets = [-(-(4 * dwords + WRITE_HEADER) // beat) for dwords in posts_of(requested)]
    beats = item.counts["reads"] + sum(packets)
    of_beats = requested.rows * requested.row_bytes / beats
    most = min(of_beats, alone.bytes_per_cycle)
    return Row(
        what=f"rows of {requested.row_bytes:,} B posted to the host, payloads of"
        f" {128 << requested.payload} B",
        value=item.bytes_per_cycle / most,
        unit="of what is left",
        limit=Limit(OF_BEATS, at_least=True),
        note=f"{item.bytes_per_cycle:.1f} B a cycle; {of_beats:.1f} by the beats of RQ, which reads"
        f" and writes share; {alone.bytes_per_cycle:.1f} by reads alone",
    )


def reported(shares: list[float]) -> str:
    """Return shares in words."""
    return ", ".join(f"{share:.1%}" for share in shares)


def order_row(result: list[Measured]) -> Row:
    """Return the share of the link's best case of rows of about 1 KB, read in one order."""
    order = result[0].requested.order
    least, of_all, paper = LEAST[order]
    shares = [item.share for item in result]
    models = [item.requested.model for item in result]
    return Row(
        what=f"rows of {SIZES[0]:,} to {SIZES[-1]:,} B, {order.name.lower()}",
        value=of_all(shares),
        unit="of the best case",
        limit=Limit(least, at_least=True),
        note=f"{reported(shares)}; headers leave {fmean(model.share for model in models):.1%},"
        f" {fmean(model.requests for model in models):.1f} reads a row; {paper}",
    )


def short_row(result: list[Measured]) -> Row:
    """Return what naive reads have of what their headers leave, with tags to spare.

    With the usual round trip they need all tags, and end below what either tags or headers allow.
    """
    shares = [item.of_headers for item in result]
    trip = result[0].requested.latency_cycles / CLOCK_HZ
    return Row(
        what=f"rows of {SIZES[0]:,} to {SIZES[-1]:,} B, naive, {trip * 1e6:.1f} us away",
        value=min(shares),
        unit="of what headers leave",
        limit=Limit(0.98, at_least=True),
        note=f"{reported(shares)}; {reported([item.share for item in result])} of the best case,"
        " where requests wait for no tag",
    )


def small_row(result: Measured) -> Row:
    """Return the share of what the headers of small rows leave."""
    requested = result.requested
    tags = HARDWARE.gather.reads.tags
    carried = result.counts["down"] / requested.rows / result.link_bytes_per_cycle  # cycles a row
    reads = min(1, tags * carried / requested.latency_cycles)
    mark = OF_HEADERS[requested.row_bytes]
    return Row(
        what=f"rows of {requested.row_bytes} B, merged",
        value=result.of_headers,
        unit="of what headers leave",
        limit=Limit(min(mark, OF_TAGS * reads) if reads < 1 else mark, at_least=True),
        note=f"{reads:.1%} is what {tags} tags allow in a round trip of"
        f" {requested.latency_cycles / CLOCK_HZ * 1e6:.1f} us; {mark:.0%} with tags enough",
    )


def limit_row(result: Measured) -> Row:
    """Return the bytes of rows a second with this limit of reads under way (Figure 10)."""
    requested, model = result.requested, result.requested.model
    whole = model.share * float(BEST_CASE) * LINK_BYTES
    seconds = requested.latency_cycles / CLOCK_HZ
    most = min(whole, requested.reads * requested.row_bytes / model.requests / seconds)
    return Row(
        what=f"rows of {requested.row_bytes:,} B, aligned, {requested.reads} reads under way",
        value=result.bytes_per_cycle * CLOCK_HZ / 1e9,
        unit="GB/s",
        limit=Limit(OF_ARITHMETIC * most / 1e9, at_least=True),
        note=f"{most / 1e9:.2f} by arithmetic",
    )


def kept_row(without: Measured, keeps: Measured) -> Row:
    """Return the cycles that rows need more where a build keeps rows, and is not to coalesce."""
    requested = without.requested
    octets = requested.row_bytes * (requested.rows - 1)
    cycles = [round(octets / item.bytes_per_cycle) for item in (without, keeps)]
    return Row(
        what=f"rows of {requested.row_bytes:,} B, a build that keeps rows does not coalesce",
        value=cycles[1] - cycles[0],
        unit="cycles more",
        limit=Limit(0),
        note=f"{requested.rows:,} rows, {cycles[0]:,} cycles from the first one's end to the last"
        f" one's without kept_parts, {cycles[1]:,} with {KEEPS.gather.kept_parts:,}",
    )
