"""Codes commands to a switch and its answers as bytes, and reads them.

This is the 60-byte frame of MINA's tenancy without its checksum. Addresses and ethertype are in
network order; other fields have their low byte first.
"""

import struct
from typing import NamedTuple

from sim.golden.tenancy import Command, Reason, Verb

BYTES = 60
ETHERTYPE = b"\x88\xb5"
VERSION = 2
NUMBERS = {verb: 32 + k for k, verb in enumerate(Verb)}  #: byte 15
VERBS = {number: verb for verb, number in NUMBERS.items()}
REASONS = tuple(Reason)  #: by number
COMMANDS = (Verb.REGISTER, Verb.ACQUIRE, Verb.RELEASE)
FORCE, HAS_PARENT = 1, 2  # bits of byte 44
LAYOUT = struct.Struct("<6s6s2sBBIHHIIIHBBIB15s")


class Requested(NamedTuple):
    """Holds a command, and the address that it came from."""

    command: Command
    source: bytes


def to_bytes(command: Command, *, destination: bytes = bytes(6), source: bytes = bytes(6)) -> bytes:
    """Return the frame of a command or an answer; ValueError if a field does not fit."""
    try:
        return LAYOUT.pack(
            destination,
            source,
            ETHERTYPE,
            VERSION,
            NUMBERS[command.verb],
            command.switch,
            command.job,
            command.owner,
            command.epoch,
            command.owner_epoch,
            command.ports,
            command.base,
            command.parent or 0,
            REASONS.index(command.reason),
            command.count,
            FORCE * command.force | HAS_PARENT * (command.parent is not None),
            bytes(15),
        )
    except struct.error as error:
        raise ValueError(f"{error}: {command}") from None


def from_bytes(wire: bytes) -> Command:
    """Return the command or answer in 60 bytes; ValueError for an unknown verb or reason."""
    fields = LAYOUT.unpack(wire)
    _, _, _, _, number, switch, job, owner, epoch, owner_epoch, ports, base, *fields = fields
    parent, reason, count, flags, _ = fields
    if number not in VERBS:
        raise ValueError(f"no kind has the number {number}")
    if reason >= len(REASONS):
        raise ValueError(f"no reason has the number {reason}")
    return Command(
        verb=VERBS[number],
        switch=switch,
        job=job,
        epoch=epoch,
        force=bool(flags & FORCE),
        ports=ports,
        parent=parent if flags & HAS_PARENT else None,
        base=base,
        count=count,
        reason=REASONS[reason],
        owner=owner,
        owner_epoch=owner_epoch,
    )


def requested_from(wire: bytes, address: bytes) -> Requested | None:
    """Return the command in a frame for the switch of that ``address``; None if it is no command.

    In a command, reserved bits and the fields that only answers use are zero.
    """
    own = wire[:6] == address and wire[12:14] == ETHERTYPE and wire[14:15] == bytes([VERSION])
    if len(wire) != BYTES or not own or VERBS.get(wire[15]) not in COMMANDS:
        return None
    if wire[44] & ~(FORCE | HAS_PARENT) or any(wire[45:]) or wire[39] or any(wire[22:24]):
        return None
    return None if any(wire[28:32]) else Requested(from_bytes(wire), wire[6:12])
