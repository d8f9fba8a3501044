"""Changes each count of a small gather once: what does not add up is found."""

from copy import deepcopy
from types import SimpleNamespace

import pytest

from hdl.netsparse.snic_counters import CLASSES, SNIC_COUNTERS
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from sim.netsparse.conservation import check_conservation
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.switch_counts import SwitchCounts

#: Packets and bytes on links of two racks of a node, by class: node 0 reads 5, a switch answers 1.
TRAFFIC = {
    "reads": {
        "node 0 -> ToR 0": (3, 282),
        "ToR 0 -> spine 0": (2, 200),
        "spine 0 -> ToR 1": (2, 200),
        "ToR 1 -> node 1": (2, 200),
    },
    "responses": {
        "node 1 -> ToR 1": (2, 216),
        "ToR 1 -> spine 0": (2, 216),
        "spine 0 -> ToR 0": (2, 216),
        "ToR 0 -> node 0": (3, 302),
    },
}
#: PRs into and out of middle pipes.
PRS = {0: {"reads": (5, 4), "responses": (4, 5)}, 1: {"reads": (4, 4), "responses": (4, 4)}}


def bank(counters, known):
    return dict.fromkeys((name for name, _ in counters.counters), 0) | known


@pytest.fixture
def result():
    topology = LeafSpine(racks=2, nodes_per_rack=1, spines=1)
    links, ends = [], {}
    for k, wire in enumerate(topology.links):
        counts = {}
        for kind in CLASSES:
            packets, octets = TRAFFIC[kind].get(topology.link_name(k), (0, 0))
            counts[kind] = {"packets": packets, "bytes": octets, "dropped": 0, "corrupted": 0}
            for end, node_path, port_path in (
                (wire.source, "sent", "out"),
                (wire.target, "received", "in"),
            ):
                path = node_path if end.port is None else port_path
                known = {f"{kind}_{path}_packets": packets, f"{kind}_{path}_bytes": octets}
                ends.setdefault((end.index, end.port), {}).update(known)
        links.append(counts)
    ends[0, None] |= {"reads_sent_prs": 5, "responses_received_prs": 5}
    ends[1, None] |= {"reads_received_prs": 4, "responses_sent_prs": 4}
    switches = []
    for k in range(topology.switches):
        ports = [bank(PORT_COUNTERS, ends[k, port]) for port in range(topology.ports(k))]
        pipe = {"cache_hit": 1} if k == 0 else {}
        for kind in CLASSES if k in PRS else ():
            pipe |= {
                f"{kind}_received_packets": sum(port[f"{kind}_in_packets"] for port in ports),
                f"{kind}_sent_packets": sum(port[f"{kind}_out_packets"] for port in ports),
                f"{kind}_received_prs": PRS[k][kind][0],
                f"{kind}_sent_prs": PRS[k][kind][1],
            }
        pipes = [bank(PIPE_COUNTERS, pipe)] if k in PRS else []
        switches.append(SwitchCounts(ports=ports, pipes=pipes))
    return SimpleNamespace(
        topology=topology,
        links=links,
        switches=switches,
        nodes=[SimpleNamespace(snic=bank(SNIC_COUNTERS, ends[k, None])) for k in range(2)],
    )


def counts_of(result):
    """Return every mapping of counts, and what it is of."""
    yield from ((f"node {k}", node.snic) for k, node in enumerate(result.nodes))
    yield from (
        (f"link {k} {kind}", link[kind]) for k, link in enumerate(result.links) for kind in CLASSES
    )
    for k, switch in enumerate(result.switches):
        yield from ((f"switch {k}", each) for each in (*switch.ports, *switch.pipes))


def adds_up(result):
    try:
        check_conservation(result)
    except AssertionError:
        return False
    return True


def test_what_adds_up_passes(result):
    check_conservation(result)


def test_every_count_matters(result):
    """One more of any count that is not zero is found."""
    changed = 0
    for place, (_, counts) in enumerate(counts_of(result)):
        for name in [name for name, count in counts.items() if count]:
            copy = deepcopy(result)
            where, other = list(counts_of(copy))[place]
            other[name] += 1
            assert not adds_up(copy), f"{where} {name}"
            changed += 1
    assert changed > 60


def test_what_is_detected_is_named(result):
    result.links[2]["reads"]["packets"] = 1001
    says = "^reads on link ToR 0 -> spine 0, packets sent, and delivered or dropped: 2 and 1,001$"
    with pytest.raises(AssertionError, match=says):
        check_conservation(result)


def test_what_a_link_dropped_is_accounted_for(result):
    """The packet is missing from there on, and PRs are not compared."""
    lost = deepcopy(result)
    lost.links[2]["reads"] |= {"packets": 1, "bytes": 100, "dropped": 1}
    for counts in (lost.links[7]["reads"], lost.links[5]["reads"]):
        counts |= {"packets": 1, "bytes": 100}
    spine, tor = lost.switches[2], lost.switches[1]
    for port, path in ((spine.ports[0], "in"), (spine.ports[1], "out"), (tor.ports[1], "in")):
        port |= {f"reads_{path}_packets": 1, f"reads_{path}_bytes": 100}
    tor.ports[0].update(reads_out_packets=1, reads_out_bytes=100)
    tor.pipes[0].update(reads_received_packets=1, reads_sent_packets=1)
    lost.nodes[1].snic.update(reads_received_packets=1, reads_received_bytes=100)
    check_conservation(lost)
