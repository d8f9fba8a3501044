import pytest

from sim.netsparse.golden.property_cache import Outcome, PropertyCache


def item(value, length=16):
    return bytes([value]) * length


def test_two_ways_by_hand():
    """Properties 0, 1 and 2 go to two lines of the one set of one segment."""
    cache = PropertyCache(segments=1, sets=1, ways=2)
    assert cache.lookup(0, 16) == (Outcome.BYPASSED, None)
    cache.configure(16)
    assert cache.lookup(0, 16) == (Outcome.MISS, None)
    assert cache.insert(0, item(10)) is Outcome.INSERTED
    assert cache.insert(1, item(11)) is Outcome.INSERTED
    assert cache.insert(0, item(99)) is Outcome.PRESENT  # which makes it no more recent
    assert cache.insert(2, item(12)) is Outcome.REPLACED
    assert cache.lookup(0, 16) == (Outcome.MISS, None)
    assert cache.lookup(1, 16) == (Outcome.HIT, item(11))  # which makes 2 the older one
    assert cache.insert(0, item(20)) is Outcome.REPLACED
    assert cache.lookup(2, 16) == (Outcome.MISS, None)
    assert cache.lookup(1, 16) == (Outcome.HIT, item(11))
    assert cache.lookup(0, 16) == (Outcome.HIT, item(20))
    cache.configure(16)
    assert cache.lookup(1, 16) == (Outcome.MISS, None)


def test_the_example_of_its_page():
    """The example is in hdl/netsparse/property_cache/README.md."""
    cache = PropertyCache(segments=4, sets=2, ways=4, property_bytes=32)
    assert [list(cache.segments_of(idx)) for idx in (13, 15)] == [[2, 3], [2, 3]]
    done = [cache.insert(13, item(1, 32)), cache.insert(15, item(2, 32))]
    done += [cache.lookup(13, 32)[0], cache.lookup(29, 32)[0]]
    done += [cache.insert(idx, item(3, 32)) for idx in (15, 29, 45, 61)]
    done += [cache.lookup(15, 32)[0]]
    assert done == [
        *(Outcome.INSERTED, Outcome.INSERTED, Outcome.HIT, Outcome.MISS, Outcome.PRESENT),
        *(Outcome.INSERTED, Outcome.INSERTED, Outcome.REPLACED, Outcome.MISS),
    ]
    assert cache.lookup(13, 32) == (Outcome.HIT, item(1, 32))


def test_while_it_is_cleared():
    cache = PropertyCache(segments=1, sets=1, ways=2, property_bytes=4)
    assert cache.insert(0, item(1, 4), clearing=True) is Outcome.DISCARDED
    assert cache.insert(0, item(1, 4)) is Outcome.INSERTED
    assert cache.lookup(0, 4, clearing=True) == (Outcome.MISS, None)
    assert cache.lookup(0, 5, clearing=True) == (Outcome.BYPASSED, None)
    assert cache.insert(0, item(1, 5), clearing=True) is Outcome.BYPASSED


def test_the_example_of_the_paper():
    """For properties of 32 bytes, segment bits 1110X enable the last pair but one."""
    cache = PropertyCache(segments=32, sets=512, ways=16, property_bytes=32)
    for last in (0, 1):
        idx = (3 << 5 | 0b11100 | last) << 9 | 7
        assert list(cache.segments_of(idx)) == [28, 29]


@pytest.mark.parametrize(
    ("length", "together"),
    [(1, 1), (4, 1), (16, 1), (17, 2), (32, 2), (33, 4), (128, 8), (256, 16), (257, 32), (512, 32)],
)
def test_modes(length, together):
    """The whole capacity holds properties, whatever their size."""
    cache = PropertyCache(segments=32, sets=2, ways=4, property_bytes=length)
    assert cache.together == together
    assert cache.lines * together == 32 * 2 * 4
    firsts = range(0, 32, together)
    idxs = [(tag * 32 + first) * 2 + k for tag in range(4) for first in firsts for k in range(2)]
    values = {idx: idx.to_bytes(2, "little") * 256 for idx in idxs}
    for idx in idxs:
        assert cache.insert(idx, values[idx][:length]) is Outcome.INSERTED
    for idx in idxs:
        assert cache.lookup(idx, length) == (Outcome.HIT, values[idx][:length])


@pytest.mark.parametrize("length", [0, 513])
def test_sizes_that_bypass(length):
    cache = PropertyCache(segments=32, sets=2, ways=4, property_bytes=length)
    assert cache.insert(0, bytes(length)) is Outcome.BYPASSED
    assert cache.lookup(0, length) == (Outcome.BYPASSED, None)


def test_another_length_bypasses():
    cache = PropertyCache(segments=32, sets=2, ways=4, property_bytes=30)
    cache.insert(0, item(1, 30))
    for length in (29, 31, 32):
        assert cache.lookup(0, length) == (Outcome.BYPASSED, None)
        assert cache.insert(1, bytes(length)) is Outcome.BYPASSED
    assert cache.lookup(0, 30) == (Outcome.HIT, item(1, 30))
