import pytest
from amaranth.lib import data

from hdl.p4sgd.network import frame as p4sgd
from hdl.switchgnn.protocol import (
    ACK_BITS,
    ETHERTYPE,
    ETHERTYPE_ON_WIRE,
    VERSION,
    Head,
    Kind,
    Target,
    frame_bytes,
    frame_format,
)
from sim.switchgnn.evaluation.frames import FrameSizes
from tests.tables import places

#: First byte and bits of each field.
PLACES = places(
    """
    destination 0 48, source 6 48, ethertype 12 16, version 14 8, kind 15 8, bm 16 32, job 20 16,
    epoch 22 16, turn 24 32, seq 28 32, ecn 32 1, about 34 128
    """
)
TARGETS = {"list": (34, 32), "source": (38, 32), "raw": (42, 32), "rows": (46, 16)}


def test_every_field_has_its_place():
    head = {name: (field.offset / 8, field.width) for name, field in Head.as_shape()}
    assert head.pop("no_flags") == (32 + 1 / 8, 15)
    assert head == PLACES
    target = {name: (34 + field.offset // 8, field.width) for name, field in Target.as_shape()}
    assert target.pop("nothing") == (48, 16)
    assert target == TARGETS
    about = Head.as_shape()["about"].shape
    assert isinstance(about, data.UnionLayout)
    assert about.size == ACK_BITS


def test_the_first_fields_are_those_of_the_other_system():
    """One filter and one job table judge both; the byte of the kind tells them apart."""
    assert (ETHERTYPE, ETHERTYPE_ON_WIRE) == (p4sgd.ETHERTYPE, p4sgd.ETHERTYPE_ON_WIRE)
    assert VERSION == p4sgd.VERSION
    own, reference = Head.as_shape(), p4sgd.Frame.as_shape()
    for name in ("destination", "source", "ethertype", "version", "bm", "job", "epoch"):
        assert own[name] == reference[name]
    assert own["kind"].offset == reference["is_agg"].offset
    assert min(kind.value for kind in Kind) == 4  # is_agg and acked are bits 0 and 1


@pytest.mark.parametrize(
    ("lanes", "feature", "total"), [(2, 128, 128), (32, 128, 192), (128, 320, 576)]
)
def test_lengths(lanes, feature, total):
    lengths = {kind.name: frame_bytes(kind, lanes) for kind in Kind}
    assert (lengths["FEATURE"], lengths["RAW"]) == (feature, feature)
    assert (lengths["PARTIAL"], lengths["RESULT"]) == (total, total)
    assert {lengths[name] for name in ("ACK", "ADVANCE", "FETCH", "DONE", "RAWFETCH")} == {60}
    frames = frame_format(lanes)
    assert (frames.least_bytes, frames.max_bytes) == (60, total)
    assert frames.beats == total // 64
    assert (FrameSizes.of(lanes).feature, FrameSizes.of(lanes).sums) == (feature, total)
