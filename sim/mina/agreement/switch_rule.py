"""Specifies a switch as a whole: its tenants, and P4SGD's slots, which two systems share."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sim.golden import tenancy
from sim.golden.reduction.allreduce import SwitchSlot, Verdict
from sim.golden.reduction.allreduce import switch_rule as slot_rule
from sim.golden.tenancy import Command, Outcome, Refused, Sizes, State, Tenant, Tenants
from sim.mina.agreement.frames import CONTROLLER, Data, Place, Role, Sent


@dataclass(frozen=True, kw_only=True)
class SwitchSetup:
    """Describes a switch, and the host behind each of its ports."""

    sizes: Sizes
    lanes: int
    hosts: tuple[int, ...]  #: host behind each port


def data_rule(tenants: Tenants, port: int, data: Data, slot: SwitchSlot) -> Tenant | Refused:
    """Return the tenant of a packet that came by ``port``, or why it is refused.

    Its slot holds ``slot``.
    """
    packet = data.packet
    entry = tenancy.packet_rule(
        tenants, port, job=data.job, bm=packet.bm, epoch=data.epoch, slot=data.slot
    )
    if isinstance(entry, Refused) or entry.state is not State.DRAINING:
        return entry
    begins = slot_rule(slot, packet, entry.ports).slot.use != slot.use
    return Refused.DRAINING if begins else entry


@dataclass(frozen=True, kw_only=True)
class SwitchRules:
    """Holds the rules of a switch: those of the specification, or a variant of them."""

    command: Callable[[Sizes, Tenants, Command, bool], Outcome] = tenancy.tenancy_rule
    data: Callable[[Tenants, int, Data, SwitchSlot], Tenant | Refused] = data_rule
    clears: bool = True  #: whether the slots of a job that is granted are cleared


RULES = SwitchRules()


@dataclass(frozen=True, kw_only=True)
class Switch:
    """Holds what a switch keeps."""

    tenants: Tenants
    slots: tuple[SwitchSlot, ...]


def at_start(setup: SwitchSetup) -> Switch:
    """Return a switch that has just started, or started anew."""
    return Switch(tenants=tenancy.at_start(setup.sizes), slots=(empty(setup),) * setup.sizes.slots)


def empty(setup: SwitchSetup) -> SwitchSlot:
    """Return a slot of a switch that has just started."""
    return SwitchSlot(0, (0,) * setup.lanes, 0, 0)


def finished(switch: Switch, job: int) -> bool:
    """Return whether no slot of a job has a use under way."""
    entry = switch.tenants[job] if job < len(switch.tenants) else None
    if entry is None:
        return True
    slots = switch.slots[entry.base : entry.slots.stop]
    return all(slot.agg_bm == slot.ack_bm == entry.ports for slot in slots)


def cleared(setup: SwitchSetup, switch: Switch, entry: Tenant) -> Switch:
    """Return the switch with the slots of a job as a grant leaves them."""
    slot = SwitchSlot.at_start(entry.ports, setup.lanes)
    slots = (
        *switch.slots[: entry.base],
        *(slot,) * entry.count,
        *switch.slots[entry.slots.stop :],
    )
    return replace(switch, slots=slots)


def command_rule(
    setup: SwitchSetup, switch: Switch, command: Command, rules: SwitchRules = RULES
) -> tuple[Switch, Sent]:
    """Return what the controller's command makes of the switch, and the answer."""
    outcome = rules.command(setup.sizes, switch.tenants, command, finished(switch, command.job))
    switch = replace(switch, tenants=outcome.tenants)
    if outcome.cleared is not None and rules.clears:
        entry = switch.tenants[outcome.cleared]
        assert entry is not None
        switch = cleared(setup, switch, entry)
    return switch, ((CONTROLLER, outcome.answer),)


def packet_rule(
    setup: SwitchSetup, switch: Switch, port: int, data: Data, rules: SwitchRules = RULES
) -> tuple[Switch, Verdict | Refused, Sent]:
    """Return what a packet makes of the switch; a refused one changes nothing, unanswered."""
    slot = switch.slots[data.slot] if data.slot < len(switch.slots) else empty(setup)
    entry = rules.data(switch.tenants, port, data, slot)
    if isinstance(entry, Refused):
        return switch, entry, ()
    outcome = slot_rule(slot, data.packet, entry.ports)
    slots = (*switch.slots[: data.slot], outcome.slot, *switch.slots[data.slot + 1 :])
    switch = replace(switch, slots=slots)
    if finished(switch, data.job):
        switch = replace(switch, tenants=tenancy.drained(switch.tenants, data.job))
    answer = outcome.answer
    if answer is None:
        return switch, outcome.verdict, ()
    copies = tuple(
        (Place(Role.HOST, host), replace(data, packet=replace(answer, bm=1 << k)))
        for k, host in enumerate(setup.hosts)
        if answer.bm >> k & 1
    )
    return switch, outcome.verdict, copies
