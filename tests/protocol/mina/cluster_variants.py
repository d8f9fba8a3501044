"""Alters one rule of operations, switches or controller at a time: each variant goes wrong."""

from collections.abc import Iterable
from dataclasses import replace

from sim.golden import tenancy
from sim.golden.reduction.allreduce import SwitchSlot
from sim.golden.tenancy import (
    Command,
    Outcome,
    Refused,
    Sizes,
    State,
    Tenant,
    Tenants,
    Verb,
)
from sim.mina.agreement import controller_rule as control
from sim.mina.agreement import group_rule as grouping
from sim.mina.agreement import hold_rule as holding
from sim.mina.agreement import host_rule as hosting
from sim.mina.agreement import operation_rule as operations
from sim.mina.agreement.controller_rule import Controller
from sim.mina.agreement.frames import Data, Kind, Message, Place, Role, Sent, Share
from sim.mina.agreement.group_rule import Group, GroupRules, GroupSetup
from sim.mina.agreement.hold_rule import Hold, Step
from sim.mina.agreement.host_rule import Host, Reaction
from sim.mina.agreement.member_rule import MemberRules
from sim.mina.agreement.operation_rule import Operation
from sim.mina.agreement.switch_rule import SwitchRules, data_rule
from tests.protocol.explore import STUCK
from tests.protocol.mina.cluster_setup import LEFT_BEHIND, UNGRANTED, WRONG_SUM, Rules
from tests.protocol.mina.systems import AGAIN, IN_TURN, LOST, LOST_PAIR, RESTARTED, TREE, WITHDRAWN
from tests.protocol.mina.variants import beyond_the_end
from tests.protocol.variants import Variant


def ends_by_itself(host: Host) -> Host:
    """A host takes an operation that is stalled for over if all its sums are in."""
    return hosting.finishes(host) if not host.missing else hosting.stalls(host)


def repeats_by_itself(host: Host) -> Host:
    """A host repeats an operation that is stalled without INA, without a round."""
    return replace(host, used=0, missing=True)


def repeats_if_missing(host: Host, message: Message) -> Reaction:
    """A host that has all sums of an operation that is withdrawn does not repeat it."""
    after, answer = hosting.host_rule(host, message)
    repeats = host.used and not after.used
    stored = replace(after, used=host.used, busy=False, missing=False)
    return Reaction(stored if repeats and not host.missing else after, answer)


def not_reported_over(host: Host, message: Message) -> Reaction:
    """A host that has all sums waits for the switch's word, whatever the controller knows."""
    return hosting.host_rule(host, replace(message, index=0))


def over_though_answered(host: Host, message: Message) -> Reaction:
    """A host that is told that an operation is over does not wait for the switch's word."""
    reported = message.kind in (Kind.UPDATE, Kind.ABORT) and host.locked
    waits = reported and host.busy and host.used != 0
    return hosting.host_rule(replace(host, stalled=True) if waits else host, message)


def over_though_missing(controller: Controller) -> Controller:
    """The controller takes an operation for over if all hosts have started it."""
    acks = tuple(replace(ack, missing=False) for ack in controller.acks)
    return control.decides(replace(controller, acks=acks))


def not_withdrawn(controller: Controller) -> Controller:
    """The controller does not look at whether operations make progress."""
    acks = tuple(replace(ack, stalled=False) for ack in controller.acks)
    return control.decides(replace(controller, acks=acks))


def reported_too_early(hold: Hold, answer: Command, own: set[int]) -> Hold:
    """A tree is taken for held when its first switch is granted."""
    after = holding.hold_rule(hold, answer, own)
    return replace(after, step=Step.HELD) if after.granted else after


def reported_of_any(hold: Hold, answer: Command, own: set[int]) -> Hold:
    """The controller takes answers of any number for those of the grant that it acquires."""
    return holding.hold_rule(hold, replace(answer, epoch=hold.epoch), own)


def returned_early(setup: GroupSetup, group: Group) -> Group:
    """Switches are given back when a grant is shortened, though an operation is under way."""
    controller, hold = group.controller, group.hold
    shortened = controller.wish.withdraw and controller.reported == controller.grant
    if hold is not None and hold.step is Step.IN_USE and shortened:
        return replace(group, hold=holding.releases(hold, force=True))
    return grouping.settled(setup, group)


def never_returned(setup: GroupSetup, group: Group) -> Group:
    """After a restart the controller takes for granted that no switch is its jobs'."""
    after = grouping.settled(setup, group)
    unknown = group.hold is None and after.hold is not None
    return replace(after, hold=Hold()) if unknown else after


def last_released(hold: Hold, answer: Command, own: set[int]) -> Hold:
    """The controller goes on when one of the switches has been given back."""
    after = holding.hold_rule(hold, answer, own)
    released = answer.verb is Verb.RELEASED and hold.step is Step.RELEASING
    return Hold() if released and after.back != hold.back else after


def old_acquire(sizes: Sizes, tenants: Tenants, command: Command, finished: bool) -> Outcome:
    """A switch is granted by whatever number."""
    if command.verb is Verb.ACQUIRE:
        opened = tuple(None if item is None else replace(item, closed=0) for item in tenants)
        outcome = tenancy.tenancy_rule(sizes, opened, command, finished)
        pairs = zip(outcome.tenants, tenants, strict=True)
        stored = (
            after and before and replace(after, closed=before.closed) for after, before in pairs
        )
        return outcome._replace(tenants=tuple(stored))
    return tenancy.tenancy_rule(sizes, tenants, command, finished)


def waits_holding(hold: Hold, answer: Command, own: Iterable[int]) -> Hold:
    """A job that is refused a switch keeps those that it has, and asks again."""
    waits = answer.verb is Verb.REFUSED and hold.step is Step.ACQUIRING
    return hold if waits else holding.hold_rule(hold, answer, own)


def old_release(sizes: Sizes, tenants: Tenants, command: Command, finished: bool) -> Outcome:
    """A release ends a grant of whatever number."""
    if command.verb is Verb.RELEASE:
        command = replace(command, epoch=1 << 30)
        outcome = tenancy.tenancy_rule(sizes, tenants, command, finished)
        entry, before = outcome.tenants[command.job], tenants[command.job]
        if entry is None or before is None:
            return outcome
        entry = replace(entry, closed=before.closed)
        return outcome._replace(tenants=tenancy.with_tenant(tenants, command.job, entry))
    return tenancy.tenancy_rule(sizes, tenants, command, finished)


def cleared_again(sizes: Sizes, tenants: Tenants, command: Command, finished: bool) -> Outcome:
    """A grant that is repeated clears the slots again."""
    outcome = tenancy.tenancy_rule(sizes, tenants, command, finished)
    granted = outcome.answer.verb is Verb.GRANTED
    return outcome._replace(cleared=command.job) if granted else outcome


def grants_all(sizes: Sizes, tenants: Tenants, command: Command, finished: bool) -> Outcome:
    """A switch is granted though another job has it."""
    alone = tuple(item if job == command.job else None for job, item in enumerate(tenants))
    outcome = tenancy.tenancy_rule(sizes, alone, command, finished)
    own = outcome.tenants[command.job]
    assert own is not None
    return outcome._replace(tenants=tenancy.with_tenant(tenants, command.job, own))


def slots_of_others(sizes: Sizes, tenants: Tenants, command: Command, finished: bool) -> Outcome:
    """A switch is granted though another job that has it has a slot in common."""
    far = replace(sizes, slots=sizes.slots * sizes.jobs)
    apart = tuple(
        item and replace(item, base=job * sizes.slots + item.base)
        for job, item in enumerate(tenants)
    )
    outcome = tenancy.tenancy_rule(far, apart, command, finished)
    bases = [item and item.base for item in tenants]
    together = (
        item and replace(item, base=base) for item, base in zip(outcome.tenants, bases, strict=True)
    )
    return outcome._replace(tenants=tuple(together))


def whoever(tenants: Tenants, port: int, data: Data, slot: SwitchSlot) -> Tenant | Refused:
    """A switch takes packets of jobs that do not own it."""
    free = tuple(
        replace(item, state=State.GRANTED, epoch=data.epoch)
        if item is not None and not item.holds
        else item
        for item in tenants
    )
    return data_rule(free, port, data, slot)


def of_any_grant(tenants: Tenants, port: int, data: Data, slot: SwitchSlot) -> Tenant | Refused:
    """A switch takes packets of an earlier grant."""
    entry = tenants[data.job]
    epoch = data.epoch if entry is None else entry.epoch
    return data_rule(tenants, port, replace(data, epoch=epoch), slot)


def taken_of_any_grant(operation: Operation, data: Data, base: int) -> Operation:
    """A host takes packets of an earlier grant."""
    return operations.data_rule(operation, replace(data, epoch=operation.epoch), base)


def confirmed_unseen(operation: Operation, frame: Share) -> tuple[Operation, Sent]:
    """A host confirms a peer's part of an operation that it has not started, and loses it."""
    if not frame.taken and frame.index > operation.index:
        return operation, ((Place(Role.HOST, frame.host), replace(frame, taken=True, parts=())),)
    return operations.share_rule(operation, frame)


def receipt_forgotten(operation: Operation, frame: Share) -> tuple[Operation, Sent]:
    """A host does not confirm parts of operations that are over."""
    if not frame.taken and frame.index < operation.index:
        return operation, ()
    return operations.share_rule(operation, frame)


def end_not_answered(controller: Controller, message: Message) -> tuple[Controller, Message | None]:
    """Hosts of a job that is over are not answered."""
    after, answer = control.controller_rule(controller, message)
    over = answer is not None and answer.kind is Kind.END
    return after, None if over else answer


def member(**rules: object) -> Rules:
    """Return other rules for hosts."""
    return Rules(member=replace(MemberRules(), **rules))


def group(**rules: object) -> Rules:
    """Return other rules for the controller."""
    return Rules(group=replace(GroupRules(), **rules))


def switch(**rules: object) -> Rules:
    """Return other rules for switches."""
    return Rules(switch=replace(SwitchRules(), **rules))


#: A pair of hosts, a switch that is lost, two operations.
UNSAFE_LOST = {
    "a host ends an operation by itself": Variant(
        member(stalls=ends_by_itself), LEFT_BEHIND, 6, LOST_PAIR
    ),
    "a host repeats an operation by itself": Variant(
        member(stalls=repeats_by_itself), STUCK, 10, LOST_PAIR
    ),
    "only hosts that lack sums repeat": Variant(
        member(host=repeats_if_missing), LEFT_BEHIND, 13, LOST_PAIR
    ),
    "hosts are not told what is over": Variant(member(host=not_reported_over), STUCK, 4, LOST),
    "INA beyond the end of the grant": Variant(member(starts=beyond_the_end), STUCK, 8, LOST),
    "an operation that lacks sums is not withdrawn": Variant(
        group(decides=over_though_missing), LEFT_BEHIND, 13, LOST_PAIR
    ),
    "what is stalled is not withdrawn": Variant(group(decides=not_withdrawn), STUCK, 1, LOST),
}

#: Switches that are acquired and given back.
UNSAFE_SWITCHES = {
    "told when one switch is granted": Variant(group(hold=reported_too_early), UNGRANTED, 9, TREE),
    "answers of any number": Variant(group(hold=reported_of_any), UNGRANTED, 30, AGAIN),
    "over without the switch's word": Variant(
        member(host=over_though_answered), STUCK, 9, WITHDRAWN
    ),
    "going on when one switch is back": Variant(group(hold=last_released), STUCK, 24, TREE),
    "given back under way": Variant(group(settled=returned_early), UNGRANTED, 8, WITHDRAWN),
    "an old release ends a grant": Variant(switch(command=old_release), UNGRANTED, 32, AGAIN),
    "a repeated grant clears slots": Variant(switch(command=cleared_again), STUCK, 12, AGAIN),
    "slots are not cleared": Variant(switch(clears=False), WRONG_SUM, 33, AGAIN),
    "packets without a grant": Variant(switch(data=whoever), STUCK, 30, IN_TURN),
    "packets of another grant": Variant(switch(data=of_any_grant), WRONG_SUM, 34, AGAIN),
    "a host takes packets of another grant": Variant(
        member(data=taken_of_any_grant), WRONG_SUM, 32, AGAIN
    ),
    "an old number is granted": Variant(switch(command=old_acquire), STUCK, 25, TREE),
    "a restarted controller takes all to be free": Variant(
        group(settled=never_returned), STUCK, 1, RESTARTED
    ),
}

#: A pair of hosts without INA.
UNSAFE_SHARES = {
    "a part is confirmed before its operation": Variant(member(share=confirmed_unseen), STUCK, 8),
    "a part is not confirmed after its operation": Variant(
        member(share=receipt_forgotten), STUCK, 6
    ),
}

#: Hosts that are lost.
UNSAFE_DEATHS = {
    "hosts of a job that is over are not answered": Variant(
        group(controller=end_not_answered), STUCK, 2
    ),
}
