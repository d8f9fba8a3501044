from itertools import combinations

import numpy as np
import pytest

from gen.base.errors import UserError
from sim.switchgnn.planning.cover import least_vertex_cover, rack_cover
from tests.sim.switchgnn.cases import cut_of


def smallest(edges):
    """Return the size of a least vertex cover, by trying all."""
    ends = sorted({("left", u) for u, _ in edges} | {("right", v) for _, v in edges})
    for size in range(len(ends) + 1):
        for chosen in map(set, combinations(ends, size)):
            if all(("left", u) in chosen or ("right", v) in chosen for u, v in edges):
                return size
    raise AssertionError("all ends are a cover")


@pytest.mark.parametrize("seed", range(20))
def test_the_cover_is_one_and_the_least(seed):
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, 6, (2, rng.integers(1, 14)))
    left, right = (np.unique(side, return_inverse=True)[1] for side in (left, right))
    copies, sums = least_vertex_cover(left, right)
    assert (np.isin(left, copies) | np.isin(right, sums)).all()
    edges = set(zip(left.tolist(), right.tolist(), strict=True))
    assert copies.size + sums.size == smallest(edges)


def test_racks_send_less_than_copies_or_sums_alone():
    cut = cut_of("reddit:scale=0.05", 8)
    rack = np.arange(8) // 2
    built = rack_cover(cut, rack)
    of = rack[cut.worker]
    first, second = of[cut.sources], of[cut.destinations]
    packets = zip(built.sender, built.receiver, built.vertex, built.is_sum, strict=True)
    sent = {tuple(map(int, packet)) for packet in packets}
    assert len(sent) == built.packets
    edges = zip(first, second, cut.sources, cut.destinations, strict=True)
    assert all(
        r == s or (r, s, u, 0) in sent or (r, s, v, 1) in sent
        for r, s, u, v in (tuple(map(int, edge)) for edge in edges)
    )
    copies = {tuple(map(int, each)) for each in zip(first, second, cut.sources, strict=True)}
    assert built.packets < 0.9 * len([each for each in copies if each[0] != each[1]])


@pytest.mark.parametrize("rack", [[0, 1], [0, 0, 1, -1], [0.0, 0, 1, 1]])
def test_racks_that_are_none(rack):
    with pytest.raises(UserError, match="a rack, a number from 0 on, for each of 4 workers"):
        rack_cover(cut_of("digits", 4), rack)
