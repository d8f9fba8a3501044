"""Specifies which job owns a switch, by pure functions of an immutable state, for the hardware.

A job is registered, acquires the switch, is granted it, releases it, and drains if slots are still
in use. Registered jobs may have slots in common. Two jobs that are granted or drain at the same
time have no slot in common; with unit PORT they have no port in common either, and with unit SWITCH
at most ``most`` jobs own the switch.
"""

from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import NamedTuple

EPOCHS = 1 << 16  #: packets of the data plane carry a grant's number modulo this


class Verb(StrEnum):
    """Names the kind of a command to a switch, or of its answer."""

    REGISTER = "REGISTER"  # to a switch: a job's ports and slots
    ACQUIRE = "ACQUIRE"  # to a switch: one try to get the switch for a job
    RELEASE = "RELEASE"  # to a switch: the job's grants up to a number are over
    REGISTERED = "REGISTERED"  # the job has its entry
    GRANTED = "GRANTED"  # the job owns the switch, its slots are cleared
    REFUSED = "REFUSED"  # it does not, for a reason
    DRAINING = "DRAINING"  # the release waits for slots that are not finished
    RELEASED = "RELEASED"  # no grant of the job up to the number is left, nor will be


class Reason(StrEnum):
    """Names why a switch refuses a command; the first reason that applies counts."""

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
    """Holds a command to a switch or its answer; fields that a verb does not use are zero."""

    verb: Verb
    switch: int
    job: int
    epoch: int  #: number of the grant; REGISTER, RELEASE: of the last one that is over
    force: bool = False  #: RELEASE: whether the grant ends at once, whatever the slots hold
    ports: int = 0  #: REGISTER: bitmap of the job's children
    parent: int | None = None  #: REGISTER: port towards the parent, of a switch that has one
    base: int = 0  #: REGISTER: first slot
    count: int = 0  #: REGISTER: number of slots
    reason: Reason = Reason.NONE  #: REFUSED: why
    owner: int = 0  #: REFUSED as another job has something: that job
    owner_epoch: int = 0  #: REFUSED likewise: the number of that job's grant


class Unit(Enum):
    """Names what only one job can own at a time."""

    SWITCH = "switch"  #: the switch; up to ``most`` jobs own it together
    PORT = "port"  #: its ports, those of the children and the parent's


class State(Enum):
    """Names whether a registered job owns the switch."""

    REGISTERED = 0
    GRANTED = 1
    DRAINING = 2  #: starts no new use, and ends when all its slots are finished


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """Describes a registered job: its ports, its slots and its grant."""

    ports: int  #: bitmap of the ports of the job's children
    parent: int | None
    base: int
    count: int
    closed: int  #: grants of numbers up to this are over
    state: State = State.REGISTERED
    epoch: int = 0  #: number of the grant; 0 without one

    @property
    def everyone(self) -> int:
        """Return the bitmap of all its ports, the parent's included."""
        return self.ports | (0 if self.parent is None else 1 << self.parent)

    @property
    def slots(self) -> range:
        """Return the numbers of its slots."""
        return range(self.base, self.base + self.count)

    @property
    def holds(self) -> bool:
        """Return whether the job is granted the switch or drains."""
        return self.state is not State.REGISTERED


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sets the sizes of a switch, and how jobs share it."""

    ports: int = 2
    slots: int = 2
    jobs: int = 2
    unit: Unit = Unit.SWITCH
    most: int = 1  #: jobs that may own the switch at a time if the unit is SWITCH; 0: none


Tenants = tuple[Tenant | None, ...]  #: registered jobs by their numbers; None where none is


class Outcome(NamedTuple):
    """Holds the new tenants, the answer, and the job whose slots are cleared before the answer."""

    tenants: Tenants
    answer: Command
    cleared: int | None = None


def at_start(sizes: Sizes) -> Tenants:
    """Return the tenants of a switch that has just started: none."""
    return (None,) * sizes.jobs


def answered(command: Command, verb: Verb, **fields: object) -> Command:
    """Return the answer to a command."""
    named = Command(verb=verb, switch=command.switch, job=command.job, epoch=command.epoch)
    return replace(named, **fields)


def refused(tenants: Tenants, command: Command, reason: Reason, owner: int = 0) -> Outcome:
    """Return a refusal: nothing changes; the answer names the reason, and the job in the way."""
    entry = tenants[owner] if owner < len(tenants) else None
    epoch = entry.epoch if entry is not None and entry.holds else 0
    fields = {"reason": reason, "owner": owner, "owner_epoch": epoch}
    return Outcome(tenants, answered(command, Verb.REFUSED, **fields))


def with_tenant(tenants: Tenants, job: int, tenant: Tenant) -> Tenants:
    """Return the tenants with another entry for a job."""
    return (*tenants[:job], tenant, *tenants[job + 1 :])


def tenancy_rule(sizes: Sizes, tenants: Tenants, command: Command, finished: bool) -> Outcome:
    """Carry out a command; ``finished`` says that no slot of its job has a use under way."""
    if command.job >= sizes.jobs:
        return refused(tenants, command, Reason.NO_SUCH_JOB, command.job)
    if command.verb is Verb.REGISTER:
        return register_rule(sizes, tenants, command)
    if command.verb is Verb.ACQUIRE:
        return acquire_rule(sizes, tenants, command)
    return release_rule(tenants, command, finished)


def register_rule(sizes: Sizes, tenants: Tenants, command: Command) -> Outcome:
    """Register a job's ports and slots, unless it holds the switch or the command is old."""
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
    """Grant the switch or refuse it; a job is not queued, and its present grant is repeated."""
    entry = tenants[command.job]
    if entry is None:
        return refused(tenants, command, Reason.NOT_REGISTERED, command.job)
    if command.epoch <= entry.closed:
        return refused(tenants, command, Reason.OLD, command.job)
    if entry.state is State.GRANTED and entry.epoch == command.epoch:
        return Outcome(tenants, answered(command, Verb.GRANTED))
    if entry.holds:
        return refused(tenants, command, Reason.HELD, command.job)
    obstacle = blocking(sizes, tenants, command.job)
    if obstacle is not None:
        return refused(tenants, command, *obstacle)
    granted = replace(entry, state=State.GRANTED, epoch=command.epoch)
    after = with_tenant(tenants, command.job, granted)
    return Outcome(after, answered(command, Verb.GRANTED), cleared=command.job)


def blocking(sizes: Sizes, tenants: Tenants, job: int) -> tuple[Reason, int] | None:
    """Return why a registered job cannot have the switch now, and the first job in its way."""
    own = tenants[job]
    assert own is not None
    pairs = enumerate(tenants)
    others = [(k, first) for k, first in pairs if k != job and first is not None and first.holds]
    if sizes.unit is Unit.SWITCH and len(others) >= sizes.most:
        return Reason.SWITCH_TAKEN, others[0][0] if others else job  # it takes nobody
    for second, first in others:
        if sizes.unit is Unit.PORT and first.everyone & own.everyone:
            return Reason.PORTS_TAKEN, second
    for second, first in others:
        if max(own.base, first.base) < min(own.slots.stop, first.slots.stop):
            return Reason.SLOTS_TAKEN, second
    return None


def release_rule(tenants: Tenants, command: Command, finished: bool) -> Outcome:
    """End all grants up to the command's number, for good."""
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
    """End the grant of a job that drains, as all its slots are finished."""
    entry = tenants[job]
    if entry is None or entry.state is not State.DRAINING:
        return tenants
    return with_tenant(tenants, job, replace(entry, state=State.REGISTERED, epoch=0))


class Refused(StrEnum):
    """Names why a packet of the data plane changes nothing and is not answered."""

    WRONG_JOB = "wrong job"  # not registered, or not at this port
    WRONG_WORKER = "wrong worker"  # not the bit of its port
    NOT_GRANTED = "not granted"  # its job does not own the switch
    WRONG_RUN = "wrong run"  # of another grant
    WRONG_SLOT = "wrong slot"  # outside the job's slots
    DRAINING = "draining"  # it would begin a use of its slot, and its job has been released


def packet_rule(
    tenants: Tenants, port: int, *, job: int, bm: int, epoch: int, slot: int
) -> Tenant | Refused:
    """Return the tenant of a packet that came by ``port``, or why the packet is refused.

    A packet of a draining tenant that would begin a use of its slot is refused later, by the slot.
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
