"""What a host does with a message of the controller, as pure functions over an immutable state.

MINA, section IV-B, figure 9, as corrected: a locked host starts no operation and stays locked until
the round that it is locked in, or a later one, is decided. No timer unlocks it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from sim.mina.agreement.frames import NO_GRANT, Grant, Kind, Message


@dataclass(frozen=True, kw_only=True)
class Host:
    """What a host keeps for the agreement."""

    number: int
    job: int
    index: int = 0  #: of its next operation
    busy: bool = False  #: the operation before is under way
    used: int = 0  #: epoch that the operation before used INA by; 0: it did without
    missing: bool = False  #: that operation is under way, and not all of its sums are in
    stalled: bool = False  #: it makes no progress
    over: int = 0  #: all operations below are over, it was told
    version: int = 0  #: the round that its grant was told in
    grant: Grant = NO_GRANT
    round: int = 0  #: newest that it has heard of
    lock: Message | None = None  #: what it has acknowledged that round with, while it is locked
    ended: bool = False  #: its job is over

    @property
    def locked(self) -> bool:
        """Whether it starts no operation."""
        return self.lock is not None


class Reaction(NamedTuple):
    """What becomes of a host, and its answer."""

    host: Host
    answer: Message | None = None


def may_start(host: Host) -> bool:
    """Whether the host may start its next operation."""
    return not (host.locked or host.busy or host.ended)


def starts(host: Host) -> Host:
    """The next operation is started: with INA just if the host's grant covers it."""
    used = host.grant.epoch if host.grant.covers(host.job, host.index) else 0
    return replace(host, index=host.index + 1, busy=True, used=used, missing=True)


def fills(host: Host) -> Host:
    """All sums of the operation under way are in; with INA, it is not over before all have them."""
    return replace(host, missing=False)


def stalls(host: Host) -> Host:
    """The operation under way, with INA, makes no progress. The host waits on."""
    assert host.busy
    assert host.used
    return settled(replace(host, stalled=True))


def finishes(host: Host) -> Host:
    """The operation under way is over."""
    return replace(host, busy=False, missing=False, stalled=False)


def said(host: Host, kind: Kind, number: int = 0) -> Message:
    """A message of the host, of a round if it has one."""
    return Message(kind=kind, host=host.number, job=host.job, round=number)


def acknowledgement(host: Host, kind: Kind = Kind.ACK) -> Message:
    """The host says in which round it is locked, and where it is."""
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
    """The host says that its operation makes no progress."""
    return acknowledgement(host, Kind.REPORT)


def host_rule(host: Host, message: Message) -> Reaction:
    """A message of the controller comes in; one of an old round changes nothing."""
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
    return Reaction(told_over(replace(host, lock=None), message.index))


def prepare_rule(host: Host, message: Message) -> Reaction:
    """A round begins: a later one takes over the lock of an earlier one."""
    if message.round > host.round:
        host = replace(host, round=message.round)
        host = replace(host, lock=acknowledgement(host))
    return Reaction(host, host.lock if message.round == host.round else None)


def update_rule(host: Host, message: Message) -> Reaction:
    """The host's round is decided; what it has taken already it confirms again."""
    if host.locked:
        host = replace(host, version=host.round, grant=message.grant, lock=None)
        host = told_over(host, message.index)
        if withdrawn(host):
            host = replace(host, busy=True, used=0, missing=True, stalled=False)
    taken = host.version == message.round
    return Reaction(host, said(host, Kind.DONE, host.round) if taken else None)


def told_over(host: Host, over: int) -> Host:
    """The host hears that all operations below ``over`` are over.

    The controller knows so by a host that has been freed, or by all hosts, which have all sums.
    """
    return settled(replace(host, over=max(host.over, over)))


def settled(host: Host) -> Host:
    """An operation that is over, whose sums are all in, is not waited for if it is stalled.

    A host that is not stalled waits for the switch's word, without which it cannot use its slots.
    """
    waits = host.busy and host.stalled and not host.missing
    return finishes(host) if waits and host.index <= host.over else host


def withdrawn(host: Host) -> bool:
    """Whether the operation before is no longer of the grant that it was started by.

    Then it is repeated without INA, be it over at this host or not: some other host lacks sums.
    """
    same = host.used != 0 and host.used == host.grant.epoch
    return same and not host.grant.covers(host.job, host.index - 1)


def repeated(host: Host) -> tuple[Message, ...]:
    """What the host says again and again, as long as it is locked: where it was then."""
    return () if host.lock is None else (host.lock,)
