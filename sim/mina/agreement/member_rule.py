"""Specifies a host as a whole: its part in the agreement, and its operation."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sim.mina.agreement import host_rule as hosting
from sim.mina.agreement import operation_rule as operations
from sim.mina.agreement.frames import CONTROLLER, Data, Frame, Message, Sent, Share
from sim.mina.agreement.host_rule import Host
from sim.mina.agreement.operation_rule import Operation, Parts, Route


@dataclass(frozen=True, kw_only=True)
class MemberSetup:
    """Holds what a host knows from the start."""

    host: int
    job: int
    peers: frozenset[int]
    ways: tuple[Route, ...]  #: way of the host's packets, by tree
    parts: Callable[[int], Parts]  #: the host's part of an operation


@dataclass(frozen=True, kw_only=True)
class MemberRules:
    """Holds the rules of a host: those of the specification, or a variant of them."""

    host: Callable[[Host, Message], hosting.Reaction] = hosting.host_rule
    starts: Callable[[Host], Host] = hosting.starts
    stalls: Callable[[Host], Host] = hosting.stalls
    data: Callable[[Operation, Data, int], Operation] = operations.data_rule
    share: Callable[[Operation, Share], tuple[Operation, Sent]] = operations.share_rule


RULES = MemberRules()


@dataclass(frozen=True, kw_only=True)
class Member:
    """Holds a host, and its operation under way or the last one: peers may still need that."""

    host: Host
    operation: Operation | None = None


def at_start(setup: MemberSetup) -> Member:
    """Return a host that has not started an operation."""
    return Member(host=Host(number=setup.host, job=setup.job))


def way_of(setup: MemberSetup, member: Member) -> Route | None:
    """Return where packets of the host's operation go."""
    return setup.ways[member.host.grant.tree] if member.host.used else None


def starts(setup: MemberSetup, member: Member, rules: MemberRules = RULES) -> Member:
    """Return the host as its next operation is started."""
    host = rules.starts(member.host)
    operation = Operation(
        job=setup.job,
        host=setup.host,
        peers=setup.peers,
        index=member.host.index,
        parts=setup.parts(member.host.index),
    )
    if host.used:
        operation = operations.with_ina(operation, host.grant)
    return settled(Member(host=host, operation=operation))


def settled(member: Member) -> Member:
    """Return the host after it has taken note of how far its operation is."""
    host, operation = member.host, member.operation
    if operation is None or not host.busy:
        return member
    if operation.complete and host.missing:
        host = hosting.fills(host)
    if operation.over:
        host = hosting.finishes(host)
    return replace(member, host=host)


def stalls(member: Member, rules: MemberRules = RULES) -> tuple[Member, Sent]:
    """Return the host as its operation makes no progress, and what tells the controller so."""
    host, operation = member.host, member.operation
    assert operation is not None
    if host.used and not host.stalled:
        host = rules.stalls(host)
    after = with_host(operation, host)
    return after, ((CONTROLLER, hosting.report(host)),)


def with_host(operation: Operation | None, host: Host) -> Member:
    """Return the host after it was told something, by which its operation may lose INA."""
    if operation is not None and operation.epoch and not host.used:
        operation = operations.without_ina(operation)
    return settled(Member(host=host, operation=operation))


def member_rule(
    setup: MemberSetup, member: Member, frame: Frame, rules: MemberRules = RULES
) -> tuple[Member, Sent]:
    """Return what a frame makes of the host, and what is sent."""
    if isinstance(frame, Message):
        return message_rule(member, frame, rules)
    operation = member.operation
    if operation is None or member.host.ended:
        return member, ()
    if isinstance(frame, Share):
        operation, answers = rules.share(operation, frame)
        return settled(replace(member, operation=operation)), answers
    assert isinstance(frame, Data)
    path = way_of(setup, member)
    if path is None:
        return member, ()
    operation = rules.data(operation, frame, path.base)
    return settled(replace(member, operation=operation)), ()


def message_rule(member: Member, message: Message, rules: MemberRules) -> tuple[Member, Sent]:
    """Return what a controller's message makes of the host; it may take away its grant."""
    host, answer = rules.host(member.host, message)
    after = with_host(member.operation, host)
    return after, () if answer is None else ((CONTROLLER, answer),)


def sent(setup: MemberSetup, member: Member) -> Sent:
    """Return what the host sends again and again."""
    host, operation = member.host, member.operation
    requested = tuple((CONTROLLER, message) for message in hosting.repeated(host))
    if operation is None or not host.busy:
        return requested
    return (*requested, *operations.sent(operation, way_of(setup, member)))
