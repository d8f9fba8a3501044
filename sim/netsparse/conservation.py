"""At the end of a gather all packets and PRs are accounted for: nodes, links, switches."""

from collections.abc import Iterator, Mapping

from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.snic_counters import CLASSES
from sim.netsparse.gather_job import GatherResult
from sim.netsparse.switch_driver import SwitchCounts
from sim.netsparse.topology import End

Statement = tuple[str, int, int]  #: what must be equal


def check_conservation(result: GatherResult) -> None:
    """Raise AssertionError, with what does not add up, unless all counts agree.

    The network must be at rest. What a link was told to drop is accounted for as well.
    """
    for about, left, right in statements(result):
        if left != right:
            raise AssertionError(f"{about}: {left:,} and {right:,}")


def statements(result: GatherResult) -> Iterator[Statement]:
    """Of every link at its two ends, and of every switch."""
    for k, wire in enumerate(result.topology.links):
        for kind in CLASSES:
            name = f"{kind} on link {result.topology.link_name(k)}"
            counts = result.links[k][kind]
            delivered, dropped = counts["packets"], counts["dropped"]
            packets, octets = sent(result, wire.source, kind)
            yield f"{name}, packets sent, delivered and dropped", packets, delivered + dropped
            if not dropped:
                yield f"{name}, bytes sent and delivered", octets, counts["bytes"]
            yield (
                f"{name}, packets delivered and taken",
                delivered,
                taken(result, wire.target, kind),
            )
    for k, switch in enumerate(result.switches):
        for kind in CLASSES:
            name = f"{kind} in {result.topology.name(k)}"
            for about, left, right in of_switch(switch, kind):
                yield f"{name}, {about}", left, right


def sent(result: GatherResult, end: End, kind: str) -> tuple[int, int]:
    """Packets and bytes that a node, or a port of a switch, has given to its link."""
    if end.port is None:
        counts, way = result.nodes[end.index].snic, "sent"
    else:
        counts, way = result.switches[end.index].ports[end.port], "out"
    return counts[f"{kind}_{way}_packets"], counts[f"{kind}_{way}_bytes"]


def taken(result: GatherResult, end: End, kind: str) -> int:
    """Packets that a node, or a port of a switch, has taken from its link, good or not."""
    if end.port is None:
        snic = result.nodes[end.index].snic
        return snic[f"{kind}_received_packets"] + malformed(snic, kind)
    return result.switches[end.index].ports[end.port][f"{kind}_in_packets"]


def malformed(counts: Mapping[str, int], kind: str) -> int:
    """Packets that a deconcatenator has dropped."""
    return sum(counts[f"{kind}_dropped_{drop.name.lower()}"] for drop in Drop)


def of_switch(switch: SwitchCounts, kind: str) -> Iterator[Statement]:
    """What comes in, comes out: packets, and where there are middle pipes PRs."""
    come = switch.port(f"{kind}_in_packets")
    refused = switch.port(f"{kind}_no_route") + switch.port(f"{kind}_short")
    leave = switch.port(f"{kind}_out_packets")
    if not switch.pipes:
        yield "packets in and out", come - refused, leave
        return
    received = switch.pipe(f"{kind}_received_packets") + switch.pipe(f"{kind}_no_route")
    bad = sum(malformed(pipe, kind) for pipe in switch.pipes)
    yield "packets in and in middle pipes", come - refused, received + bad
    yield "packets of middle pipes and out", switch.pipe(f"{kind}_sent_packets"), leave
    prs, hits = switch.pipe(f"{kind}_received_prs"), switch.pipe("cache_hit")
    made = prs - hits if kind == "reads" else prs + hits
    yield "PRs in and out, with hits", made, switch.pipe(f"{kind}_sent_prs")
