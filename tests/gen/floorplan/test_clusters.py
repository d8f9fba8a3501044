"""Tests what belongs together because no register lies between."""

import pytest

from gen.floorplan.clusters import clusters_of
from gen.floorplan.model import FloorplanError
from tests.gen.floorplan.plans import link, part, small_device


def names(parts, links):
    clusters = clusters_of(parts, links, small_device())
    return [[p.name for p in cluster.parts] for cluster in clusters]


PARTS = [part(name, 10) for name in "abcd"]


def test_registered_links_hold_nothing():
    assert names(PARTS, [link("a", "b", 9)]) == [["a"], ["b"], ["c"], ["d"]]


def test_chains_hold():
    links = [link("d", "b", 1, registered=False), link("b", "a", 1, registered=False)]
    assert names(PARTS, links) == [["a", "b", "d"], ["c"]]


def test_a_link_without_wires_holds_nothing():
    assert names(PARTS, [link("a", "b", 0, registered=False)]) == [["a"], ["b"], ["c"], ["d"]]


def test_amounts_and_place():
    parts = [part("a", 10), part("b", 7, slr=1), part("c", 5, slr=1)]
    links = [link("a", "b", 1, registered=False), link("b", "c", 1, registered=False)]
    (cluster,) = clusters_of(parts, links, small_device())
    assert cluster.resources.lut == 22
    assert cluster.slr == 1


def test_the_path_is_named():
    parts = [part("a", slr=2), *PARTS[1:3], part("d", slr=1)]
    links = [link("a", "b", 5, registered=False), link("c", "a", 6, registered=False)]
    links += [link("c", "d", 2_000, registered=False)]
    with pytest.raises(FloorplanError, match="a must lie in SLR2 and d in SLR1") as caught:
        clusters_of(parts, links, small_device())
    assert str(caught.value).endswith(": a to c by 6 wires, c to d by 2,000 wires")
