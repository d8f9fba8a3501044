"""Commands to a switch, and its answers, as bytes; and which bytes a switch takes for a command.

The 60-byte frame of MINA's tenancy (section "RTL: one data plane" of the design's page), without
its checksum. Addresses and ethertype are in the order of the wire, all else has its low byte first.
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


class Asked(NamedTuple):
    """A command, and the address that it came from."""

    command: Command
    source: bytes


def to_bytes(command: Command, *, destination: bytes = bytes(6), source: bytes = bytes(6)) -> bytes:
    """The frame of a command or an answer; ValueError for what does not fit."""
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
    """The command or answer that 60 bytes are; ValueError for a verb or reason that is none."""
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


def asked_of(wire: bytes, address: bytes) -> Asked | None:
    """The command that a whole frame is to the switch of that ``address``; None if it is none.

    Bits that are zero in every frame are zero, and what only an answer says is not said.
    """
    ours = wire[:6] == address and wire[12:14] == ETHERTYPE and wire[14:15] == bytes([VERSION])
    if len(wire) != BYTES or not ours or VERBS.get(wire[15]) not in COMMANDS:
        return None
    if wire[44] & ~(FORCE | HAS_PARENT) or any(wire[45:]) or wire[39] or any(wire[22:24]):
        return None
    return None if any(wire[28:32]) else Asked(from_bytes(wire), wire[6:12])
