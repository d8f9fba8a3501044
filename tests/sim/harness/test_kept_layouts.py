"""Checks that parameters whose layouts are kept are otherwise unchanged."""

import pickle
from dataclasses import dataclass, field, replace

from amaranth.lib import data

from sim.harness.kept_layouts import keep_layouts


@dataclass(frozen=True)
class Inner:
    bits: int = 3

    @property
    def beat(self):
        return data.StructLayout({"a": self.bits})


@dataclass(frozen=True)
class Outer:
    inner: Inner = field(default_factory=Inner)
    depth: int = 4

    @property
    def beat(self):
        return data.StructLayout({"b": self.depth, "inner": self.inner.beat})

    @property
    def wider(self):
        return Inner(self.inner.bits + 1)

    @property
    def names(self):
        return ["a"]


def test_layouts_and_parameters_are_made_once():
    before = Outer()
    assert before.beat is not before.beat
    kept = keep_layouts(Outer())
    assert kept.beat is kept.beat
    assert kept.inner.beat is kept.inner.beat
    assert kept.wider is kept.wider
    assert kept.wider.beat is kept.wider.beat
    assert kept.names is not kept.names  # which may be changed by whoever asks for it


def test_others_have_their_own():
    kept = keep_layouts(Outer())
    other = replace(kept, inner=Inner(7), depth=5)
    assert kept.beat.size == 7
    assert other.beat.size == 12
    assert other.wider.beat.size == 8
    assert kept == Outer()
    assert hash(kept) == hash(Outer())
    assert repr(kept) == repr(Outer())
    assert pickle.loads(pickle.dumps(kept)) == kept


def test_what_is_no_parameters_stays():
    assert keep_layouts(5) == 5
    assert keep_layouts(Outer) is Outer
