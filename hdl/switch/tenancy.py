"""What a switch whose jobs are tenants has beside the others: commands, answers, verdicts."""

from amaranth.lib import data

from hdl.switch.tenancy_head import Reason, TenancyHead, TenancyKind

#: A switch's enumeration of what became of a packet has these, too, if its jobs are tenants.
TENANT_VERDICTS = (
    "NOT_GRANTED",  #: it is of a job that is registered and does not hold the switch
    "DRAINING",  #: it would begin a new use of a slot, and its job has been released
)

HEAD = TenancyHead.as_shape()

#: A command to the switch, by a frame or by a host's registers: fields of :class:`TenancyHead`.
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

#: The switch's answer, beside what it repeats of the command.
TENANT_ANSWER = data.StructLayout(
    {
        "kind": TenancyKind,
        "reason": Reason,
        "owner": HEAD["owner"].shape,
        "owner_epoch": HEAD["owner_epoch"].shape,
    }
)

#: Who may hold the switch at a time: by switch ``most`` jobs, or by port (``apart``) as many as
#: have no port in common, the parents' ports among them.
SHARING = data.StructLayout({"most": 6, "apart": 1})
