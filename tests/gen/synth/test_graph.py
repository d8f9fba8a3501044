from gen.synth.arrival import Route
from gen.synth.clocks import ModuleClocks
from gen.synth.graph import Graph, bit_names, graph_of, sort
from tests.gen.synth.built import flip_flop, lut, netlist


def graph_by(module):
    return graph_of(module, {}, ModuleClocks(module, {}), {})


def graph_with(*arcs):
    graph = Graph()
    for source, target in arcs:
        graph.add(target, Route(source, None))
    return graph


def test_sources_come_before_what_they_lead_to():
    order, rings = sort(graph_with((1, 2), (2, 3), (1, 3), (7, 8)), [3])
    assert order == [1, 2, 3]
    assert rings == 0


def test_a_ring_is_counted_once_and_cut():
    order, rings = sort(graph_with((1, 2), (2, 3), (3, 2), (3, 4)), [4])
    assert sorted(order) == [1, 2, 3, 4]
    assert rings == 1


def test_deep_netlists_do_not_exhaust_the_stack():
    order, _ = sort(graph_with(*((n, n + 1) for n in range(20_000))), [20_000])
    assert order == list(range(20_001))


def test_bits_have_their_shortest_name():
    module = netlist({}, names={"deep.name": [2, 3], "word": [2, "0"], "flag": [4]})
    assert bit_names(module) == {2: "word[0]", 3: "deep.name[1]", 4: "flag"}


def test_registers_are_called_by_what_they_drive_and_memories_by_themselves():
    memory = ("URAM288", {"DOUT_A": [5], "ADDR_A": [6], "CLK": [1]})
    cells = {"$ff": flip_flop(3, 2), "words.0.0": memory}
    graph = graph_by(netlist(cells, names={"state": [2]}))
    assert {(bit, reach.levels, reach.start) for bit, reach in graph.starts["clk"]} == {
        (2, 0, "state"),
        (5, 3, "words.0.0 (URAM288, 3 levels)"),
    }
    assert {(bit, reach.start) for bit, reach in graph.ends["clk"]} == {
        (3, "state"),
        (6, "words.0.0"),
    }


def test_the_vendors_ip_takes_levels():
    port = {"AXI_RDATA": [5], "AXI_ARADDR": [6], "AXI_ACLK": [1]}
    directions = {"AXI_RDATA": "output", "AXI_ARADDR": "input", "AXI_ACLK": "input"}
    block = ("hbm", port, {"port_directions": directions})
    graph = graph_by(netlist({"ip": block}))
    assert [(bit, reach.levels, reach.start) for bit, reach in graph.starts["clk"]] == [
        (5, 2, "ip (hbm, 2 levels)")
    ]
    assert [(bit, reach.start) for bit, reach in graph.ends["clk"]] == [(6, "ip")]


def test_a_carry_input_that_no_chain_drives_enters():
    first = {"CI": [9], "S": [2, "0", "0", "0"], "DI": ["0"] * 4, "O": [], "CO": [10, 11, 12, 13]}
    second = {"CI": [13], "S": ["0"] * 4, "DI": ["0"] * 4, "O": [20], "CO": []}
    cells = {"$l": lut(9, 8), "$a": ("CARRY4", first), "$b": ("CARRY4", second)}
    graph = graph_by(netlist(cells))
    enters = {(w.source, t): w.arc and w.arc.enters for t, ws in graph.ways.items() for w in ws}
    assert enters[9, 13] is True
    assert enters[13, 20] is False


def test_what_is_not_known_is_all_registers():
    directions = {"I": "input", "O": "output", "rx_clk": "input"}
    cell = ("MAC", {"I": [2], "O": [3], "rx_clk": [1]}, {"port_directions": directions})
    graph = graph_by(netlist({"mac": cell}))
    assert [bit for bit, _ in graph.starts["clk"]] == [3]
    assert [bit for bit, _ in graph.ends["clk"]] == [2]
