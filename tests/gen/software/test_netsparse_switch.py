"""Runs a NetSparse switch's host software on a stand-in for a card, and its check of routes."""

import random

import pytest

from gen.designs.catalogue import find_design
from gen.software.netsparse_switch import software
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from sim.host.device import DeviceError
from sim.netsparse.host.switch.routing import check_routes, uplinks_of
from sim.netsparse.topology import LeafSpine
from tests.gen.software.fake_card import FakeCard


@pytest.fixture
def driven():
    card = FakeCard(software(find_design("netsparse-switch").params_of("tiny")))
    return card, card.attach()


def test_all_nodes_get_a_route_or_none(driven):
    card, switch = driven
    entered = {}

    def enter():
        port = card.heard("route_port") if card.heard("route_known") else None
        entered[card.heard("route_node")] = port

    card.commands["write_route"] = enter
    switch.set_routes({0: 0, 5: 3}, uplinks=[3, 2])
    assert entered == {node: {0: 0, 5: 3}.get(node) for node in range(8)}
    assert card.heard("uplinks") == 0b1100


def test_settings(driven):
    card, switch = driven
    switch.set_addresses(9, mac_base=0x0123_4567_89AB)
    assert (card.heard("node"), card.heard("ip_base")) == (9, 0x0A00_0000)
    assert card.heard_wide("mac_base") == 0x0123_4567_89AB
    switch.use(cache=False)
    assert (card.heard("cache"), card.heard("concatenate")) == (0, 1)
    switch.set_delays(255, 3)
    assert (card.heard("read_delay"), card.heard("response_delay")) == (255, 3)
    switch.set_stall_limit(7)
    assert card.heard("stall_limit") == 7


def test_caches_are_emptied(driven):
    card, switch = driven
    switch.configure(64)
    assert card.heard("property_bytes") == 64
    switch.invalidate()
    switch.reset_packets()
    assert card.log == ["configure", "configure", "reset_packets", "configure"]
    switch.seconds = 0.01
    card.say(clearing=1)
    with pytest.raises(DeviceError, match=r"configure has not ended within 0\.01 s"):
        switch.configure(64)


def test_counters_and_faults(driven):
    card, switch = driven
    shown = {("port", 2, "reads_no_route"): 5, ("pipe", 1, "responses_dropped_source"): 6}
    shown |= {("port", 3, "reads_waits"): 7, ("pipe", 0, "cache_hit"): 8}

    def show(address, word):
        hear(address, word)
        part = card.heard("counter_part")
        for kind, bank in (("port", PORT_COUNTERS), ("pipe", PIPE_COUNTERS)):
            number = card.heard(f"{kind}_counter")
            names = [name for name, _ in bank.counters]
            name = names[number] if number < len(names) else ""
            card.say(**{f"{kind}_count": shown.get((kind, part, name), 0)})

    hear, card.on_write = card.on_write, show
    assert switch.port_counters()[3]["reads_waits"] == 7
    assert switch.pipe_counters()[0]["cache_hit"] == 8
    card.say(stalled=0b10)
    assert [str(fault).rpartition(":")[0] for fault in switch.faults()] == [
        "port 1: stalled 1",
        "port 2: reads_no_route 5",
        "pipe 1: responses_dropped_source 6",
    ]
    switch.clear_counters()
    assert card.log == ["clear_counters"]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s: s.set_routes({8: 0}, []), "routes must be to nodes 0 to 7: 8"),
        (lambda s: s.set_routes({0: 4}, []), "node 0 must be behind a port 0 to 3: 4"),
        (lambda s: s.set_routes({0: 0}, [4]), r"uplinks must be some of 0 to 3: \[4\]"),
        (lambda s: s.set_addresses(7), "number must be above those of all nodes: 7"),
        (lambda s: s.set_delays(256, 0), "reads may wait 0 to 255 cycles: 256"),
        (lambda s: s.set_delays(0, -1), "responses may wait 0 to 255 cycles: -1"),
        (lambda s: s.set_stall_limit(-1), "cycles must be from 0 to 4294967295: -1"),
        (lambda s: s.configure(68), "property_bytes must be a multiple of 4 from 0 to 64: 68"),
        (lambda s: s.configure(6), "property_bytes must be a multiple of 4 from 0 to 64: 6"),
    ],
)
def test_what_cannot_be(driven, call, text):
    card, switch = driven
    written = dict(card.words)
    with pytest.raises(ValueError, match=text):
        call(switch)
    assert card.words == written


def cluster(topology):
    """Return the routes of all switches of a cluster, and what is at the end of each link."""
    routes = [
        {node: int(port) for node, port in enumerate(row)} for row in topology.tables().tolist()
    ]
    ends = {}
    for switch in range(topology.switches):
        for port in range(topology.ports(switch)):
            end = topology.neighbour(switch, port)
            ends[switch, port] = end.index if end.port is None else (end.index, end.port)
    return routes, ends


@pytest.mark.parametrize("sizes", [(1, 3, 0), (2, 2, 1), (3, 2, 2)])
def test_routes_are_judged_as_topologies_are(sizes):
    topology = LeafSpine(racks=sizes[0], nodes_per_rack=sizes[1], spines=sizes[2])
    routes, ends = cluster(topology)
    check_routes(routes, ends)
    for switch in range(topology.racks):
        assert uplinks_of(switch, ends) == [*topology.uplinks(switch)]
    result = set()
    rng = random.Random(1)
    for _ in range(200):
        tables = topology.tables()
        switch, node = rng.randrange(topology.switches), rng.randrange(topology.nodes)
        tables[switch, node] = rng.randrange(topology.ports(switch))
        changed = [dict(enumerate(row)) for row in tables.tolist()]
        good = verdict(topology.check_symmetric, tables)
        assert verdict(check_routes, changed, ends) == good
        result.add(good)
    assert result == {True, False}


def verdict(check, *arguments):
    """Return whether a check raises no ValueError."""
    try:
        check(*arguments)
    except ValueError:
        return False
    return True


def test_what_is_wrong_with_routes_is_reported():
    routes, ends = cluster(LeafSpine(racks=2, nodes_per_rack=2, spines=2))
    cases = (
        (0, 2, None, "switch 0 has no route to node 2"),
        (0, 2, 1, "port 1 of switch 0 leads to node 1, and is the route to node 2"),
        (0, 2, 9, "port 9 of switch 0 leads to nothing, and is the route to node 2"),
        (3, 2, 0, "packets for node 2 go round: "),
        (0, 2, 2, "packets from node 0 to node 2 leave by port 2 of switch 0, .*: not the same"),
    )
    for switch, node, port, text in cases:
        changed = [dict(each) for each in routes]
        if port is None:
            del changed[switch][node]
        else:
            changed[switch][node] = port
        with pytest.raises(ValueError, match=text):
            check_routes(changed, ends)
    with pytest.raises(ValueError, match=r"leads to port 0 of switch 2, but not back"):
        check_routes(routes, ends | {(2, 0): (1, 2)})
