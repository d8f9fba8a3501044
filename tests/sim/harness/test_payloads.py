import pickle
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from amaranth.hdl import signed, unsigned
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out, Signature
from hypothesis import given
from hypothesis import strategies as st

from hdl.common.component import Component
from sim.harness.kept_layouts import keep_layouts
from sim.harness.payloads import pack, payload_shape, unpack
from tests.rejects import refuses


class Kind(enum.Enum, shape=2):
    LOAD = 1
    STORE = 2


class Header(data.Struct):
    kind: Kind
    size: 3


BEAT = data.StructLayout({"rows": data.ArrayLayout(signed(5), 3), "head": Header, "last": 1})


def test_struct_of_array_and_enumeration():
    beat = {"rows": [-16, 15, -1], "head": {"kind": Kind.STORE, "size": 5}, "last": 1}
    bits = pack(BEAT, beat)
    assert bits == 0b1_101_10_11111_01111_10000
    assert bits == BEAT.const(beat).as_bits()
    assert unpack(BEAT, bits) == beat


@given(st.integers(0, (1 << BEAT.size) - 1).filter(lambda bits: bits >> 15 & 3 in (1, 2)))
def test_round_trip(bits):
    assert pack(BEAT, unpack(BEAT, bits)) == bits


def test_what_numpy_gives():
    assert pack(data.ArrayLayout(signed(8), 2), np.array([-1, 1], np.int8)) == 0x01FF
    assert pack(signed(4), np.int64(-8)) == 8
    assert pack(1, np.True_) == 1


def test_bits_in_place_of_a_struct():
    assert pack(BEAT, 0x1F) == 0x1F


def test_constants_inside():
    head = {"kind": Kind.LOAD, "size": 2}
    beat = {"rows": BEAT["rows"].shape.const([1, -2, 3]), "head": Header.const(head), "last": 0}
    assert unpack(BEAT, pack(BEAT, beat)) == {"rows": [1, -2, 3], "head": head, "last": 0}


def test_left_out_fields_are_zero():
    assert pack(BEAT, {"last": 1}) == 1 << BEAT.size - 1


test_what_does_not_fit = refuses(
    pack,
    (unsigned(4), 16, "16 does not fit unsigned.4"),
    (unsigned(4), -1, "-1 does not fit unsigned.4"),
    (signed(4), 8, "8 does not fit signed.4"),
    (signed(4), -9, "-9 does not fit signed.4"),
    (0, 1, "1 does not fit unsigned.0"),
    (data.ArrayLayout(4, 2), [1], "1 values for an array of 2"),
    (BEAT, {"lasst": 1}, "no field 'lasst'"),
    (BEAT, {"rows": [0, 0, 16]}, "16 does not fit signed.5"),
    (BEAT, 1 << BEAT.size, "2097152 does not fit unsigned.21"),
)


def test_shape_of_nested_streams():
    inner = Signature({"data": Out(stream.Signature(signed(3)))})
    bundle = {"a": In(stream.Signature(4)), "b": Out(inner).array(2), "c": In(1)}
    component = Component(None, bundle)
    assert payload_shape(component, "a") == 4
    assert payload_shape(component, "b_1_data") == signed(3)
    with pytest.raises(LookupError, match="no stream b_data in Component: a, b_0_data, b_1_data"):
        payload_shape(component, "b_data")


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


def test_layouts_and_parameters_are_built_once():
    before = Outer()
    assert before.beat is not before.beat
    stored = keep_layouts(Outer())
    assert stored.beat is stored.beat
    assert stored.inner.beat is stored.inner.beat
    assert stored.wider is stored.wider
    assert stored.wider.beat is stored.wider.beat
    assert stored.names is not stored.names  # which may be changed by whoever asks for it


def test_others_have_their_own():
    stored = keep_layouts(Outer())
    other = replace(stored, inner=Inner(7), depth=5)
    assert stored.beat.size == 7
    assert other.beat.size == 12
    assert other.wider.beat.size == 8
    assert stored == Outer()
    assert hash(stored) == hash(Outer())
    assert repr(stored) == repr(Outer())
    assert pickle.loads(pickle.dumps(stored)) == stored


def test_what_is_no_parameters_stays():
    assert keep_layouts(5) == 5
    assert keep_layouts(Outer) is Outer
