import numpy as np
import pytest

from sim.netsparse.golden.idx_filter import IdxFilter
from sim.netsparse.microarchitecture.idx_filter import Access, IdxFilterCache


def test_two_ways_by_hand():
    """Lines 0, 2, 4, ... belong to one of two banks, which has one set of two ways."""
    model = IdxFilterCache(columns=512 * 8, banks=2, sets=1, ways=2)
    assert model.access(5, set_bit=True) == Access(False, hit=False)
    assert model.access(5) == Access(True, hit=True)
    assert model.access(512) == Access(False, hit=False)  # the other bank
    assert model.access(2 * 512) == Access(False, hit=False)
    assert model.access(0) == Access(False, hit=True)  # now line 2 is the older one
    assert model.access(4 * 512) == Access(False, hit=False, read=True)  # the set had been full
    assert not model.memory.any()
    assert model.access(2 * 512) == Access(False, hit=False, write_back=0, read=True)
    assert model.memory[5]
    assert model.access(5) == Access(True, hit=False, read=True)
    assert model.memory.sum() == model.bits.sum() == 1
    model.clear()
    assert model.access(5) == Access(False, hit=False)


def test_own_cache_by_hand():
    """Of two blocks of 16, blocks 0 and 2 share one place, and block 1 has the other."""
    model = IdxFilterCache(columns=512, banks=1, sets=1, ways=1, blocks=2)
    assert model.access(5) == Access(False, hit=False)
    assert model.access(5) == Access(False, hit=True)  # a zero is never kept
    assert model.access(5, set_bit=True) == Access(False, hit=True)
    assert model.access(5) == Access(True, hit=False, near=True)
    assert model.access(5, set_bit=True) == Access(True, hit=True)  # a set always goes to its bank
    assert model.access(6) == Access(False, hit=True)
    assert model.access(20, set_bit=True) == Access(False, hit=True)
    assert model.access(40) == Access(False, hit=True)  # a block of zeros replaces nothing
    assert model.access(5) == Access(True, hit=False, near=True)
    assert model.access(40, set_bit=True) == Access(False, hit=True)
    assert model.access(5) == Access(True, hit=True)
    assert model.access(40) == Access(True, hit=True)
    assert model.access(20) == Access(True, hit=False, near=True)
    model.clear()
    assert model.access(20) == Access(False, hit=False)


@pytest.mark.parametrize(("ways", "blocks"), [(1, 0), (2, 3), (4, 0)])
def test_answers_are_the_golden_ones_and_memory_and_dirty_lines_are_the_bits(ways, blocks):
    rng = np.random.default_rng(ways)
    model = IdxFilterCache(columns=20 * 512, banks=2, sets=2, ways=ways, blocks=blocks)
    golden = IdxFilter(20 * 512)
    for idx, set_bit in zip(rng.integers(20 * 512, size=3000), rng.random(3000) < 0.3, strict=True):
        access = model.access(int(idx), set_bit=bool(set_bit))
        assert access.bit == golden.access(idx, set_bit=set_bit)
        held = [len(lines) for lines in model.places.values()]
        assert max(held) <= ways
    dirty = {n for lines in model.places.values() for n, line in lines.items() if line.dirty}
    for line in range(20):
        same = (model.bits == model.memory)[line * 512 : (line + 1) * 512].all()
        assert same or line in dirty
