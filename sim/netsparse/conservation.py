"""Accounts, at the end of a gather, for all packets and PRs of nodes, links and switches."""

from collections.abc import Iterator, Mapping

from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.snic_counters import CLASSES
from sim.netsparse.gather_job import GatherResult
from sim.netsparse.switch_counts import SwitchCounts
from sim.netsparse.topology import End

HARMS = ("dropped", "corrupted")  #: what a link was told to do to a packet

Statement = tuple[str, int, int]  #: two counts that must be equal, and what they are


def check_conservation(result: GatherResult) -> None:
    """Raise AssertionError, with what does not add up, unless all counts agree.

    The network must be at rest. What a link was told to drop is accounted for as well.
    """
    for about, left, right in statements(result):
        if left != right:
            raise AssertionError(f"{about}: {left:,} and {right:,}")


def statements(result: GatherResult) -> Iterator[Statement]:
    """Yield the counts of every link's two ends, of every switch, and of all nodes together."""
    for k, wire in enumerate(result.topology.links):
        for kind in CLASSES:
            name = f"{kind} on link {result.topology.link_name(k)}"
            counts = result.links[k][kind]
            dropped, delivered = counts["dropped"], counts["packets"]
            provided, taken = (
                provided_to(result, wire.source, kind),
                taken_from(result, wire.target, kind),
            )
            yield (
                f"{name}, packets sent, and delivered or dropped",
                provided[0],
                delivered + dropped,
            )
            yield f"{name}, packets delivered and taken", delivered, taken[0]
            if not dropped:
                yield f"{name}, bytes sent and delivered", provided[1], counts["bytes"]
            if taken[1] is not None:
                yield f"{name}, bytes delivered and taken", counts["bytes"], taken[1]
    for k, switch in enumerate(result.switches):
        for kind in CLASSES:
            name = f"{kind} in {result.topology.name(k)}"
            for about, left, right in of_switch(switch, kind):
                yield f"{name}, {about}", left, right
    if not any(link[kind][harm] for link in result.links for kind in CLASSES for harm in HARMS):
        for kind in CLASSES:
            sent, received = (
                sum(node.snic[f"{kind}_{path}_prs"] for node in result.nodes)
                for path in ("sent", "received")
            )
            hits = sum(switch.pipe("cache_hit") for switch in result.switches)
            arrives = sent - hits if kind == "reads" else sent + hits
            yield f"{kind} of all nodes, PRs sent and received, with hits", arrives, received


def provided_to(result: GatherResult, end: End, kind: str) -> tuple[int, int]:
    """Return the packets and bytes that a node, or a port of a switch, has given to its link."""
    if end.port is None:
        counts, path = result.nodes[end.index].snic, "sent"
    else:
        counts, path = result.switches[end.index].ports[end.port], "out"
    return counts[f"{kind}_{path}_packets"], counts[f"{kind}_{path}_bytes"]


def taken_from(result: GatherResult, end: End, kind: str) -> tuple[int, int | None]:
    """Return packets that came there, good or not, and bytes; None if a node dropped any."""
    if end.port is not None:
        port = result.switches[end.index].ports[end.port]
        return port[f"{kind}_in_packets"], port[f"{kind}_in_bytes"]
    snic = result.nodes[end.index].snic
    bad = malformed(snic, kind)
    octets = None if bad else snic[f"{kind}_received_bytes"]
    return snic[f"{kind}_received_packets"] + bad, octets


def malformed(counts: Mapping[str, int], kind: str) -> int:
    """Return the number of packets that a deconcatenator has dropped."""
    return sum(counts[f"{kind}_dropped_{drop.name.lower()}"] for drop in Drop)


def of_switch(switch: SwitchCounts, kind: str) -> Iterator[Statement]:
    """Yield statements that what comes in comes out: packets, and with middle pipes PRs."""
    come = switch.port(f"{kind}_in_packets")
    refused = switch.port(f"{kind}_no_route") + switch.port(f"{kind}_short")
    leave = switch.port(f"{kind}_out_packets")
    if not switch.pipes:
        yield "packets in and out", come - refused, leave
        return
    received = switch.pipe(f"{kind}_received_packets")
    bad = sum(malformed(pipe, kind) for pipe in switch.pipes)
    yield "packets in and in middle pipes", come - refused, received + bad
    yield "packets of middle pipes and out", switch.pipe(f"{kind}_sent_packets"), leave
    prs, hits = switch.pipe(f"{kind}_received_prs"), switch.pipe("cache_hit")
    built = prs - hits if kind == "reads" else prs + hits
    yield "PRs in and out, with hits", built, switch.pipe(f"{kind}_sent_prs")
