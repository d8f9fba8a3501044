"""Whose a switch is, as pure functions over an immutable state: what the hardware has to equal.

The design's tenancy: a job is registered, acquires the switch, is granted it, releases it, drains.
Jobs that are registered may overlap. Of two that are granted or draining at a time neither has a
slot of the other; and they are apart as the switch's unit says.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from sim.mina.agreement.frames import EPOCHS, Command, Data, Reason, Verb
from sim.p4sgd.golden.allreduce import SwitchSlot


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
    most: int = 1  #: C: jobs that have the switch at a time, by switch


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
        return Reason.SWITCH_TAKEN, others[0][0]
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


class Refused(Enum):
    """Why a packet of the data plane changes nothing and is not answered."""

    WRONG_JOB = "wrong job"  # not registered, or not at this port
    WRONG_WORKER = "wrong worker"  # not the bit of its port
    NOT_GRANTED = "not granted"  # its job does not own the switch
    WRONG_RUN = "wrong run"  # of another grant
    WRONG_SLOT = "wrong slot"  # outside the job's slots
    DRAINING = "draining"  # would begin a use


def data_rule(tenants: Tenants, port: int, data: Data, slot: SwitchSlot) -> Tenant | Refused:
    """The tenant whose packet it is, which came by ``port`` for a slot that holds ``slot``."""
    entry = tenants[data.job] if data.job < len(tenants) else None
    if entry is None or not entry.ports >> port & 1:
        return Refused.WRONG_JOB
    if data.packet.bm != 1 << port:
        return Refused.WRONG_WORKER
    if not entry.holds:
        return Refused.NOT_GRANTED
    if data.epoch != entry.epoch % EPOCHS:
        return Refused.WRONG_RUN
    if data.slot not in entry.slots:
        return Refused.WRONG_SLOT
    begins = data.packet.is_agg and data.packet.use != slot.use
    if entry.state is State.DRAINING and begins:
        return Refused.DRAINING
    return entry
