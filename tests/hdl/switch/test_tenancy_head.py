"""Checks where the fields of commands and their answers lie."""

import random

from hdl.switch.tenancy_head import (
    COMMAND_KINDS,
    ETHERTYPE_ON_WIRE,
    FRAME_BYTES,
    TENANCY_FRAMES,
    VERSION,
    Reason,
    TenancyHead,
    TenancyKind,
)
from sim.golden import tenancy, tenancy_frames
from sim.golden.tenancy import Command
from sim.harness.payloads import unpack
from tests.tables import places

#: First byte and bits of each field.
PLACES = places(
    """
    destination 0 48, source 6 48, ethertype 12 16, version 14 8, kind 15 8, switch 16 32,
    job 20 16, owner 22 16, epoch 24 32, owner_epoch 28 32, ports 32 32, base 36 16, parent 38 8,
    reason 39 8, count 40 32, force 44 1, has_parent 44.125 1, no_flags 44.25 6, nothing 45 120
    """
)


def test_every_field_has_its_place():
    shape = TenancyHead.as_shape()
    assert {name: (field.offset / 8, field.width) for name, field in shape} == PLACES
    assert shape.size == 8 * FRAME_BYTES
    assert TENANCY_FRAMES.beats == 1
    assert TENANCY_FRAMES.max_bytes == FRAME_BYTES


def test_names_are_those_of_the_golden_model():
    assert {kind.name: kind.value for kind in TenancyKind} == {
        verb.name: number for verb, number in tenancy_frames.NUMBERS.items()
    }
    assert [reason.name for reason in Reason] == [reason.name for reason in tenancy.Reason]
    assert [kind.name for kind in COMMAND_KINDS] == [v.name for v in tenancy_frames.COMMANDS]


def test_frames_are_those_of_the_golden_model():
    for verb in tenancy.Verb:
        numbers = {name: random.getrandbits(32) for name in ("switch", "epoch", "owner_epoch")}
        numbers |= {name: random.getrandbits(16) for name in ("job", "owner", "base")}
        numbers |= {name: random.getrandbits(32) for name in ("ports", "count")}
        reason, parent = random.choice(list(tenancy.Reason)), random.getrandbits(8)
        command = Command(verb=verb, reason=reason, parent=parent, force=True, **numbers)
        addresses = {"destination": random.randbytes(6), "source": random.randbytes(6)}
        wire = tenancy_frames.to_bytes(command, **addresses)
        head = unpack(TenancyHead, int.from_bytes(wire, "little"))
        common = {"ethertype": ETHERTYPE_ON_WIRE, "version": VERSION, "has_parent": 1, "force": 1}
        common |= {"kind": TenancyKind[verb.name], "reason": Reason[reason.name], "parent": parent}
        common |= {name: int.from_bytes(item, "little") for name, item in addresses.items()}
        assert head == numbers | common | {"no_flags": 0, "nothing": 0}
        assert tenancy_frames.from_bytes(wire) == command
