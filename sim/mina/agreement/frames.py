"""Describes what frames between hosts, controller and switches say, not how they are coded.

`hdl/mina/protocol.py` has the layout of :class:`Message`. Commands to switches and their answers
are those of :mod:`sim.golden.tenancy`; :class:`Data` is a frame of P4SGD's AllReduce, and
:class:`Share` stands for the AllReduce without a switch.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

from sim.golden.reduction.allreduce import Packet
from sim.golden.tenancy import Command


class Role(Enum):
    """Says what stands at a place of the network."""

    CONTROLLER = "controller"
    HOST = "host"
    SWITCH = "switch"


class Place(NamedTuple):
    """Names where a frame goes to or comes from."""

    role: Role
    number: int = 0


CONTROLLER = Place(Role.CONTROLLER)


@dataclass(frozen=True, kw_only=True)
class Grant:
    """Gives a tree to one job for its operations from ``first`` on, below ``end``."""

    job: int = 0
    epoch: int = 0  #: number of the grant, which no other grant has; 0: nobody owns a tree
    tree: int = 0
    first: int = 0
    end: int = 0

    def covers(self, job: int, index: int) -> bool:
        """Return whether a host of ``job`` uses INA for its operation ``index``."""
        return self.epoch != 0 and self.job == job and self.first <= index < self.end


NO_GRANT = Grant()


class Kind(StrEnum):
    """Says what a message between host and controller is (MINA, section IV-B, figure 9)."""

    PREPARE = "PREPARE"  # to a host: lock, and say where you are
    ACK = "ACK"  # from a host: it is locked in the round, and says where it is
    UPDATE = "UPDATE"  # to a host: the round's grant, which ends the round
    ABORT = "ABORT"  # to a host: the round ends without a grant
    DONE = "DONE"  # from a host: it has taken the round's UPDATE
    END = "END"  # to a host: its job is over, as one of the job's hosts is lost
    ENDED = "ENDED"  # from a host: it has ended
    REPORT = "REPORT"  # from a host: its operation makes no progress


@dataclass(frozen=True, kw_only=True)
class Message:
    """Holds a message between a host and the controller; what a kind does not use is zero."""

    kind: Kind
    host: int  #: number of the host that it goes to, or comes from
    job: int = 0  #: job of the host
    round: int = 0
    version: int = 0  #: ACK: the round that the host's grant was told in
    index: int = 0  #: ACK: the host's next operation; UPDATE, ABORT: all below are over
    busy: bool = False  #: ACK: whether the operation before is under way
    ina: bool = False  #: ACK: whether that operation is under way with INA
    missing: bool = False  #: ACK: whether it is under way, and not all of its sums are in
    stalled: bool = False  #: ACK: whether it is under way with INA, and makes no progress
    grant: Grant = NO_GRANT  #: UPDATE: grant from now on; ACK: grant that the host has


@dataclass(frozen=True, kw_only=True)
class Data:
    """Holds a packet of an AllReduce with INA: P4SGD's frame."""

    job: int
    epoch: int  #: number of the grant, modulo EPOCHS
    slot: int
    packet: Packet


@dataclass(frozen=True, kw_only=True)
class Share:
    """Holds a host's part of an operation without INA; with ``taken``, a peer's receipt for it."""

    job: int
    index: int
    host: int  #: the host whose part it is
    peer: int  #: the host that gets it
    taken: bool = False
    parts: tuple[tuple[int, ...], ...] = ()  #: numbers by slot and lane; none in a receipt


Frame = Message | Command | Data | Share
Sent = tuple[tuple[Place, Frame], ...]  #: frames, and where they go
