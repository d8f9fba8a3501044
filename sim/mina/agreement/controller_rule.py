"""Specifies how the controller of a group runs its rounds, by functions of an immutable state.

MINA, section IV-B, figure 9, as corrected. The jobs of a group share their trees: one grant at a
time says which job uses INA, for which of its operations. A round asks all hosts (PREPARE), decides
when all have acknowledged, and tells all (UPDATE) until all have confirmed, or gives up (ABORT).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from sim.mina.agreement.frames import NO_GRANT, Grant, Kind, Message


class Phase(Enum):
    """Says what the controller waits for."""

    IDLE = 0
    REQUESTING = 1  #: the ACKs of all hosts
    REPORTING = 2  #: DONE of all hosts


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Describes what a round is to bring."""

    grant: Grant = NO_GRANT  #: next grant, if nobody owns a tree then; ``end`` counts operations
    withdraw: bool = False  #: whether the owner is to stop now, not at the end of its grant


JobHosts = tuple[int, tuple[int, ...]]  #: a job and its hosts


@dataclass(frozen=True, kw_only=True)
class Controller:
    """Holds what the controller keeps of a group; the first three fields outlive its restart."""

    jobs: tuple[JobHosts, ...]  #: jobs with all hosts alive
    dropped: tuple[JobHosts, ...] = ()  #: jobs that are over, as a host of theirs was lost
    number: int = 0  #: greatest number of a round or a grant
    phase: Phase = Phase.IDLE
    round: int = 0  #: number of the last round
    wish: Wish = Wish()  #: what the round is to bring
    acks: tuple[Message, ...] = ()  #: ACKs of the round, by host
    done: frozenset[int] = frozenset()  #: hosts that have confirmed
    grant: Grant | None = NO_GRANT  #: grant that all hosts have; None: not known since a restart
    reported: Grant = NO_GRANT  #: grant that the round tells, while TELLING
    over: tuple[tuple[int, int], ...] = ()  #: by job: all operations below are over

    @property
    def hosts(self) -> dict[int, int]:
        """Return the job of each host, of all jobs that are not over."""
        return {host: job for job, hosts in self.jobs for host in hosts}

    @property
    def lost(self) -> dict[int, int]:
        """Return the job of each host, of jobs that are over."""
        return {host: job for job, hosts in self.dropped for host in hosts}

    @property
    def all_requested(self) -> bool:
        """Return whether the ACKs of all hosts are in."""
        return len(self.acks) == len(self.hosts)

    def below(self, job: int) -> int:
        """Return the operation of the job below which all are known to be over."""
        return dict(self.over).get(job, 0)


def restarted(controller: Controller) -> Controller:
    """Return a controller that begins anew: it knows its jobs and its last number, nothing else."""
    return Controller(
        jobs=controller.jobs, dropped=controller.dropped, number=controller.number, grant=None
    )


def begins(controller: Controller, wish: Wish) -> Controller:
    """Return the controller as its next round begins; the one before is over."""
    number = controller.number + 1
    return replace(
        controller, number=number, round=number, phase=Phase.REQUESTING, wish=wish, acks=()
    )


def controller_rule(controller: Controller, message: Message) -> tuple[Controller, Message | None]:
    """Return what a host's message makes of the controller, and the answer to it."""
    if message.host in controller.lost:
        over = Message(kind=Kind.END, host=message.host, job=message.job)
        return controller, None if message.kind is Kind.ENDED else over
    if message.kind is Kind.ENDED:
        return drops(controller, message.job), None
    if message.kind is Kind.ACK:
        return ack_rule(controller, message)
    own = controller.phase is Phase.REPORTING and message.round == controller.round
    if message.kind is Kind.DONE and own:
        return reported_all(replace(controller, done=controller.done | {message.host})), None
    return controller, None


def ack_rule(controller: Controller, message: Message) -> tuple[Controller, Message | None]:
    """Return what an ACK makes of the controller, and the answer.

    The host is locked in this round, or in one that has been given up. A controller that has not
    ended its first round does not know what became of earlier ones.
    """
    if controller.phase is not Phase.IDLE and message.round == controller.round:
        known = {ack.host for ack in controller.acks}
        if controller.phase is Phase.REPORTING or message.host in known:
            return controller, None
        acks = sorted((*controller.acks, message), key=lambda ack: ack.host)
        return replace(controller, acks=tuple(acks)), None
    if controller.grant is None:
        return controller, None
    return controller, abort(controller, message)


def abort(controller: Controller, message: Message) -> Message:
    """Return the message that the round in which a host is locked has been given up."""
    below = controller.below(message.job)
    return Message(
        kind=Kind.ABORT, host=message.host, job=message.job, round=message.round, index=below
    )


def aborts(controller: Controller) -> Iterator[Message]:
    """Yield the messages to all hosts that the last round has been given up."""
    for host, job in controller.hosts.items():
        below = controller.below(job)
        yield Message(kind=Kind.ABORT, host=host, job=job, round=controller.round, index=below)


def of_job(controller: Controller, job: int) -> list[Message]:
    """Return the ACKs of a job's hosts."""
    return [ack for ack in controller.acks if ack.job == job]


def latest(controller: Controller) -> Message:
    """Return an ACK of a host that has the newest grant."""
    return max(controller.acks, key=lambda ack: ack.version)


def has_ended(controller: Controller, grant: Grant) -> bool:
    """Return whether no host uses a grant any more, nor will: the round's ACKs say so."""
    if not grant.epoch or grant.job not in dict(controller.jobs):
        return True
    return all(ack.index >= grant.end and not ack.ina for ack in of_job(controller, grant.job))


def equal_indices(controller: Controller) -> bool:
    """Return whether the hosts of each job are at the same operation."""
    return all(
        len({ack.index for ack in of_job(controller, job)}) == 1 for job, _ in controller.jobs
    )


def decision(controller: Controller) -> Grant | None:
    """Return what the round tells the hosts, whose ACKs are all in; None if it is given up.

    The first round after a restart tells the newest grant to all, if some have it and some not.
    """
    if controller.grant is None:
        differ = len({ack.version for ack in controller.acks}) > 1
        return latest(controller).grant if differ else None
    if not equal_indices(controller):
        return None
    if not has_ended(controller, controller.grant):
        return shortened(controller, controller.grant)
    expected = controller.wish.grant
    if expected.epoch and of_job(controller, expected.job):
        first = of_job(controller, expected.job)[0].index
        return replace(expected, first=first, end=first + expected.end)
    return NO_GRANT if controller.grant.epoch else None


def shortened(controller: Controller, grant: Grant) -> Grant | None:
    """Return the grant with an earlier end, if it has to have one.

    A stalled operation that lacks sums anywhere is behind the end: all repeat it without INA.
    """
    acks = of_job(controller, grant.job)
    index = acks[0].index
    stalled = any(ack.stalled for ack in acks)
    if stalled and any(ack.missing for ack in acks):
        end = index - 1
    elif stalled or controller.wish.withdraw:
        end = index
    else:
        return None
    return replace(grant, end=end) if end < grant.end else None


def decides(controller: Controller) -> Controller:
    """Return the controller after all ACKs: its round's grant is told, or the round given up."""
    assert controller.phase is Phase.REQUESTING
    assert controller.all_requested
    reported = decision(controller)
    controller = learnt(controller)
    if reported is not None:
        return reported_all(
            replace(controller, phase=Phase.REPORTING, reported=reported, done=frozenset())
        )
    return abandons(controller)


def may_abandon(controller: Controller) -> bool:
    """Return whether a round may end before all answered: not the first one after a restart."""
    return controller.grant is not None


def abandons(controller: Controller) -> Controller:
    """Return the controller as its round ends without a grant."""
    known = controller.grant
    if known is None and controller.acks:
        known = latest(controller).grant
    return replace(controller, phase=Phase.IDLE, grant=known or NO_GRANT, acks=())


def learnt(controller: Controller) -> Controller:
    """Return the controller with what the ACKs of all hosts say of operations that are over.

    An operation is over at all hosts if one has been freed of it, or if all have all of its sums.
    """
    over = {}
    for job, _ in controller.jobs:
        acks = of_job(controller, job)
        freed = max(ack.index - ack.busy for ack in acks)
        complete = not any(ack.missing for ack in acks)
        whole = min(ack.index for ack in acks) if complete else 0
        over[job] = max(freed, whole, controller.below(job))
    return replace(controller, over=tuple(over.items()))


def reported_all(controller: Controller) -> Controller:
    """Return the controller, whose round is over if all hosts have confirmed."""
    if controller.phase is not Phase.REPORTING or not controller.done >= controller.hosts.keys():
        return controller
    return replace(controller, phase=Phase.IDLE, grant=controller.reported, acks=())


def drops(controller: Controller, job: int) -> Controller:
    """Return the controller without a job whose host is lost: its hosts take no part any more."""
    over = tuple(entry for entry in controller.jobs if entry[0] == job)
    left = tuple(entry for entry in controller.jobs if entry[0] != job)
    hosts = {host for _, hosts in over for host in hosts}
    acks = tuple(ack for ack in controller.acks if ack.host not in hosts)
    controller = replace(
        controller,
        jobs=left,
        dropped=(*controller.dropped, *over),
        acks=acks,
        done=controller.done - hosts,
    )
    return reported_all(controller)


def repeated(controller: Controller) -> Iterator[Message]:
    """Yield what the controller sends again and again to those who have not answered."""
    answered = {ack.host for ack in controller.acks}
    for host, job in controller.hosts.items():
        if controller.phase is Phase.REQUESTING and host not in answered:
            yield Message(kind=Kind.PREPARE, host=host, job=job, round=controller.round)
        if controller.phase is Phase.REPORTING and host not in controller.done:
            below = controller.below(job)
            yield Message(
                kind=Kind.UPDATE,
                host=host,
                job=job,
                round=controller.round,
                index=below,
                grant=controller.reported,
            )
