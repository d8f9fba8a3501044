"""Runs a NetSparse switch's host software on a stand-in for a card, and its check of routes."""

import random
from copy import deepcopy
from itertools import permutations

import pytest

from gen.designs.catalogue import find_design
from gen.software.netsparse_switch import software
from hdl.netsparse.switch.params import KINDS
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from sim.host.device import DeviceError
from sim.netsparse.host.switch.routing import check_routes, uplinks_of
from sim.netsparse.hyperx import HyperX
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.spine_choice import SpineChoice
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
        for kind in KINDS:
            for came_by in range(4) if card.heard(f"route_{kind}") else ():
                if kind == "hits" or card.heard("route_inputs") >> came_by & 1:
                    entered[kind, came_by, card.heard("route_node")] = port

    card.commands["write_route"] = enter
    responses = {1: {0: 2, 6: 3}, 3: {5: 1}, 0: {6: 3, 0: 2}}
    switch.set_routes({0: 0, 5: 3}, uplinks=[3, 2], responses=responses, hits={2: 1})
    expected = {
        (kind, came_by, node): {0: 0, 5: 3}.get(node)
        for kind in KINDS
        for came_by in range(4)
        for node in range(8)
    }
    for came_by, node, port in ((1, 0, 2), (1, 6, 3), (3, 5, 1), (0, 0, 2), (0, 6, 3)):
        expected["responses", came_by, node] = port
    expected |= {("hits", came_by, 2): 1 for came_by in range(4)}
    assert entered == expected
    assert card.heard("uplinks") == 0b1100
    assert card.log.count("write_route") == 8 + 2 + 1 + 1  # inputs 0 and 1 are written as one


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
        (
            lambda s: s.set_routes({0: 0}, [], {4: {}}),
            r"ports of responses must be some of 0 to 3: \[4\]",
        ),
        (lambda s: s.set_routes({}, [], {0: {8: 0}}), "routes must be to nodes 0 to 7: 8"),
        (lambda s: s.set_routes({}, [], {}, {8: 0}), "routes must be to nodes 0 to 7: 8"),
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


def cluster(sizes, choice):
    """Return the routes of all switches, the ends of links, and the routes of responses."""
    topology = LeafSpine(racks=sizes[0], nodes_per_rack=sizes[1], spines=sizes[2])
    routes = [dict(enumerate(row)) for row in topology.tables(choice).tolist()]
    return routes, topology.ends, topology.response_routes(choice)


def passed(place, node, routes, ends, responses):
    """Return both ends of each link on the way from a node's port to ``node``; None: it is lost."""
    links, (switch, came_by) = [], place
    for _ in routes:
        others = responses[switch].get(came_by, {}) if responses else {}
        place = switch, others.get(node, routes[switch][node])
        end = ends.get(place)
        if not isinstance(end, tuple):
            return links if end == node else None
        links.append({place, end})
        switch, came_by = end
    return None


def fit(routes, ends, responses):
    """Return whether each response comes to its reader by the links of its read."""
    homes = {end: place for place, end in ends.items() if isinstance(end, int)}
    reached = all(
        passed((switch, None), node, routes, ends, ()) is not None
        for switch in range(len(routes))
        for node in homes
    )
    return reached and all(
        (back := passed(homes[b], a, routes, ends, responses)) is not None
        and back[::-1] == passed(homes[a], b, routes, ends, ())
        for a, b in permutations(homes, 2)
    )


@pytest.mark.parametrize("choice", SpineChoice)
@pytest.mark.parametrize("sizes", [(1, 3, 0), (2, 2, 1), (3, 2, 2)])
def test_routes_are_judged_by_where_packets_come(sizes, choice):
    routes, ends, responses = cluster(sizes, choice)
    check_routes(routes, ends, responses)
    for switch in range(sizes[0]):
        assert uplinks_of(switch, ends) == [*range(sizes[1], sizes[1] + sizes[2])]
    result = set()
    rng = random.Random(1)
    for _ in range(200):
        changed, others = deepcopy(routes), deepcopy(responses)
        switch, node = rng.randrange(len(routes)), rng.randrange(sizes[0] * sizes[1])
        ports = sorted(port for k, port in ends if k == switch)
        some = changed[switch]
        if rng.random() < 0.5:
            some = others[switch].setdefault(rng.choice(ports), {})
        some[node] = rng.choice(ports)
        good = fit(changed, ends, others)
        assert verdict(check_routes, changed, ends, others) == good
        result.add(good)
    assert result == {True, False}


def test_routes_of_responses_are_needed_where_homes_choose():
    routes, ends, _ = cluster((3, 2, 2), SpineChoice.HOME)
    with pytest.raises(ValueError, match=r"^reads from node 0 to node 3 leave .* responses by"):
        check_routes(routes, ends)


GRID = HyperX(sizes=(2, 2, 2), nodes_per_rack=1)


def grid(**changed):
    """Return what ``check_routes`` takes of racks at the corners of a cube, with other routes."""
    routes = [dict(enumerate(row)) for row in GRID.tables().tolist()]
    own = {"routes": routes, "ends": GRID.ends}
    own |= {"responses": GRID.response_routes(), "hits": GRID.hit_routes()}
    return own | changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hits": [{}] * 8}, "responses can wait for each other in a circle: port"),
        ({"responses": [{}] * 8}, "reads from node 0 to node 3 leave by port"),
        (
            {"hits": [{}, {0: 0}, *({} for _ in range(6))]},
            "port 0 of switch 1 leads to node 1, and is the route to node 0",
        ),
    ],
)
def test_answers_of_caches_are_judged(changed, message):
    """By the routes of reads they would go round the cube by X first, as no response does."""
    check_routes(**grid())
    with pytest.raises(ValueError, match=message):
        check_routes(**grid(**changed))


def verdict(check, *arguments):
    """Return whether a check raises no ValueError."""
    try:
        check(*arguments)
    except ValueError:
        return False
    return True


def test_what_is_wrong_with_routes_is_reported():
    routes, ends, _ = cluster((2, 2, 2), SpineChoice.RACKS)
    cases = (
        (0, 2, None, "switch 0 has no route to node 2"),
        (0, 2, 1, "port 1 of switch 0 leads to node 1, and is the route to node 2"),
        (0, 2, 9, "port 9 of switch 0 leads to nothing, and is the route to node 2"),
        (3, 2, 0, "packets for node 2 go round: "),
        (0, 2, 2, "reads from node 0 to node 2 leave by port 2 of switch 0, .*: not the same"),
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
