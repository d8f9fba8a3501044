"""Describes a product on simulated SNICs in words: its matrix, a table of figures, its time."""

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

from hdl.common.core_clock import CORE_MHZ
from sim.netsparse.kernel import Kernel
from sim.netsparse.network_figures import NetworkFigures
from sim.netsparse.spmm_report import LINE_GBPS, SpmmReport, together

LABEL = 32  #: columns of a line's name
COLUMN = 11

MAX_COLUMNS = 12  #: most nodes, and most switches, that have a column of their own
MODELLED = (
    "a model: no property was moved and nothing multiplied; its counters agree with each other"
)
MEMORIES = "host memories equal the golden model's byte for byte"
EQUAL = {
    Kernel.SPMM: f"{MEMORIES}; the product equals scipy's",
    Kernel.SPMV: f"{MEMORIES}; the product with a vector equals scipy's",
    Kernel.SDDMM: f"{MEMORIES}; the products at nonzeros equal NumPy's",
}

Line = tuple[str, Callable[[Any], str]]


def matrix_lines(report: SpmmReport) -> list[str]:
    """Return lines on the matrix and its partition: tables 1, 3 and 4."""
    figures, bytes_ = report.redundancy, report.run.requested.property_bytes
    matrix = (
        f"{report.name}: {figures.rows:,} rows, {figures.nonzeros:,} nonzeros"
        f" ({figures.nonzeros_per_row:.1f} a row), {figures.nodes} nodes,"
        f" {figures.share_remote:.1%} of the nonzeros remote"
    )
    redundant = f"SU {shown(figures.su)}, SA {shown(figures.sa)}"
    return [
        matrix,
        f"table 1, redundant transfers for each useful one: {redundant}",
        f"table 3, headers around {bytes_} bytes that travel alone: {report.headers_alone:.1%}",
        f"table 4, owners of {report.window} remote nonzeros: {shown(figures.destinations)}",
    ]


def figure_lines(report: SpmmReport) -> list[str]:
    """Return a line for each figure, with a column for each node, or the tail, and for all."""
    nodes, every = report.nodes, together(report.nodes)
    shown = list(range(len(nodes)))
    if len(nodes) > MAX_COLUMNS:
        shown = [report.network.tail.node]
    head = [f"node {k}" for k in shown]
    nodes = [nodes[k] for k in shown]
    rows = [(name, [show(node) for node in [*nodes, every]]) for name, show in lines()]
    return [in_columns("", [*head, "all"]), *(in_columns(name, cells) for name, cells in rows)]


def lines() -> list[Line]:
    """Return what a table tells of a node."""

    def count(name: str) -> Callable[[Any], str]:
        return lambda node: f"{node.unit[name]:,}"

    def packets(path: str, kind: str) -> Callable[[Any], str]:
        return lambda node: f"{node.packets(path, kind):,}"

    def size(path: str) -> Callable[[Any], str]:
        return lambda node: f"{node.packet_bytes(path):,}"

    def stall(name: str) -> Callable[[Any], str]:
        return lambda node: f"{node.stalled(name):.1%}"

    def accesses(kind: str) -> Callable[[Any], str]:
        return lambda node: f"{node.accesses_per_request(kind):.2f}"

    return [
        ("idxs", count("consumed")),
        ("  local", count("local")),
        ("  coalesced", count("coalesced")),
        ("  filtered", count("filtered")),
        ("  PRs", count("prs")),
        ("filtered + coalesced, of remote", lambda node: f"{node.filter_coalesce_rate:.1%}"),
        ("PRs a packet, reads", lambda node: f"{node.prs_per_packet('reads'):.1f}"),
        ("PRs a packet, responses", lambda node: f"{node.prs_per_packet('responses'):.1f}"),
        ("packets sent, reads", packets("sent", "reads")),
        ("packets sent, responses", packets("sent", "responses")),
        ("packets received, reads", packets("received", "reads")),
        ("packets received, responses", packets("received", "responses")),
        ("bytes sent", size("sent")),
        ("bytes received", size("received")),
        ("headers, measured", lambda node: f"{node.headers:.2%}"),
        ("headers, formula", lambda node: f"{node.headers_by_formula:.2%}"),
        ("goodput, of the line", lambda node: f"{node.goodput:.2%}"),
        ("line utilisation, reads", lambda node: f"{node.utilisation('reads'):.2%}"),
        ("line utilisation, responses", lambda node: f"{node.utilisation('responses'):.2%}"),
        ("host lines a property", lambda node: f"{node.lines_per_property:.2f}"),
        ("idxs a cycle", lambda node: f"{node.per_cycle('consumed'):.3f}"),
        ("PRs a cycle", lambda node: f"{node.per_cycle('prs'):.3f}"),
        ("work requests", lambda node: f"{node.requests:,}"),
        ("  register writes a request", accesses("writes")),
        ("  register reads a request", accesses("reads")),
        ("clients wait for idxs", stall("idx")),
        ("  for the Pending PR Table", stall("table")),
        ("  for the filter", stall("filter")),
        ("  for the Tx queue", stall("transmit")),
    ]


def network_lines(network: NetworkFigures) -> list[str]:
    """Return a line for each figure with a column for each switch, then what all links carried.

    Of many switches only the first of each kind are shown.
    """
    switches = network.switches
    if len(switches) > MAX_COLUMNS:
        racks = network.result.topology.racks
        switches = [*switches[: MAX_COLUMNS - 1][:racks], *switches[racks : racks + 1]]
    tail = network.tail
    rows = [(name, [show(switch) for switch in switches]) for name, show in switch_lines()]
    traffic = f"{network.links('bytes'):,} bytes in {network.links('packets'):,} packets"
    return [
        in_columns("switches", [switch.name for switch in switches]),
        *(in_columns(name, cells) for name, cells in rows),
        f"{traffic}, summed over {len(network.result.links)} links",
        f"tail node {tail.node}: {tail.received_bytes:,} bytes received, {tail.cycles:,} cycles",
    ]


def switch_lines() -> list[Line]:
    """Return what a table tells of a switch; a dash where it does not look into packets."""

    def packets(path: str, kind: str) -> Callable[[Any], str]:
        return lambda switch: f"{switch.packets(path, kind):,}"

    def prs(kind: str) -> Callable[[Any], str]:
        def show(switch: Any) -> str:
            mean = switch.prs_per_packet(kind)
            return "-" if mean is None else f"{mean:.1f}"

        return show

    def looked_up(name: str) -> Callable[[Any], str]:
        return lambda switch: f"{getattr(switch, name):,}" if switch.counts.pipes else "-"

    return [
        ("reads that hit", looked_up("hits")),
        ("  that missed", looked_up("misses")),
        ("  hit rate", lambda s: "-" if s.hit_rate is None else f"{s.hit_rate:.1%}"),
        ("packets in, reads", packets("in", "reads")),
        ("packets in, responses", packets("in", "responses")),
        ("packets out, reads", packets("out", "reads")),
        ("packets out, responses", packets("out", "responses")),
        ("PRs a packet out, reads", prs("reads")),
        ("PRs a packet out, responses", prs("responses")),
        ("packets dropped", lambda switch: f"{switch.dropped:,}"),
    ]


def end_line(report: SpmmReport) -> str:
    """Return a line with the time."""
    result, requested = report.result, report.run.requested
    speed = result.cycles / max(result.seconds, 1e-9)
    built = "modelled" if requested.model else "simulated"
    return (
        f"{result.cycles:,} cycles, {result.cycles / CORE_MHZ:,.1f} us at {CORE_MHZ} MHz, where"
        f" the line has {LINE_GBPS:.0f} Gb/s; {built} at {speed:,.0f} cycles/s"
    )


def round_lines(rounds: Sequence[tuple[int, int]]) -> list[str]:
    """Return a line with the batch and the cycles of each product, if there are several."""
    each = ", ".join(f"{batch:,} ({cycles:,})" for batch, cycles in rounds)
    return [f"idxs of a request in each round (cycles): {each}"] if len(rounds) > 1 else []


def in_columns(name: str, cells: Sequence[str]) -> str:
    """Return a line of the table from its cells."""
    return f"{name:{LABEL}}" + "".join(f"{cell:>{COLUMN}}" for cell in cells)


def shown(figure: float) -> str:
    """Return a ratio as text; a dash where there is nothing to divide by."""
    return "-" if isnan(figure) else f"{figure:.3g}"
