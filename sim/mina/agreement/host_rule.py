"""Specifies what a host does with a message of the controller, by functions of immutable state.

MINA, section IV-B, figure 9, as corrected: a locked host starts no operation and stays locked until
the round that it is locked in, or a later one, is decided. No timer unlocks it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from sim.mina.agreement.frames import NO_GRANT, Grant, Kind, Message


@dataclass(frozen=True, kw_only=True)
class Host:
    """Holds what a host keeps for the agreement."""

    number: int
    job: int
    index: int = 0  #: number of its next operation
    busy: bool = False  #: whether the operation before is under way
    used: int = 0  #: epoch by which the operation before used INA; 0: it did without
    missing: bool = False  #: whether that operation is under way, and not all of its sums are in
    stalled: bool = False  #: whether that operation makes no progress
    over: int = 0  #: operation below which all are over, as it was told
    version: int = 0  #: number of the round that its grant was told in
    grant: Grant = NO_GRANT
    round: int = 0  #: number of the newest round that it knows of
    lock: Message | None = None  #: what it has acknowledged that round with, while it is locked
    ended: bool = False  #: whether its job is over

    @property
    def locked(self) -> bool:
        """Return whether it starts no operation."""
        return self.lock is not None


class Reaction(NamedTuple):
    """Holds what becomes of a host, and its answer."""

    host: Host
    answer: Message | None = None


def may_start(host: Host) -> bool:
    """Return whether the host may start its next operation."""
    return not (host.locked or host.busy or host.ended)


def starts(host: Host) -> Host:
    """Return the host as it starts its next operation: with INA if its grant covers that."""
    used = host.grant.epoch if host.grant.covers(host.job, host.index) else 0
    return replace(host, index=host.index + 1, busy=True, used=used, missing=True)


def fills(host: Host) -> Host:
    """Return the host as all its sums are in; with INA an operation is over when all have them."""
    return replace(host, missing=False)


def stalls(host: Host) -> Host:
    """Return the host as its operation, with INA, makes no progress; it waits on."""
    assert host.busy
    assert host.used
    return settled(replace(host, stalled=True))


def finishes(host: Host) -> Host:
    """Return the host as the operation under way is over."""
    return replace(host, busy=False, missing=False, stalled=False)


def said(host: Host, kind: Kind, number: int = 0) -> Message:
    """Return a message of the host, of a round if it has one."""
    return Message(kind=kind, host=host.number, job=host.job, round=number)


def acknowledgement(host: Host, kind: Kind = Kind.ACK) -> Message:
    """Return the message in which round the host is locked, and where it is."""
    return Message(
        kind=kind,
        host=host.number,
        job=host.job,
        round=host.round,
        version=host.version,
        index=host.index,
        busy=host.busy,
        ina=host.busy and host.used != 0,
        missing=host.missing,
        stalled=host.stalled,
        grant=host.grant,
    )


def report(host: Host) -> Message:
    """Return the message that the host's operation makes no progress."""
    return acknowledgement(host, Kind.REPORT)


def host_rule(host: Host, message: Message) -> Reaction:
    """Return what a controller's message makes of the host; one of an old round changes nothing."""
    if message.kind is Kind.END:
        ended = replace(host, ended=True, lock=None, busy=False)
        return Reaction(ended, said(host, Kind.ENDED))
    if host.ended:
        return Reaction(host, said(host, Kind.ENDED))
    if message.kind is Kind.PREPARE:
        return prepare_rule(host, message)
    if message.round != host.round:
        return Reaction(host)
    if message.kind is Kind.UPDATE:
        return update_rule(host, message)
    return Reaction(reported_over(replace(host, lock=None), message.index))


def prepare_rule(host: Host, message: Message) -> Reaction:
    """Return the host as a round begins: a later round takes over the lock of an earlier one."""
    if message.round > host.round:
        host = replace(host, round=message.round)
        host = replace(host, lock=acknowledgement(host))
    return Reaction(host, host.lock if message.round == host.round else None)


def update_rule(host: Host, message: Message) -> Reaction:
    """Return the host as its round is decided; what it has taken already it confirms again."""
    if host.locked:
        host = replace(host, version=host.round, grant=message.grant, lock=None)
        host = reported_over(host, message.index)
        if withdrawn(host):
            host = replace(host, busy=True, used=0, missing=True, stalled=False)
    taken = host.version == message.round
    return Reaction(host, said(host, Kind.DONE, host.round) if taken else None)


def reported_over(host: Host, over: int) -> Host:
    """Return the host as it is told that all operations below ``over`` are over.

    The controller knows so by a host that has been freed, or by all hosts, which have all sums.
    """
    return settled(replace(host, over=max(host.over, over)))


def settled(host: Host) -> Host:
    """Return the host, which waits no more for a stalled operation that is over and has all sums.

    A host that is not stalled waits for the switch's confirmation, without which it cannot use its
    slots.
    """
    waits = host.busy and host.stalled and not host.missing
    return finishes(host) if waits and host.index <= host.over else host


def withdrawn(host: Host) -> bool:
    """Return whether the operation before is no longer of the grant that it was started by.

    Then it is repeated without INA, be it over at this host or not: some other host lacks sums.
    """
    same = host.used != 0 and host.used == host.grant.epoch
    return same and not host.grant.covers(host.job, host.index - 1)


def repeated(host: Host) -> tuple[Message, ...]:
    """Return what the host sends again and again while it is locked: where it was then."""
    return () if host.lock is None else (host.lock,)
