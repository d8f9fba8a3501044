"""Checks where the fields of MINA's control frames lie, and that no system takes others' frames."""

from hdl.mina.protocol import AGREEMENT_FRAMES, AgreementHead, Kind
from hdl.p4sgd.network import frame as p4sgd
from hdl.switch.tenancy_head import (
    ETHERTYPE,
    ETHERTYPE_ON_WIRE,
    FRAME_BYTES,
    VERSION,
    TenancyHead,
    TenancyKind,
)
from hdl.switchgnn import protocol as switchgnn
from sim.mina.agreement import frames
from tests.tables import places

#: First byte and bits of each field.
AGREEMENT = places(
    """
    destination 0 48, source 6 48, ethertype 12 16, version 14 8, kind 15 8, job 20 16, owner 22 16,
    host 16 32, round 24 32, reported 28 32, index 32 32, epoch 36 32, tree 40 16, busy 42 1,
    ina 42.125 1, missing 42.25 1, stalled 42.375 1, no_flags 42.5 12, first 44 32, end 48 32,
    nothing 52 64
    """
)


def test_every_field_has_its_place():
    shape = AgreementHead.as_shape()
    assert {name: (field.offset / 8, field.width) for name, field in shape} == AGREEMENT
    assert shape.size == 8 * FRAME_BYTES


def test_the_first_fields_are_those_of_the_other_systems():
    """One filter judges the frames of all; the byte of the kind tells them apart."""
    assert (ETHERTYPE, ETHERTYPE_ON_WIRE) == (p4sgd.ETHERTYPE, p4sgd.ETHERTYPE_ON_WIRE)
    assert VERSION == p4sgd.VERSION
    reference = p4sgd.Frame.as_shape()
    for head in (AgreementHead, TenancyHead):
        to_switch = head.as_shape()
        for name in ("destination", "source", "ethertype", "version", "job"):
            assert to_switch[name] == reference[name]
        assert to_switch["kind"].offset == reference["is_agg"].offset
    numbers = [kind.value for kinds in (Kind, TenancyKind) for kind in kinds]
    assert len(set(numbers)) == len(numbers)
    assert not set(numbers) & {kind.value for kind in switchgnn.Kind}
    assert min(numbers) > 3, "P4SGD's flags"


def test_the_format_is_of_one_beat():
    assert AGREEMENT_FRAMES.beats == 1
    assert AGREEMENT_FRAMES.max_bytes == FRAME_BYTES


def test_a_filter_refuses_bits_that_must_be_zero():
    """Only those are refused that no field has (MINA's rules: they are zero)."""
    unused = {name for name, _ in AgreementHead.as_shape() if name.startswith("no")}
    assert set(AGREEMENT_FRAMES.zero) == unused == {"no_flags", "nothing"}


def test_names_are_those_of_the_rules():
    assert [kind.name for kind in Kind] == list(frames.Kind.__members__)
