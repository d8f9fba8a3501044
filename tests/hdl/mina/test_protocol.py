"""Where the fields of MINA's control frames lie, and that other systems' frames are told apart."""

import pytest

from hdl.mina.protocol import (
    AGREEMENT_FRAMES,
    ETHERTYPE,
    ETHERTYPE_ON_WIRE,
    FRAME_BYTES,
    TENANCY_FRAMES,
    VERSION,
    AgreementHead,
    Kind,
    Reason,
    TenancyHead,
)
from hdl.p4sgd.network import frame as p4sgd
from hdl.switchgnn import protocol as switchgnn
from sim.mina.agreement import frames

#: First byte and bits of each field.
COMMON = {
    "destination": (0, 48),
    "source": (6, 48),
    "ethertype": (12, 16),
    "version": (14, 8),
    "kind": (15, 8),
    "job": (20, 16),
    "owner": (22, 16),
}
AGREEMENT = COMMON | {
    "host": (16, 32),
    "round": (24, 32),
    "told": (28, 32),
    "index": (32, 32),
    "epoch": (36, 32),
    "tree": (40, 16),
    "busy": (42, 1),
    "ina": (42 + 1 / 8, 1),
    "missing": (42 + 2 / 8, 1),
    "stalled": (42 + 3 / 8, 1),
    "no_flags": (42 + 4 / 8, 12),
    "first": (44, 32),
    "end": (48, 32),
    "nothing": (52, 64),
}
TENANCY = COMMON | {
    "switch": (16, 32),
    "epoch": (24, 32),
    "owner_epoch": (28, 32),
    "ports": (32, 32),
    "base": (36, 16),
    "parent": (38, 8),
    "reason": (39, 8),
    "count": (40, 32),
    "force": (44, 1),
    "has_parent": (44 + 1 / 8, 1),
    "no_flags": (44 + 2 / 8, 6),
    "nothing": (45, 120),
}


@pytest.mark.parametrize(
    ("head", "places"),
    [(AgreementHead, AGREEMENT), (TenancyHead, TENANCY)],
    ids=["hosts", "switch"],
)
def test_every_field_has_its_place(head, places):
    shape = head.as_shape()
    assert {name: (field.offset / 8, field.width) for name, field in shape} == places
    assert shape.size == 8 * FRAME_BYTES


def test_the_first_fields_are_those_of_the_other_systems():
    """One filter judges the frames of all; the byte of the kind tells them apart."""
    assert (ETHERTYPE, ETHERTYPE_ON_WIRE) == (p4sgd.ETHERTYPE, p4sgd.ETHERTYPE_ON_WIRE)
    assert VERSION == p4sgd.VERSION
    theirs = p4sgd.Frame.as_shape()
    for head in (AgreementHead, TenancyHead):
        ours = head.as_shape()
        for name in ("destination", "source", "ethertype", "version", "job"):
            assert ours[name] == theirs[name]
        assert ours["kind"].offset == theirs["is_agg"].offset
    numbers = {kind.value for kind in Kind}
    assert not numbers & {kind.value for kind in switchgnn.Kind}
    assert min(numbers) > 3, "P4SGD's flags"


@pytest.mark.parametrize("frame_format", [AGREEMENT_FRAMES, TENANCY_FRAMES])
def test_formats_are_of_one_beat(frame_format):
    assert frame_format.beats == 1
    assert frame_format.most_bytes == FRAME_BYTES


def test_names_are_those_of_the_rules():
    rules = {*frames.Kind.__members__, *frames.Verb.__members__}
    assert {kind.name for kind in Kind} == rules
    assert [reason.name for reason in Reason] == list(frames.Reason.__members__)
