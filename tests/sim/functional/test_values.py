from amaranth.hdl import signed, unsigned
from amaranth.lib import data, enum

from sim.functional.values import Leaf, Values, leaves, value_bins
from sim.harness.payloads import pack


class Kind(enum.Enum, shape=2):
    READ = 1
    WRITE = 2


BEAT = data.StructLayout(
    {"kind": Kind, "sums": data.ArrayLayout(signed(4), 3), "length": 5, "address": 40, "last": 1}
)


def test_leaves_say_where_they_are():
    result = [(leaf.name, leaf.offset) for leaf in leaves(BEAT)]
    elements = [("sums[]", 2), ("sums[]", 6), ("sums[]", 10)]
    assert result == [("kind", 0), *elements, ("length", 14), ("address", 19), ("last", 59)]


def test_long_arrays_are_looked_at_from_both_ends():
    offsets = [leaf.offset for leaf in leaves(data.ArrayLayout(2, 100), "a")]
    assert offsets == [*range(0, 16, 2), *range(184, 200, 2)]


def bins_of(shape, bits, name="field", level=False):
    return {
        n
        for n, issue in value_bins(Leaf(name=name, offset=0, shape=shape), level).items()
        if issue(bits)
    }


def test_extremes_of_numbers():
    assert bins_of(signed(4), 0b1000) == {"negative", "most negative"}
    assert bins_of(signed(4), 0b0111) == {"most positive"}
    assert bins_of(signed(4), 0) == {"zero"}
    assert bins_of(unsigned(4), 0b1111, name="") == {"highest bit", "all ones"}
    assert bins_of(unsigned(4), 0b1111, name="", level=True) == {"not zero"}
    assert bins_of(unsigned(4), 0b1111) == {"highest bit"}
    assert bins_of(unsigned(4), 0) == {"zero"}
    assert bins_of(unsigned(4), 0b0110, level=True) == {"not zero"}
    assert bins_of(unsigned(1), 1) == {"not zero"}
    assert bins_of(unsigned(1), 0) == {"zero"}
    assert bins_of(unsigned(1), 0, level=True) == set()
    assert bins_of(unsigned(8), 0x7F, name="tkeep") == {"some"}
    assert bins_of(unsigned(8), 0xFF, name="wstrb") == {"all"}
    assert bins_of(Kind, 2) == {"WRITE"}


def test_what_has_no_bins():
    assert not value_bins(Leaf(name="data", offset=0, shape=unsigned(65)))
    assert not value_bins(Leaf(name="", offset=0, shape=unsigned(512)))


def test_a_beat_hits_the_bins_of_all_its_fields():
    values = Values(BEAT)
    assert len(values.names) == 2 + 4 + 2 + 2 + 2
    beat = {"kind": Kind.READ, "sums": [0, -8, 3], "length": 0, "last": 1}
    assert values.hit(pack(BEAT, beat)) == {
        "kind READ",
        "sums[] zero",
        "sums[] negative",
        "sums[] most negative",
        "length zero",
        "address zero",
        "last not zero",
    }


def test_of_settings_only_named_values_count():
    assert Values(BEAT, level=True, provided=True).names == ("kind READ", "kind WRITE")
    assert "length not zero" in Values(BEAT, level=True).names
    assert Values(1, level=True, provided=True).names == ("not zero",)
