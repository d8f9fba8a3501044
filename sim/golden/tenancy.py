"""The tenants of a switch: which jobs may hold it at a time, and what a host is told (MINA, "RTL").

A job is registered, granted, drains, and is registered again.
"""

from dataclasses import dataclass, field
from enum import StrEnum

EPOCHS = 1 << 16  #: numbers of grants; one is later than another by less than half of them


class Refusal(StrEnum):
    """Why a command has no effect; the first that applies."""

    NO_SUCH_JOB = "no such job"  # the number is too large
    BAD_PORTS = "bad ports"  # register: no child, none of the switch's, or the parent's a child's
    BAD_SLOTS = "bad slots"  # register: none, or some that the switch has not
    NOT_REGISTERED = "not registered"  # acquire
    OLD = "old"  # acquire: the epoch is not later than the job's last one
    HELD = "held"  # register, acquire: by the job itself
    NOT_GRANTED = "not granted"  # release: or it drains already
    SWITCH_TAKEN = "switch taken"  # acquire: as many hold it as may
    PORTS_TAKEN = "ports taken"  # acquire: by another job, and ports are held apart
    SLOTS_TAKEN = "slots taken"  # acquire: by another job


@dataclass
class Tenant:
    """A registered job."""

    ports: int  #: of its children
    epoch: int  #: of its grant, or of the last one
    base: int
    count: int
    parent: int | None = None  #: number of the port to its parent
    held: bool = False  #: it is granted, or drains
    draining: bool = False

    @property
    def everyone(self) -> int:
        """The bitmap of all its ports."""
        return self.ports | (0 if self.parent is None else 1 << self.parent)

    @property
    def places(self) -> range:
        """Its slots."""
        return range(self.base, self.base + self.count)


@dataclass
class Tenancy:
    """A switch has so many ports, slots and jobs; ``most`` of these may hold it at a time.

    Two that hold it never share a slot, nor a port if these are held ``apart``.
    """

    ports: int
    slots: int
    jobs: int
    most: int = 1
    apart: bool = False
    tenants: dict[int, Tenant] = field(default_factory=dict)

    @property
    def holders(self) -> dict[int, Tenant]:
        """The jobs that hold the switch, by their numbers."""
        return {k: one for k, one in sorted(self.tenants.items()) if one.held}

    def register(
        self,
        number: int,
        *,
        ports: int,
        epoch: int,
        base: int,
        count: int,
        parent: int | None = None,
    ) -> Refusal | None:
        """Enter a job; its first grant has an epoch later than ``epoch``."""
        one = Tenant(ports=ports, epoch=epoch, base=base, count=count, parent=parent)
        reasons = {
            Refusal.NO_SUCH_JOB: number >= self.jobs,
            Refusal.BAD_PORTS: ports == 0
            or one.everyone >> self.ports != 0
            or (parent is not None and ports >> parent & 1 == 1),
            Refusal.BAD_SLOTS: count == 0 or base + count > self.slots,
            Refusal.HELD: number in self.holders,
        }
        for reason, applies in reasons.items():
            if applies:
                return reason
        self.tenants[number] = one
        return None

    def obstacle(self, number: int, epoch: int) -> tuple[Refusal | None, int | None]:
        """Why a job does not get the switch now, and who is in the way if others hold it."""
        if number >= self.jobs:
            return Refusal.NO_SUCH_JOB, None
        if number not in self.tenants:
            return Refusal.NOT_REGISTERED, None
        mine, holders = self.tenants[number], self.holders
        if not 0 < (epoch - mine.epoch) % EPOCHS < EPOCHS // 2:
            return Refusal.OLD, None
        if number in holders:
            return Refusal.HELD, None
        ports = {k for k, one in holders.items() if self.apart and one.everyone & mine.everyone}
        slots = {k for k, one in holders.items() if set(one.places) & set(mine.places)}
        reasons = {
            Refusal.SWITCH_TAKEN: (len(holders) >= self.most, set(holders)),
            Refusal.PORTS_TAKEN: (bool(ports), ports | slots),
            Refusal.SLOTS_TAKEN: (bool(slots), slots),
        }
        for reason, (applies, owners) in reasons.items():
            if applies:
                return reason, min(owners, default=None)
        return None, None

    def acquire(self, number: int, epoch: int) -> tuple[Refusal | None, int | None]:
        """Grant the switch to a job with an epoch, or tell its :meth:`obstacle`."""
        refusal, owner = self.obstacle(number, epoch)
        if refusal is None:
            self.tenants[number].held, self.tenants[number].epoch = True, epoch
        return refusal, owner

    def release(self, number: int) -> Refusal | None:
        """Let a job begin no use any more; :meth:`give_up` it when all of them have ended."""
        if number >= self.jobs:
            return Refusal.NO_SUCH_JOB
        tenant = self.tenants.get(number)
        if tenant is None or not tenant.held or tenant.draining:
            return Refusal.NOT_GRANTED
        tenant.draining = True
        return None

    def give_up(self, number: int) -> Refusal | None:
        """End a job's grant: it has drained, or is stopped by force."""
        if number >= self.jobs:
            return Refusal.NO_SUCH_JOB
        if number in self.tenants:
            self.tenants[number].held = self.tenants[number].draining = False
        return None
