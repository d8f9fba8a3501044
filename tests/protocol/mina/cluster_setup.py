"""Says what clusters of hosts, controller and switches are set up with, and what nodes hold.

Node 0 is the controller, then come the switches, then the hosts. Host m's part of operation i of a
job is a power of BASE that no other host of the job has, times numbers that tell operations apart:
a sum is right just if it has each host's part of that operation once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sim.golden.tenancy import Command, Verb
from sim.mina.agreement import group_rule as grouping
from sim.mina.agreement import member_rule as membering
from sim.mina.agreement import switch_rule as switching
from sim.mina.agreement.frames import (
    NO_GRANT,
    Data,
    Frame,
    Grant,
    Message,
    Place,
    Role,
    Share,
)
from sim.mina.agreement.group_rule import Group, GroupRules, GroupSetup
from sim.mina.agreement.member_rule import Member, MemberRules
from sim.mina.agreement.operation_rule import Parts
from sim.mina.agreement.switch_rule import Switch, SwitchRules
from tests.protocol.mina.nodes import BOTH, DIFFER
from tests.protocol.network import Flight

WRONG_SUM = "a host has a wrong sum"
LEFT_BEHIND = "a host is past an operation whose sums another one lacks"
UNGRANTED = "a host uses a switch that is not its job's"
FAULTS = frozenset({DIFFER, BOTH, WRONG_SUM, LEFT_BEHIND, UNGRANTED})
BASE = 256


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What all nodes do, by the specification or by a variant of it."""

    member: MemberRules = membering.RULES
    group: GroupRules = grouping.RULES
    switch: SwitchRules = switching.RULES
    may_acquire: Callable[[GroupSetup, Group, int], bool] = grouping.may_acquire
    restarted: Callable[[Group], Group] = grouping.restarted


class MemberEnd(NamedTuple):
    """A host, and by which grant it started each of its operations; 0 means without INA."""

    member: Member
    log: tuple[int, ...]
    dead: bool = False


class GroupEnd(NamedTuple):
    """The controller, and how often each of these may still happen."""

    group: Group
    restarts: int
    drops: int
    losses: int


class SwitchEnd(NamedTuple):
    """A switch, and how often it may still start anew."""

    switch: Switch
    restarts: int


def name_of(frame: Frame) -> str:
    """Return what a frame says."""
    if isinstance(frame, Message):
        return f"{frame.kind.name} {frame.round} of host {frame.host}"
    if isinstance(frame, Command):
        return f"{frame.verb.name} {frame.epoch} for job {frame.job}, switch {frame.switch}"
    if isinstance(frame, Share):
        kind = "receipt" if frame.taken else "part"
        return f"{kind} of host {frame.host} for host {frame.peer}, operation {frame.index}"
    packet = frame.packet
    kind = ("acked" if packet.acked else "ACK", "pending" if packet.acked else "sum")
    return f"{kind[packet.is_agg]} {packet.use} of grant {frame.epoch}, port {packet.bm}"


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What the nodes are set up with; each host is at the port of its number of every switch."""

    jobs: tuple[tuple[int, tuple[int, ...]], ...] = ((0, (0,)), (1, (1,)))
    trees: tuple[tuple[int, ...], ...] = ((0,),)
    wishes: tuple[tuple[int, int], ...] = ((0, 0), (1, 0))  #: jobs and trees that they get
    operations: int = 1
    length: int = 1  #: operations of a grant
    numbers: int = 5  #: of rounds and grants
    granted: bool = False  #: the first job owns the first tree, by number 1
    abandons: bool = False  #: rounds that are not answered
    withdraws: bool = False  #: the controller may end a grant early
    forces: bool = True  #: the controller may release at once
    restarts: int = 0  #: of the controller
    switch_restarts: int = 0
    losses: int = 0  #: switches that are given up
    drops: int = 0  #: jobs that are given up
    mortal: tuple[int, ...] = ()  #: hosts that may die
    stalls: bool = False  #: hosts may find that an operation makes no progress
    watched: frozenset[str] = FAULTS

    @property
    def hosts(self) -> dict[int, int]:
        """Return the job of each host."""
        return {host: job for job, hosts in self.jobs for host in hosts}

    @property
    def reserve(self) -> int:
        """Return the numbers that a grant needs: its own, its round's, and those to end it."""
        return 4 if self.stalls else 2

    @property
    def switches(self) -> int:
        """Return the number of switches."""
        return 1 + max(switch for tree in self.trees for switch in tree)

    def node(self, place: Place) -> int:
        """Return the node at a place."""
        if place.role is Role.HOST:
            return 1 + self.switches + place.number
        return 1 + place.number if place.role is Role.SWITCH else 0

    def flights(self, sent: Iterable[tuple[Place, Frame]]) -> tuple[Flight, ...]:
        """Return frames that leave; a packet's port is its worker's, and a command has none."""
        flights = []
        for place, frame in sent:
            up = isinstance(frame, Data) and place.role is Role.SWITCH
            port = frame.packet.bm.bit_length() - 1 if up else 0
            flights.append(Flight(self.node(place), port, frame, name_of(frame)))
        return tuple(flights)

    def parts(self, host: int, index: int) -> Parts:
        """Return a host's part of an operation."""
        place = BASE ** dict(self.jobs)[self.hosts[host]].index(host)
        return ((place, (1 + index + self.operations * self.hosts[host]) * place),)

    def right(self, job: int, index: int) -> Parts:
        """Return the sum of an operation."""
        parts = [self.parts(host, index)[0] for host in dict(self.jobs)[job]]
        return (tuple(sum(lane) for lane in zip(*parts, strict=True)),)

    @property
    def grant(self) -> Grant:
        """Return the grant that all have at first."""
        return Grant(job=self.jobs[0][0], epoch=1, end=self.length) if self.granted else NO_GRANT

    def entry(self, switch: int, job: int) -> Command:
        """Return a job's entry in a switch: one slot, the same for all jobs."""
        ports = sum(1 << host for host in dict(self.jobs)[job])
        return Command(
            verb=Verb.REGISTER, switch=switch, job=job, epoch=0, ports=ports, base=0, count=1
        )
