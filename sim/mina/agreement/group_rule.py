"""Specifies the controller of a group: its rounds, and the switches that it gets for a job.

A job is told of a grant when all switches of the tree are its own, and they are given back when all
hosts know that the grant is over.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from sim.golden.tenancy import Command, Reason, Verb
from sim.mina.agreement import controller_rule as control
from sim.mina.agreement import hold_rule as holding
from sim.mina.agreement.controller_rule import Controller, Phase, Wish
from sim.mina.agreement.frames import (
    Frame,
    Grant,
    Message,
    Place,
    Role,
    Sent,
)
from sim.mina.agreement.hold_rule import Hold, Step

NOTHING_HELD = Hold()


@dataclass(frozen=True, kw_only=True)
class GroupSetup:
    """Holds what the controller knows from the start."""

    trees: tuple[tuple[int, ...], ...]  #: switches of each tree
    entries: dict[tuple[int, int], Command] = field(hash=False)  #: REGISTER by switch and job

    @property
    def switches(self) -> set[int]:
        """Return all switches of the group's trees."""
        return {switch for tree in self.trees for switch in tree}


@dataclass(frozen=True, kw_only=True)
class Group:
    """Holds rounds and switches of a group; what outlives a restart is in the controller."""

    controller: Controller
    hold: Hold | None = NOTHING_HELD  #: None: not known since a restart
    lost: frozenset[int] = frozenset()  #: switches that do not answer

    @property
    def jobs(self) -> set[int]:
        """Return all jobs, those that are over too."""
        entries = (*self.controller.jobs, *self.controller.dropped)
        return {job for job, _ in entries}


@dataclass(frozen=True, kw_only=True)
class GroupRules:
    """Holds the rules of the controller: those of the specification, or a variant of them."""

    controller: Callable[[Controller, Message], tuple[Controller, Message | None]] = (
        control.controller_rule
    )
    decides: Callable[[Controller], Controller] = control.decides
    hold: Callable[[Hold, Command, set[int]], Hold] = holding.hold_rule
    settled: Callable[[GroupSetup, Group], Group] = lambda setup, group: settled(setup, group)


RULES = GroupRules()


def restarted(group: Group) -> Group:
    """Return the group as its controller begins anew."""
    return Group(controller=control.restarted(group.controller), hold=None)


def may_acquire(setup: GroupSetup, group: Group, tree: int) -> bool:
    """Return whether the controller may try to get a tree: nobody owns one, all switches live."""
    free = group.hold is not None and group.hold.step is Step.NOTHING
    idle = group.controller.phase is Phase.IDLE and group.controller.grant == Grant()
    return free and idle and not group.lost & set(setup.trees[tree])


def acquires(setup: GroupSetup, group: Group, job: int, tree: int) -> Group:
    """Return the group as the controller begins to get a tree for a job, by a new number."""
    number = group.controller.number + 1
    hold = holding.acquires(job, number, tree, setup.trees[tree])
    return replace(group, controller=replace(group.controller, number=number), hold=hold)


def wish(group: Group, length: int, withdraw: bool = False) -> Wish:
    """Return what the next round is to bring.

    It is the grant of the tree that is held, for ``length`` operations, and the end of that in use.
    """
    hold = group.hold
    if hold is None or hold.step is not Step.HELD:
        return Wish(withdraw=withdraw)
    grant = Grant(job=hold.job, epoch=hold.epoch, tree=hold.tree, end=length)
    return Wish(grant=grant, withdraw=withdraw)


def with_controller(
    setup: GroupSetup, group: Group, controller: Controller, rules: GroupRules = RULES
) -> Group:
    """Return the group after its rounds have gone on."""
    return rules.settled(setup, replace(group, controller=controller))


def group_rule(
    setup: GroupSetup, group: Group, frame: Frame, rules: GroupRules = RULES
) -> tuple[Group, Sent]:
    """Return what a host's message or a switch's answer makes of the group, and what is sent."""
    if isinstance(frame, Message):
        controller, answer = rules.controller(group.controller, frame)
        sent = () if answer is None else (to_host(answer),)
        return with_controller(setup, group, controller, rules), sent
    assert isinstance(frame, Command)
    if group.hold is None:
        return group, ()
    hold = rules.hold(group.hold, frame, group.jobs)
    sent: Sent = ()
    if frame.reason is Reason.NOT_REGISTERED and frame.verb is Verb.REFUSED:
        register = setup.entries[frame.switch, frame.job]
        sent = (to_switch(replace(register, epoch=frame.epoch - 1)),)
    return rules.settled(setup, replace(group, hold=hold)), sent


def to_host(message: Message) -> tuple[Place, Frame]:
    """Return a message with the place that it goes to."""
    return Place(Role.HOST, message.host), message


def to_switch(command: Command) -> tuple[Place, Frame]:
    """Return a command with the place that it goes to."""
    return Place(Role.SWITCH, command.switch), command


def settled(setup: GroupSetup, group: Group) -> Group:
    """Return the group after its switches have taken what the end of a round means for them."""
    controller, hold = group.controller, group.hold
    if controller.phase is not Phase.IDLE or controller.grant is None:
        return group
    if hold is None:
        return replace(group, hold=known(setup, group, controller.grant))
    alive = hold.job in dict(controller.jobs)
    reported = controller.grant.epoch == hold.epoch
    if hold.step is Step.HELD and reported:
        return replace(group, hold=replace(hold, step=Step.IN_USE))
    if hold.step is Step.IN_USE and not reported:
        return returned(group, hold, force=not alive)
    if hold.step in (Step.ACQUIRING, Step.HELD) and not alive:
        return returned(group, hold, force=False)
    return group


def returned(group: Group, hold: Hold, force: bool) -> Group:
    """Return the group as it gives back a tree's switches; lost switches are not asked."""
    hold = holding.releases(hold, force)
    for switch in group.lost:
        hold = holding.without(hold, switch)
    return replace(group, hold=hold)


def known(setup: GroupSetup, group: Group, grant: Grant) -> Hold:
    """Return what a controller that has restarted holds, as the hosts have this grant.

    Without a grant it does not know what its former self had begun, and has all given back.
    """
    if grant.epoch:
        return Hold(
            step=Step.IN_USE,
            job=grant.job,
            epoch=grant.epoch,
            tree=grant.tree,
            switches=setup.trees[grant.tree],
        )
    return holding.forgotten(setup.switches, group.jobs, group.controller.number)


def loses(group: Group, switch: int) -> Group:
    """Return the group without a switch that does not answer: its trees are out of use."""
    hold = None if group.hold is None else holding.without(group.hold, switch)
    return replace(group, hold=hold, lost=group.lost | {switch})


def trusts(group: Group, switch: int) -> Group:
    """Return the group as a switch may be tried again."""
    return replace(group, lost=group.lost - {switch})


def forces(group: Group) -> Group:
    """Return the group as all that is given back is given back at once: slots do not finish."""
    assert group.hold is not None
    return replace(group, hold=replace(group.hold, force=True))


def sent(group: Group) -> Iterator[tuple[Place, Frame]]:
    """Yield what the controller sends again and again."""
    yield from map(to_host, control.repeated(group.controller))
    if group.hold is not None:
        yield from map(to_switch, holding.repeated(group.hold))
