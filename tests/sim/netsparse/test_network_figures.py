"""Computes a network's figures from counters alone."""

import json
from types import SimpleNamespace

import pytest

from hdl.netsparse.snic_counters import CLASSES
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.network_figures import NETWORK_FIGURES, NetworkFigures
from sim.netsparse.spmm_text import network_lines
from sim.netsparse.switch_counts import SwitchCounts


def bank(counters, **known):
    return dict.fromkeys((name for name, _ in counters.counters), 0) | known


def tor(hits, misses):
    port = bank(PORT_COUNTERS, reads_in_packets=5, responses_out_packets=7, reads_short=1)
    pipe = bank(
        PIPE_COUNTERS,
        cache_hit=hits,
        cache_miss=misses,
        reads_sent_packets=4,
        reads_sent_prs=10,
        responses_dropped_length=2,
    )
    return SwitchCounts(ports=[port] * 3, pipes=[pipe] * 2)


SPINE = SwitchCounts(ports=[bank(PORT_COUNTERS, reads_no_route=1)] * 2, pipes=[])


@pytest.fixture
def network():
    """Return two racks of a node each; the second has received more and was done earlier."""
    topology = LeafSpine(racks=2, nodes_per_rack=1, spines=1)
    counts = {kind: {"packets": 1 + k, "bytes": 100 * (1 + k)} for k, kind in enumerate(CLASSES)}
    nodes = [
        SimpleNamespace(
            snic={"reads_received_bytes": 10, "responses_received_bytes": size}, cycles=cycles
        )
        for size, cycles in ((500, 90), (600, 80))
    ]
    return NetworkFigures(
        SimpleNamespace(
            topology=topology,
            nodes=nodes,
            links=[counts] * len(topology.links),
            switches=[tor(3, 1), tor(0, 0), SPINE],
        )
    )


def test_a_switch(network):
    figures = network.switches[0]
    assert figures.name == "ToR 0"
    assert (figures.hits, figures.misses, figures.hit_rate) == (6, 2, 0.75)
    assert figures.packets("in", "reads") == 15
    assert figures.packets("out", "responses") == 21
    assert figures.prs_per_packet("reads") == 2.5
    assert figures.prs_per_packet("responses") is None
    assert figures.dropped == 3 + 4


def test_a_spine_looks_into_nothing(network):
    figures = network.switches[2]
    assert figures.hit_rate is figures.prs_per_packet("reads") is None
    assert figures.dropped == 2


def test_all_together(network):
    assert network.figures() == {
        "link_packets": 8 * 3,
        "link_bytes": 8 * 300,
        "cache_hits": 6,
        "cache_misses": 2,
        "cache_hit_rate": 0.75,
        "tail_received_bytes": 610,
        "tail_cycles": 80,
    }
    assert network.figures().keys() == NETWORK_FIGURES.keys()
    assert network.tail.node == 1


def test_in_words_and_as_json(network):
    lines = network_lines(network)
    assert lines[0].split() == ["switches", "ToR", "0", "ToR", "1", "spine", "0"]
    assert lines[3].split() == ["hit", "rate", "75.0%", "-", "-"]
    assert "2,400 bytes in 24 packets, summed over 8 links" in lines
    assert "tail node 1: 610 bytes received, 80 cycles" in lines
    details = json.loads(json.dumps(network.details()))
    assert [switch["name"] for switch in details["switches"]] == ["ToR 0", "ToR 1", "spine 0"]
    assert details["links"][2]["name"] == "ToR 0 -> spine 0"
