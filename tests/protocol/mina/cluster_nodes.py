"""Models MINA's hosts, controller and switches as nodes of a network."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sim.golden.tenancy import Command, Sizes, Verb
from sim.mina.agreement import controller_rule as control
from sim.mina.agreement import group_rule as grouping
from sim.mina.agreement import host_rule as hosting
from sim.mina.agreement import member_rule as membering
from sim.mina.agreement import switch_rule as switching
from sim.mina.agreement.controller_rule import Controller, Phase
from sim.mina.agreement.frames import (
    Data,
    Frame,
    Kind,
    Message,
    Place,
    Role,
    Sent,
)
from sim.mina.agreement.group_rule import Group, GroupSetup
from sim.mina.agreement.hold_rule import Hold, Step
from sim.mina.agreement.member_rule import Member, MemberSetup
from sim.mina.agreement.operation_rule import Route
from sim.mina.agreement.switch_rule import SwitchSetup
from tests.protocol.mina.cluster_setup import (
    WRONG_SUM,
    GroupEnd,
    MemberEnd,
    Rules,
    Setup,
    SwitchEnd,
)
from tests.protocol.network import Change, Flight, Node


@dataclass(frozen=True, kw_only=True)
class MemberNode(Node):
    """Models a host."""

    cluster: Setup
    number: int
    rules: Rules

    @property
    def setup(self) -> MemberSetup:
        """Return what the host knows from the start."""
        cluster, job = self.cluster, self.cluster.hosts[self.number]
        return MemberSetup(
            host=self.number,
            job=job,
            peers=frozenset(dict(cluster.jobs)[job]) - {self.number},
            ways=tuple(Route(switch=tree[-1], port=self.number, base=0) for tree in cluster.trees),
            parts=lambda index: cluster.parts(self.number, index),
        )

    @property
    def start(self) -> MemberEnd:
        """Return the host at the beginning."""
        member = membering.at_start(self.setup)
        return MemberEnd(replace(member, host=replace(member.host, grant=self.cluster.grant)), ())

    def changed(self, held: MemberEnd, member: Member, sent: Sent, step: str) -> Change:
        """Return what the host does, and whether a sum is wrong then."""
        host, operation = member.host, member.operation
        log = held.log
        if host.index > held.member.host.index:
            log = (*log, host.used)
        wrong = (
            operation is not None
            and operation.complete
            and operation.result != self.cluster.right(host.job, operation.index)
        )
        fault = WRONG_SUM if wrong and WRONG_SUM in self.cluster.watched else ""
        flights = self.cluster.flights(sent)
        return Change(MemberEnd(member, log), flights, f"host {self.number} {step}", fault)

    def takes(self, held: MemberEnd, flight: Flight) -> Change:
        """Return what follows when a frame comes in."""
        frame: Any = flight.frame
        if held.dead:
            return Change(held, (), "")
        after, sent = membering.member_rule(self.setup, held.member, frame, self.rules.member)
        return self.changed(held, after, sent, f"takes {flight.name}")

    def moves(self, held: MemberEnd) -> Iterator[Change]:
        """Return what it may do: start an operation, find that one makes no progress, or die."""
        host = held.member.host
        if held.dead:
            return
        if hosting.may_start(host) and host.index < self.cluster.operations:
            after = membering.starts(self.setup, held.member, self.rules.member)
            how = f"by grant {after.host.used}" if after.host.used else "without INA"
            yield self.changed(held, after, (), f"starts operation {host.index} {how}")
        if self.cluster.stalls and host.busy and host.used and not host.stalled:
            after, _ = membering.stalls(held.member, self.rules.member)
            yield self.changed(held, after, (), f"finds operation {host.index - 1} stalled")
        if self.number in self.cluster.mortal:
            yield Change(held._replace(dead=True), (), f"host {self.number} dies")

    def repeats(self, held: MemberEnd) -> tuple[Flight, ...]:
        """Return what it sends again; with hosts that may be lost, also that it waits."""
        if held.dead:
            return ()
        sent = membering.sent(self.setup, held.member)
        if self.cluster.drops and held.member.host.busy:
            sent = (*sent, (Place(Role.CONTROLLER), hosting.report(held.member.host)))
        return self.cluster.flights(sent)

    def at_rest(self, held: MemberEnd) -> bool:
        """Whether all operations are over, and it is not locked."""
        host = held.member.host
        over = host.index == self.cluster.operations and not host.busy and not host.locked
        return held.dead or host.ended or over


@dataclass(frozen=True, kw_only=True)
class SwitchNode(Node):
    """Models a switch, at which every job is registered at first."""

    cluster: Setup
    number: int
    rules: Rules

    @property
    def setup(self) -> SwitchSetup:
        """Return what the switch is."""
        hosts = tuple(sorted(self.cluster.hosts))
        sizes = Sizes(ports=len(hosts), slots=1, jobs=len(self.cluster.jobs))
        return SwitchSetup(sizes=sizes, lanes=2, hosts=hosts)

    @property
    def start(self) -> SwitchEnd:
        """Return the switch at the beginning."""
        switch = switching.at_start(self.setup)
        for job, _ in self.cluster.jobs:
            entry = self.cluster.entry(self.number, job)
            switch, _ = switching.command_rule(self.setup, switch, entry)
        if self.cluster.granted and self.number in self.cluster.trees[0]:
            acquire = replace(self.cluster.entry(self.number, 0), verb=Verb.ACQUIRE, epoch=1)
            switch, _ = switching.command_rule(self.setup, switch, acquire)
        return SwitchEnd(switch, self.cluster.switch_restarts)

    def takes(self, held: SwitchEnd, flight: Flight) -> Change:
        """Return what follows when a frame comes in."""
        frame, rules = flight.frame, self.rules.switch
        if isinstance(frame, Command):
            after, sent = switching.command_rule(self.setup, held.switch, frame, rules)
            became = sent[0][1].verb.name
        else:
            assert isinstance(frame, Data)
            after, verdict, sent = switching.packet_rule(
                self.setup, held.switch, flight.port, frame, rules
            )
            became = verdict.value
        sent = tuple((place, item) for place, item in sent if not without_effect(item))
        step = f"switch {self.number} takes {flight.name}: {became}"
        return Change(held._replace(switch=after), self.cluster.flights(sent), step)

    def moves(self, held: SwitchEnd) -> Iterator[Change]:
        """Return its restart, after which it has forgotten everything."""
        if held.restarts:
            after = SwitchEnd(switching.at_start(self.setup), held.restarts - 1)
            yield Change(after, (), f"switch {self.number} restarts")


def without_effect(frame: Frame) -> bool:
    """Whether a frame changes nobody, be it a worker with pending or the controller."""
    if isinstance(frame, Command):
        return frame.verb in (Verb.DRAINING, Verb.REGISTERED)
    return isinstance(frame, Data) and frame.packet.pending


@dataclass(frozen=True, kw_only=True)
class GroupNode(Node):
    """Models the controller."""

    cluster: Setup
    rules: Rules

    @property
    def setup(self) -> GroupSetup:
        """Return what the controller knows from the start."""
        cluster = self.cluster
        places = [(k, job) for k in range(cluster.switches) for job, _ in cluster.jobs]
        entries = {place: cluster.entry(*place) for place in places}
        return GroupSetup(trees=cluster.trees, entries=entries)

    @property
    def start(self) -> GroupEnd:
        """Return the controller at the beginning."""
        cluster = self.cluster
        controller = Controller(jobs=cluster.jobs, number=cluster.grant.epoch, grant=cluster.grant)
        hold = Hold()
        if cluster.granted:
            hold = Hold(step=Step.IN_USE, epoch=1, switches=cluster.trees[0])
        group = Group(controller=controller, hold=hold)
        return GroupEnd(group, cluster.restarts, cluster.drops, cluster.losses)

    def takes(self, held: GroupEnd, flight: Flight) -> Change:
        """Return what follows when a frame comes in."""
        frame: Any = flight.frame
        after, sent = grouping.group_rule(self.setup, held.group, frame, self.rules.group)
        step = f"controller takes {flight.name}"
        return Change(held._replace(group=after), self.cluster.flights(sent), step)

    def moves(self, held: GroupEnd) -> Iterator[Change]:
        """Return what it may do by itself, and what may happen to it."""
        for step, after in (*self.rounds(held.group), *self.switches(held.group)):
            yield Change(held._replace(group=after), self.aborts(held.group, after), step)
        if held.restarts:
            after = self.rules.restarted(held.group)
            left = held._replace(group=after, restarts=held.restarts - 1)
            yield Change(left, (), "controller restarts")
        if held.losses:
            waits = held.group.hold is not None and held.group.hold.waits
            requested = self.setup.switches if waits else set()
            for switch in sorted(requested - held.group.lost):
                after = grouping.loses(held.group, switch)
                left = held._replace(group=after, losses=held.losses - 1)
                yield Change(left, (), f"controller gives switch {switch} up")
        if held.drops:
            yield from self.dropped(held)

    def dropped(self, held: GroupEnd) -> Iterator[Change]:
        """Return the controller after it has given a job up."""
        for job, hosts in held.group.controller.jobs:
            controller = control.drops(held.group.controller, job)
            after = self.with_controller(held.group, controller)
            left = held._replace(group=after, drops=held.drops - 1)
            ends = [grouping.to_host(Message(kind=Kind.END, host=host, job=job)) for host in hosts]
            yield Change(left, self.cluster.flights(ends), f"controller drops job {job}")

    def with_controller(self, group: Group, controller: Controller) -> Group:
        """Return the end after its rounds have gone on."""
        return grouping.with_controller(self.setup, group, controller, self.rules.group)

    def aborts(self, before: Group, after: Group) -> tuple[Flight, ...]:
        """Return what hosts are told when a round is given up."""
        requesting = before.controller.phase is Phase.REQUESTING
        if not requesting or after.controller.phase is not Phase.IDLE or not after.controller.jobs:
            return ()
        return self.cluster.flights(map(grouping.to_host, control.aborts(after.controller)))

    def rounds(self, group: Group) -> Iterator[tuple[str, Group]]:
        """Return what it may do about rounds."""
        controller, hold = group.controller, group.hold
        if controller.phase is Phase.IDLE:
            fresh = controller.grant is None
            useful = hold is not None and hold.step in (Step.HELD, Step.IN_USE)
            left = controller.number < self.cluster.numbers and (controller.jobs or useful)
            if fresh or (left and useful):
                for withdraw in (False, True)[: 1 + self.cluster.withdraws]:
                    wish = grouping.wish(group, self.cluster.length, withdraw)
                    after = control.begins(controller, wish)
                    yield f"controller begins round {after.round}", replace(group, controller=after)
        if controller.phase is Phase.REQUESTING and controller.all_requested:
            after = self.with_controller(group, self.rules.group.decides(controller))
            yield f"controller decides round {controller.round}", after
        abandons = self.cluster.abandons and control.may_abandon(controller)
        if controller.phase is Phase.REQUESTING and abandons:
            after = self.with_controller(group, control.abandons(controller))
            yield f"controller gives up round {controller.round}", after

    def switches(self, group: Group) -> Iterator[tuple[str, Group]]:
        """Return what it may do about switches."""
        live = dict(group.controller.jobs)
        if group.controller.number + self.cluster.reserve <= self.cluster.numbers:
            for job, tree in self.cluster.wishes:
                if job in live and self.rules.may_acquire(self.setup, group, tree):
                    after = grouping.acquires(self.setup, group, job, tree)
                    number = after.controller.number
                    yield f"controller acquires tree {tree} for job {job} by {number}", after
        hold = group.hold
        releasing = hold is not None and hold.step is Step.RELEASING and not hold.force
        if self.cluster.forces and releasing:
            yield "controller forces the release", grouping.forces(group)

    def repeats(self, held: GroupEnd) -> tuple[Flight, ...]:
        """Return what it sends again."""
        return self.cluster.flights(grouping.sent(held.group))

    def at_rest(self, held: GroupEnd) -> bool:
        """Whether no round is under way, and it knows what hosts and switches have."""
        controller, hold = held.group.controller, held.group.hold
        known = controller.phase is Phase.IDLE and controller.grant is not None
        return known and hold is not None and hold.step not in (Step.ACQUIRING, Step.RELEASING)
