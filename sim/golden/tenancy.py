"""Whose a switch is, as pure functions over an immutable state: what the hardware has to equal.

The design's tenancy: a job is registered, acquires the switch, is granted it, releases it, drains.
Jobs that are registered may overlap. Of two that are granted or draining at a time neither has a
slot of the other; and they are apart as the switch's unit says.
"""

from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import NamedTuple

EPOCHS = 1 << 16  #: numbers of grants that packets of the data plane tell apart


class Verb(StrEnum):
    """What a command to a switch, or its answer, is."""

    REGISTER = "REGISTER"  # to a switch: a job's ports and slots
    ACQUIRE = "ACQUIRE"  # to a switch: one try to get the switch for a job
    RELEASE = "RELEASE"  # to a switch: the job's grants up to a number are over
    REGISTERED = "REGISTERED"  # the job has its entry
    GRANTED = "GRANTED"  # the job owns the switch, its slots are cleared
    REFUSED = "REFUSED"  # it does not, for a reason
    DRAINING = "DRAINING"  # the release waits for slots that are not finished
    RELEASED = "RELEASED"  # no grant of the job up to the number is left, nor will be


class Reason(StrEnum):
    """Why a switch refuses a command; the first that applies."""

    NONE = "none"
    NO_SUCH_JOB = "no such job"  # the number is too large
    BAD_PORTS = "bad ports"  # no child, a port that the switch has not, or the parent's twice
    BAD_SLOTS = "bad slots"  # none, or some that the switch has not
    OLD = "old"  # the number is of a grant that is over
    NOT_REGISTERED = "not registered"
    HELD = "held"  # the job itself is granted or draining, by another number
    SWITCH_TAKEN = "switch taken"  # by another job, or as many as the switch takes
    PORTS_TAKEN = "ports taken"  # by another job
    SLOTS_TAKEN = "slots taken"  # by another job


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command to a switch or its answer; what a verb does not use is zero."""

    verb: Verb
    switch: int
    job: int
    epoch: int  #: number of the grant; REGISTER, RELEASE: of the last one that is over
    force: bool = False  #: RELEASE: at once, whatever the slots hold
    ports: int = 0  #: REGISTER: bitmap of the job's children
    parent: int | None = None  #: REGISTER: port towards the parent, of a switch that has one
    base: int = 0  #: REGISTER: first slot
    count: int = 0  #: REGISTER: number of slots
    reason: Reason = Reason.NONE  #: REFUSED
    owner: int = 0  #: REFUSED, taken: the job that stands in the way
    owner_epoch: int = 0  #: REFUSED, taken: the number of its grant


class Unit(Enum):
    """What one job owns at a time."""

    SWITCH = "switch"  #: the switch; with ``most`` above 1, as many jobs may
    PORT = "port"  #: its ports, those of the children and the parent's


class State(Enum):
    """Where a registered job stands."""

    REGISTERED = 0
    GRANTED = 1
    DRAINING = 2  #: starts no new use, and ends when all its slots are finished


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A registered job."""

    ports: int  #: children
    parent: int | None
    base: int
    count: int
    closed: int  #: no grant of this number or one below is given any more
    state: State = State.REGISTERED
    epoch: int = 0  #: number of the grant

    @property
    def everyone(self) -> int:
        """The bitmap of all its ports."""
        return self.ports | (0 if self.parent is None else 1 << self.parent)

    @property
    def slots(self) -> range:
        """Its slots."""
        return range(self.base, self.base + self.count)

    @property
    def holds(self) -> bool:
        """Whether others have to keep away."""
        return self.state is not State.REGISTERED


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a switch has, and how it is shared."""

    ports: int = 2
    slots: int = 2
    jobs: int = 2
    unit: Unit = Unit.SWITCH
    most: int = 1  #: C: jobs that have the switch at a time, by switch; 0: it takes nobody


Tenants = tuple[Tenant | None, ...]  #: by job


class Outcome(NamedTuple):
    """What becomes of the tenants, the answer, and the job whose slots are cleared before it."""

    tenants: Tenants
    answer: Command
    cleared: int | None = None


def at_start(sizes: Sizes) -> Tenants:
    """A switch that has just started knows no job."""
    return (None,) * sizes.jobs


def answered(command: Command, verb: Verb, **fields: object) -> Command:
    """The answer to a command."""
    named = Command(verb=verb, switch=command.switch, job=command.job, epoch=command.epoch)
    return replace(named, **fields)


def refused(tenants: Tenants, command: Command, reason: Reason, owner: int = 0) -> Outcome:
    """Nothing changes; the answer names the reason, and who stands in the way."""
    entry = tenants[owner] if owner < len(tenants) else None
    epoch = entry.epoch if entry is not None and entry.holds else 0
    fields = {"reason": reason, "owner": owner, "owner_epoch": epoch}
    return Outcome(tenants, answered(command, Verb.REFUSED, **fields))


def with_tenant(tenants: Tenants, job: int, tenant: Tenant) -> Tenants:
    """The tenants with another entry for a job."""
    return (*tenants[:job], tenant, *tenants[job + 1 :])


def tenancy_rule(sizes: Sizes, tenants: Tenants, command: Command, finished: bool) -> Outcome:
    """A command comes in; ``finished`` says that no slot of its job has a use under way."""
    if command.job >= sizes.jobs:
        return refused(tenants, command, Reason.NO_SUCH_JOB, command.job)
    if command.verb is Verb.REGISTER:
        return register_rule(sizes, tenants, command)
    if command.verb is Verb.ACQUIRE:
        return acquire_rule(sizes, tenants, command)
    return release_rule(tenants, command, finished)


def register_rule(sizes: Sizes, tenants: Tenants, command: Command) -> Outcome:
    """A job gets ports and slots, unless it holds the switch; an old command changes nothing."""
    entry = tenants[command.job]
    parent = 0 if command.parent is None else 1 << command.parent
    everyone = command.ports | parent
    past = command.base + command.count
    if not command.ports or command.ports & parent or everyone >> sizes.ports:
        return refused(tenants, command, Reason.BAD_PORTS, command.job)
    if not command.count or past > sizes.slots:
        return refused(tenants, command, Reason.BAD_SLOTS, command.job)
    if entry is not None and command.epoch < entry.closed:
        return refused(tenants, command, Reason.OLD, command.job)
    if entry is not None and entry.holds:
        return refused(tenants, command, Reason.HELD, command.job)
    tenant = Tenant(
        ports=command.ports,
        parent=command.parent,
        base=command.base,
        count=command.count,
        closed=command.epoch,
    )
    registered = with_tenant(tenants, command.job, tenant)
    return Outcome(registered, answered(command, Verb.REGISTERED))


def acquire_rule(sizes: Sizes, tenants: Tenants, command: Command) -> Outcome:
    """One try: granted, or refused and not queued. What is granted already is granted again."""
    entry = tenants[command.job]
    if entry is None:
        return refused(tenants, command, Reason.NOT_REGISTERED, command.job)
    if command.epoch <= entry.closed:
        return refused(tenants, command, Reason.OLD, command.job)
    if entry.state is State.GRANTED and entry.epoch == command.epoch:
        return Outcome(tenants, answered(command, Verb.GRANTED))
    if entry.holds:
        return refused(tenants, command, Reason.HELD, command.job)
    obstacle = in_the_way(sizes, tenants, command.job)
    if obstacle is not None:
        return refused(tenants, command, *obstacle)
    granted = replace(entry, state=State.GRANTED, epoch=command.epoch)
    after = with_tenant(tenants, command.job, granted)
    return Outcome(after, answered(command, Verb.GRANTED), cleared=command.job)


def in_the_way(sizes: Sizes, tenants: Tenants, job: int) -> tuple[Reason, int] | None:
    """Why a registered job cannot have the switch now, and the first other job that is why."""
    mine = tenants[job]
    assert mine is not None
    pairs = enumerate(tenants)
    others = [(k, one) for k, one in pairs if k != job and one is not None and one.holds]
    if sizes.unit is Unit.SWITCH and len(others) >= sizes.most:
        return Reason.SWITCH_TAKEN, others[0][0] if others else job  # it takes nobody
    for other, one in others:
        if sizes.unit is Unit.PORT and one.everyone & mine.everyone:
            return Reason.PORTS_TAKEN, other
    for other, one in others:
        if max(mine.base, one.base) < min(mine.slots.stop, one.slots.stop):
            return Reason.SLOTS_TAKEN, other
    return None


def release_rule(tenants: Tenants, command: Command, finished: bool) -> Outcome:
    """Grants up to the command's number are over, and none of them is given any more."""
    entry = tenants[command.job]
    if entry is None:
        return Outcome(tenants, answered(command, Verb.RELEASED))
    entry = replace(entry, closed=max(entry.closed, command.epoch))
    verb = Verb.RELEASED
    if entry.holds and entry.epoch <= command.epoch:
        if command.force or finished:
            entry = replace(entry, state=State.REGISTERED, epoch=0)
        else:
            entry = replace(entry, state=State.DRAINING)
            verb = Verb.DRAINING
    return Outcome(with_tenant(tenants, command.job, entry), answered(command, verb))


def drained(tenants: Tenants, job: int) -> Tenants:
    """All slots of a job are finished: if it drains, its grant is over."""
    entry = tenants[job]
    if entry is None or entry.state is not State.DRAINING:
        return tenants
    return with_tenant(tenants, job, replace(entry, state=State.REGISTERED, epoch=0))


class Refused(StrEnum):
    """Why a packet of the data plane changes nothing and is not answered."""

    WRONG_JOB = "wrong job"  # not registered, or not at this port
    WRONG_WORKER = "wrong worker"  # not the bit of its port
    NOT_GRANTED = "not granted"  # its job does not own the switch
    WRONG_RUN = "wrong run"  # of another grant
    WRONG_SLOT = "wrong slot"  # outside the job's slots
    DRAINING = "draining"  # it would begin a use of its slot, and its job has been released


def packet_rule(
    tenants: Tenants, port: int, *, job: int, bm: int, epoch: int, slot: int
) -> Tenant | Refused:
    """The tenant whose packet it is, which came by ``port``; what its slot says of it comes behind.

    Of a tenant that drains a packet that would begin a use of its slot is then ``DRAINING``.
    """
    entry = tenants[job] if job < len(tenants) else None
    if entry is None or not entry.ports >> port & 1:
        return Refused.WRONG_JOB
    if bm != 1 << port:
        return Refused.WRONG_WORKER
    if not entry.holds:
        return Refused.NOT_GRANTED
    if epoch != entry.epoch % EPOCHS:
        return Refused.WRONG_RUN
    return entry if slot in entry.slots else Refused.WRONG_SLOT
