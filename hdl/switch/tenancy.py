"""Describes the commands and answers of a switch of tenants."""

from amaranth.lib import data

from hdl.switch.tenancy_head import Reason, TenancyHead, TenancyKind

HEAD = TenancyHead.as_shape()

#: Describes a command, from a frame or from the host's registers: fields of :class:`TenancyHead`.
#: ``ports`` are those of the children; if the job ``has_parent``, ``parent`` is the number of the
#: port towards the parent.
TENANT_COMMAND = data.StructLayout(
    {
        "kind": TenancyKind,
        **{
            name: HEAD[name].shape
            for name in ("job", "epoch", "ports", "base", "parent", "count", "force", "has_parent")
        },
    }
)

#: Describes the switch's answer, besides the fields that it repeats from the command.
TENANT_ANSWER = data.StructLayout(
    {
        "kind": TenancyKind,
        "reason": Reason,
        "owner": HEAD["owner"].shape,
        "owner_epoch": HEAD["owner_epoch"].shape,
    }
)

#: Describes who may hold the switch at a time: ``most`` jobs, or, with ``apart``, any number of
#: jobs that have no port in common, ports towards parents included.
SHARING = data.StructLayout({"most": 6, "apart": 1})
