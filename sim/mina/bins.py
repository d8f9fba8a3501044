"""Defines the bins of MINA's units: a switch's tenants, and the commands to them."""

from typing import Any

from hdl.switch.tenancy_head import Reason, TenancyKind
from sim.functional.unit_bins import PortValues, UnitGroup


def reported(kind: TenancyKind, reason: Reason = Reason.NONE) -> str:
    """Return the condition that a command is answered by ``kind``, for ``reason``."""
    return f"answer.kind.name == '{kind.name}' and answer.reason.name == '{reason.name}'"


ANSWERS = UnitGroup(
    name="what comes of commands",
    when=("answered",),
    bins={
        **{
            kind.name: reported(kind)
            for kind in (
                TenancyKind.REGISTERED,
                TenancyKind.GRANTED,
                TenancyKind.RELEASED,
                TenancyKind.DRAINING,
            )
        },
        **{
            f"refused: {reason.name}": reported(TenancyKind.REFUSED, reason)
            for reason in Reason
            if reason is not Reason.NONE
        },
    },
)


def holders(now: PortValues, **fields: int) -> int:
    """Count the jobs that hold the switch, whose entries have these fields."""
    return sum(
        bool(job["active"]) and all(job[name] == value for name, value in fields.items())
        for job in now["table"]
    )


def gone(now: PortValues, before: PortValues) -> list[Any]:
    """Return the entries, as they were, of jobs that have held the switch until now."""
    pairs = zip(before["table"], now["table"], strict=True)
    return [was for was, job in pairs if was["active"] and not job["active"]]


TENANTS = UnitGroup(
    name="tenants",
    ports=("table", "unfinished"),
    bins={
        "several hold the switch": lambda now, before: holders(now) > 1,
        "one drains beside another": lambda now, before: (
            0 < holders(now, draining=1) < holders(now)
        ),
        "one drains with uses under way": lambda now, before: any(
            job["draining"] and now["unfinished"] >> k & 1 for k, job in enumerate(now["table"])
        ),
        "one has drained": lambda now, before: any(was["draining"] for was in gone(now, before)),
        "one is given up at once": lambda now, before: any(
            not was["draining"] for was in gone(now, before)
        ),
        "slots are cleared as packets wait": "hold and waiting",
        "slots are cleared as none waits": "hold and not waiting",
    },
)

COMMANDS = UnitGroup(
    name="commands of a port",
    bins={
        "taken": "events.commands",
        "lost": "events.lost_commands",
        "lost as the answer comes": "events.lost_commands and answered",
        "at a closed port": "events.closed_commands",
        "an answer before a packet": "packets_tvalid and axis_tready and not packets_tready",
    },
)

GROUPS = {
    "hdl.switch.tenant_control.TenantControl": (ANSWERS, TENANTS),
    "hdl.switch.control_port.ControlPort": (COMMANDS,),
}
