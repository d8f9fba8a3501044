"""Alters one rule of operations, switches or controller at a time: each variant goes wrong."""

from sim.golden import tenancy
from sim.mina.agreement import hold_rule as holding
from tests.protocol.mina import cluster_setup, systems
from tests.protocol.variants import edited, variants

#: A job that is refused a switch keeps those that it has, and asks again; a switch is granted
#: though another job has it, or has a slot in common.
waits_holding = edited(holding.hold_rule, "return refused(hold, answer, set(own)) => return hold")
grants_all = edited(
    tenancy.tenancy_rule, "obstacle = blocking(sizes, tenants, command.job) => obstacle = None"
)
slots_of_others = edited(
    tenancy.tenancy_rule, "max(own.base, first.base) < min(own.slots.stop, first.slots.stop) => 0"
)

#: A pair of hosts, a switch that is lost, two operations.
UNSAFE_LOST = variants(
    cluster_setup,
    r"""
    a host ends an operation by itself; member.stalls; return settled(replace(host, stalled=True))
        => return settled(replace(host, stalled=True)) if host.missing else finishes(host);
        LEFT_BEHIND; 6; LOST_PAIR
    a host repeats an operation by itself; member.stalls;
        return settled(replace(host, stalled=True)) => return replace(host, used=0, missing=True);
        STUCK; 10; LOST_PAIR
    only hosts that lack sums repeat; member.host; busy=True, used=0, missing=True, stalled=False)
        => stalled=False, **{"busy": True, "used": 0} if host.missing else {"busy": False});
        LEFT_BEHIND; 13; LOST_PAIR
    hosts are not told what is over; member.host; over=max(host.over, over) => over=host.over;
        STUCK; 4; LOST
    INA beyond the end of the grant; member.starts; used = host.grant.epoch if =>
        host = replace(host, grant=replace(host.grant, end=host.index + 1))
        \n    used = host.grant.epoch if; STUCK; 8; LOST
    an operation that lacks sums is not withdrawn; group.decides; complete = not any => complete = 1
        or any; group.decides; if stalled and any(ack.missing => if 0 and any(ack.missing;
        LEFT_BEHIND; 13; LOST_PAIR
    what is stalled is not withdrawn; group.decides; any(ack.stalled for ack in acks) => False;
        STUCK; 1; LOST
    """,
    systems=systems,
)

#: Switches that are acquired and given back.
UNSAFE_SWITCHES = variants(
    cluster_setup,
    r"""
    told when one switch is granted; group.hold;
        Step.HELD if granted == len(hold.switches) else Step.ACQUIRING => Step.HELD;
        UNGRANTED; 9; TREE
    answers of any number; group.hold; (answer.job, answer.epoch) != (hold.job, hold.epoch) =>
        answer.job != hold.job; group.hold; answer.epoch < b[2] => hold.epoch < b[2];
        UNGRANTED; 30; AGAIN
    over without the switch's word; member.host; if message.kind is Kind.END: =>
        reported = message.kind in (Kind.UPDATE, Kind.ABORT) and host.locked
        \n    if reported and host.busy and host.used != 0:
        \n        host = replace(host, stalled=True)
        \n    if message.kind is Kind.END:; STUCK; 9; WITHDRAWN
    going on when one switch is back; group.hold;
        return settled(replace(hold, back=frozenset(back))) =>
        return Hold() if frozenset(back) != hold.back else hold; STUCK; 24; TREE
    given back under way; group.settled; if controller.phase is not Phase.IDLE or =>
        shortened = controller.wish.withdraw and controller.reported == controller.grant
        \n    if hold is not None and hold.step is Step.IN_USE and shortened:
        \n        return replace(group, hold=holding.releases(hold, force=True))
        \n    if controller.phase is not Phase.IDLE or; UNGRANTED; 8; WITHDRAWN
    an old release ends a grant; switch.command; entry.holds and entry.epoch <= command.epoch =>
        entry.holds; switch.command; closed=max(entry.closed, command.epoch) => closed=entry.closed;
        UNGRANTED; 32; AGAIN
    a repeated grant clears slots; switch.command;
        return Outcome(tenants, answered(command, Verb.GRANTED)) =>
        return Outcome(tenants, answered(command, Verb.GRANTED), cleared=command.job);
        STUCK; 12; AGAIN
    slots are not cleared; switch.command; , cleared=command.job) => ); WRONG_SUM; 33; AGAIN
    packets without a grant; switch.data; packet = data.packet => packet = data.packet
        \n    taken = {"state": State.GRANTED, "epoch": data.epoch}
        \n    own = [item and (item if item.holds else replace(item, **taken)) for item in tenants]
        \n    tenants = tuple(own); STUCK; 30; IN_TURN
    packets of another grant; switch.data; epoch=data.epoch, slot= =>
        epoch=tenants[data.job].epoch if tenants[data.job] else 0, slot=; WRONG_SUM; 34; AGAIN
    a host takes packets of another grant; member.data; operation.epoch % EPOCHS == data.epoch and
        => True and; WRONG_SUM; 32; AGAIN
    an old number is granted; switch.command; if command.epoch <= entry.closed: => if False:;
        STUCK; 25; TREE
    a restarted controller takes all to be free; group.settled;
        known(setup, group, controller.grant)) => Hold()); STUCK; 1; RESTARTED
    """,
    systems=systems,
)

#: A pair of hosts without INA.
UNSAFE_SHARES = variants(
    cluster_setup,
    """
    a part is confirmed before its operation; member.share; if frame.index > operation.index: =>
        if False:; STUCK; 8
    a part is not confirmed after its operation; member.share; if frame.index > operation.index: =>
        if frame.index != operation.index:; STUCK; 6
    """,
)

#: Hosts that are lost.
UNSAFE_DEATHS = variants(
    cluster_setup,
    """
    hosts of a job that is over are not answered; group.controller;
        None if message.kind is Kind.ENDED else over => None; STUCK; 2
    """,
)
