"""Compares MINA's frames with bytes that are packed without our layouts."""

import random
import struct

import pytest

from sim.golden.reduction.allreduce import Packet
from sim.golden.reduction.frames import LANES
from sim.golden.tenancy import Command, Reason, Verb
from sim.mina.agreement.frames import Data, Grant, Kind, Message
from sim.mina.wire import from_octets, to_octets

KINDS = {kind: 16 + k for k, kind in enumerate(Kind)}  #: byte 15
VERBS = {verb: 32 + k for k, verb in enumerate(Verb)}
REASONS = {reason: k for k, reason in enumerate(Reason)}
HEAD = bytes(12) + bytes([0x88, 0xB5, 2])


def message(rng, kind):
    """Draw a message with random fields."""
    grant = Grant(
        job=rng.getrandbits(16),
        epoch=rng.getrandbits(32),
        tree=rng.getrandbits(16),
        first=rng.getrandbits(32),
        end=rng.getrandbits(32),
    )
    numbers = {name: rng.getrandbits(32) for name in ("host", "round", "version", "index")}
    flags = {name: rng.random() < 0.5 for name in ("busy", "ina", "missing", "stalled")}
    return Message(kind=kind, job=rng.getrandbits(16), grant=grant, **numbers, **flags)


def message_by_hand(item):
    """Pack the message by struct alone."""
    flags = item.busy | item.ina << 1 | item.missing << 2 | item.stalled << 3
    octets = HEAD + bytes([KINDS[item.kind]])
    octets += struct.pack("<IHHII", item.host, item.job, item.grant.job, item.round, item.version)
    octets += struct.pack("<IIHBB", item.index, item.grant.epoch, item.grant.tree, flags, 0)
    return (octets + struct.pack("<II", item.grant.first, item.grant.end)).ljust(60, b"\0")


def command(rng, verb):
    """Draw a command with random fields."""
    return Command(
        verb=verb,
        switch=rng.getrandbits(32),
        job=rng.getrandbits(16),
        epoch=rng.getrandbits(32),
        force=rng.random() < 0.5,
        ports=rng.getrandbits(32),
        parent=rng.choice([None, 0, 31]),
        base=rng.getrandbits(16),
        count=rng.getrandbits(17),
        reason=rng.choice(list(Reason)),
        owner=rng.getrandbits(16),
        owner_epoch=rng.getrandbits(32),
    )


def command_by_hand(item):
    """Pack the command by struct alone."""
    octets = HEAD + bytes([VERBS[item.verb]])
    octets += struct.pack("<IHHII", item.switch, item.job, item.owner, item.epoch, item.owner_epoch)
    octets += struct.pack("<IHBB", item.ports, item.base, item.parent or 0, REASONS[item.reason])
    flags = item.force | (item.parent is not None) << 1
    return (octets + struct.pack("<IB", item.count, flags)).ljust(60, b"\0")


@pytest.mark.parametrize("kind", Kind)
def test_bytes_of_messages(kind):
    rng = random.Random(kind)
    for _ in range(20):
        item = message(rng, kind)
        assert to_octets(item) == message_by_hand(item)
        assert from_octets(message_by_hand(item)) == item


@pytest.mark.parametrize("verb", Verb)
def test_bytes_of_commands(verb):
    rng = random.Random(verb)
    for _ in range(20):
        item = command(rng, verb)
        assert to_octets(item) == command_by_hand(item)
        assert from_octets(command_by_hand(item)) == item


@pytest.mark.parametrize(
    "packet",
    [
        Packet(True, 1, 255, payload=tuple(range(-4, LANES - 4))),
        Packet(False, 1 << 31, 3),
        Packet(False, 2, 0, acked=True),
        Packet(True, 4, 7, acked=True),
        Packet(True, 4, 7, payload=(1,) * LANES, saturated=0x81),
    ],
)
def test_packets_are_those_of_the_other_system(packet):
    item = Data(job=7, epoch=0xFFFF, slot=513, packet=packet)
    octets = to_octets(item)
    assert octets[15] < 4
    assert from_octets(octets) == item


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        (15, 15, "no kind"),
        (15, 40, "no kind"),
        (12, 0, "none of ours"),
        (59, 1, "zero"),
        (43, 1, "zero"),
    ],
)
def test_bytes_that_are_no_message(place, value, error):
    octets = bytearray(message_by_hand(message(random.Random(0), Kind.ACK)))
    octets[place] = value
    with pytest.raises(ValueError, match=error):
        from_octets(bytes(octets))


def test_bytes_that_are_no_command():
    octets = bytearray(command_by_hand(command(random.Random(0), Verb.REFUSED)))
    octets[39] = len(Reason)
    with pytest.raises(ValueError, match="no reason"):
        from_octets(bytes(octets))
    with pytest.raises(ValueError, match="60 bytes: 59"):
        from_octets(bytes(59))


def test_numbers_that_do_not_fit():
    with pytest.raises(ValueError, match="does not fit"):
        to_octets(Message(kind=Kind.ACK, host=0, round=1 << 32))
