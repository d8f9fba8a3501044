from itertools import pairwise

from gen.datasheet.layers import GAP, Graph, crossings, lay_out


def laid(edges, first=(), last=()):
    nodes = tuple(dict.fromkeys(name for edge in edges for name in edge))
    graph = Graph(nodes=nodes, edges=edges, first=frozenset(first), last=frozenset(last))
    return lay_out(graph, lambda arrows: 20.0 + 10 * arrows)


def test_arrows_go_to_the_right_but_those_that_close_a_cycle():
    layout = laid([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")], first=["a"], last=["c"])
    assert [layout.column_of[name] for name in "abc"] == [0, 1, 2]
    assert layout.turned == [False, False, True, False]


def test_long_arrows_pass_every_column():
    layout = laid([("a", "b"), ("b", "c"), ("a", "c")])
    route = layout.routes[2]
    assert [layout.column_of[name] for name in route] == [0, 1, 2]
    assert (route[0], route[-1]) == ("a", "c")


def test_nothing_overlaps():
    edges = [(f"a{k}", f"b{(k * 5) % 7}") for k in range(12)] + [("a0", f"b{k}") for k in range(7)]
    layout = laid(edges)
    for column in layout.columns:
        for upper, lower in pairwise(column):
            apart = layout.middles[lower] - layout.middles[upper]
            assert apart >= (layout.heights[upper] + layout.heights[lower]) / 2 + GAP - 0.2
    assert min(layout.middles[n] - layout.heights[n] / 2 for n in layout.middles) == 0


def test_order_takes_crossings_away():
    edges = [("a", "x"), ("b", "y"), ("c", "z")]
    layout = lay_out(Graph(nodes=tuple("abczyx"), edges=edges), lambda arrows: 20.0)
    assert crossings(layout) == 0
    assert layout.columns == [["a", "b", "c"], ["x", "y", "z"]]


def test_a_node_stands_level_with_its_only_neighbour():
    layout = laid([("a", "x"), ("b", "y"), ("c", "z")])
    assert all(abs(layout.middles[p] - layout.middles[q]) < 1 for p, q in ("ax", "by", "cz"))


def test_height_follows_the_busier_side():
    layout = laid([("a", "x"), ("a", "y"), ("a", "z"), ("y", "z")])
    assert layout.heights["a"] == 50
    assert layout.heights["z"] == 40
