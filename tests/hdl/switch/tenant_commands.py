"""Packs commands of tenants, and reads what is answered."""

import random

from hdl.switch.tenancy import TENANT_COMMAND
from hdl.switch.tenancy_head import COMMAND_KINDS
from sim.golden.tenancy import Command, Reason, State, Verb
from sim.harness.payloads import pack, unpack

TAKEN = (Reason.SWITCH_TAKEN, Reason.PORTS_TAKEN, Reason.SLOTS_TAKEN)


def legal(**fields):
    """Return a command in which nothing is wrong but what ``fields`` make so."""
    usual = {"switch": 0, "job": 0, "epoch": 0, "ports": 1, "parent": None, "base": 0, "count": 1}
    return Command(verb=Verb.REGISTER, **(usual | fields))


def shown(params, tenant):
    """Return the table's entry of a golden tenant."""
    if tenant is None:
        return unpack(params.job, 0)
    return {
        "active": tenant.holds,
        "draining": tenant.state is State.DRAINING,
        "registered": 1,
        "ports": tenant.ports,
        "parent": tenant.everyone ^ tenant.ports,
        "epoch": tenant.epoch,
        "base": tenant.base,
        "end": tenant.slots.stop,
    }


def packed(command):
    """Return a command as the hardware has it."""
    kind = next(kind for kind in COMMAND_KINDS if kind.name == command.verb.name)
    names = ("job", "epoch", "force", "ports", "base", "count")
    fields = {name: int(getattr(command, name)) for name in names} | {"kind": kind}
    parent = random.getrandbits(8) if command.parent is None else command.parent
    fields |= {"parent": parent, "has_parent": int(command.parent is not None)}
    return pack(TENANT_COMMAND, fields)
