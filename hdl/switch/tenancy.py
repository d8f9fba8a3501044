"""Describes the commands, answers and verdicts that a switch of tenants has beside the others."""

from amaranth.lib import data

from hdl.switch.tenancy_head import Reason, TenancyHead, TenancyKind

#: Names the verdicts that a switch's enumeration also has if its jobs are tenants.
TENANT_VERDICTS = (
    "NOT_GRANTED",  #: its job is registered and does not hold the switch
    "DRAINING",  #: it would begin a new use of a slot, and its job has been released
)

HEAD = TenancyHead.as_shape()

#: Describes a command, by a frame or by a host's registers: fields of :class:`TenancyHead`.
#: ``ports`` are those of the children, and ``parent`` is the number of the port towards the parent,
#: of a job that ``has_parent``.
TENANT_COMMAND = data.StructLayout(
    {
        "kind": TenancyKind,
        **{
            name: HEAD[name].shape
            for name in ("job", "epoch", "ports", "base", "parent", "count", "force", "has_parent")
        },
    }
)

#: Describes the switch's answer, beside what it repeats of the command.
TENANT_ANSWER = data.StructLayout(
    {
        "kind": TenancyKind,
        "reason": Reason,
        "owner": HEAD["owner"].shape,
        "owner_epoch": HEAD["owner_epoch"].shape,
    }
)

#: Tells who may hold the switch at a time: ``most`` jobs, or by port (``apart``) as many as
#: have no port in common, the parents' ports among them.
SHARING = data.StructLayout({"most": 6, "apart": 1})
