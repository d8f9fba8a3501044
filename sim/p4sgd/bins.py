"""Defines the bins of functional coverage of P4SGD's units."""

from typing import Any

from sim.functional.unit_bins import PortValues, UnitGroup


def high(events: Any) -> int:
    """Return how many events of a struct happen in a cycle."""
    return sum(map(bool, events.values()))


def saturates(events: str, kind: str, several: bool = False) -> Any:
    """Return a predicate on cycles: ``kind`` of saturation happens, in several lanes if asked."""

    def ask(now: PortValues, before: PortValues) -> bool:
        return now[events][kind] > int(several)

    return ask


LOSS_UNIT = UnitGroup(
    name="saturations of a beat",
    ports=("saturations",),
    bins={
        "derivative": saturates("saturations", "derivative"),
        "derivatives of several lanes": saturates("saturations", "derivative", True),
        "delta": saturates("saturations", "delta"),
        "deltas of several lanes": saturates("saturations", "delta", True),
    },
)

SLOT_TABLE = UnitGroup(
    name="slots",
    ports=("next_slot", "next_use", "outstanding", "slot_count", "start", "arrived", "delivered"),
    bins={
        "none under way": lambda now, before: now["outstanding"] == 0,
        "all under way": lambda now, before: now["outstanding"] == now["slot_count"] > 0,
        "last slot, then the first": lambda now, before: (
            before["next_slot"] == now["slot_count"] - 1 and now["next_slot"] == 0
        ),
        "last use, then the first": lambda now, before: (
            before["next_use"] == 255 and now["next_use"] == 0
        ),
        "starts while one arrives": lambda now, before: now["start"] and now["arrived"],
        "starts while one is delivered": lambda now, before: now["start"] and now["delivered"],
        "one arrives, one is delivered": lambda now, before: now["arrived"] and now["delivered"],
    },
)

TIMERS = UnitGroup(
    name="retries",
    ports=("settings", "gave_up", "peers_missing", "overdue_valid", "sent", "pending"),
    bins={
        "for ever": lambda now, before: now["overdue_valid"] and now["settings"]["retries"] == 0,
        "limited": lambda now, before: now["overdue_valid"] and now["settings"]["retries"] > 0,
        "gives the switch up": lambda now, before: (
            now["gave_up"] and not before["gave_up"] and not now["peers_missing"]
        ),
        "gives other workers up": lambda now, before: (
            now["peers_missing"] and not before["peers_missing"]
        ),
        "pending while one is overdue": lambda now, before: now["overdue_valid"] and now["pending"],
        "one is sent while one is overdue": lambda now, before: (
            now["overdue_valid"] and now["sent"]
        ),
    },
)

TRANSMITTER = UnitGroup(
    name="who is sent",
    ports=("partial_valid", "acks_valid", "overdue_valid", "may_start", "sent", "retransmission"),
    bins={
        "all three wait": lambda now, before: (
            now["partial_valid"] and now["acks_valid"] and now["overdue_valid"]
        ),
        "no slot is free": lambda now, before: now["partial_valid"] and not now["may_start"],
        "first time": lambda now, before: now["sent"] and not now["retransmission"],
        "again": lambda now, before: now["retransmission"],
        "overdue but done": lambda now, before: (
            before["overdue_valid"] and not now["overdue_valid"] and not now["retransmission"]
        ),
    },
)

TRANSPORT = UnitGroup(
    name="protocol",
    ports=("events", "outstanding", "settings", "oldest_slot", "allowed"),
    bins={
        "sends while one comes": lambda now, before: (
            now["events"]["sent"] and high(now["events"]) > 1 + now["events"]["retransmissions"]
        ),
        "all slots under way": lambda now, before: (
            now["outstanding"] == now["settings"]["slot_count"] > 0
        ),
        "last slot, then the first": lambda now, before: (
            before["oldest_slot"] == now["settings"]["slot_count"] - 1 and now["oldest_slot"] == 0
        ),
        "held back": lambda now, before: not now["allowed"] and now["outstanding"],
    },
)

AGGREGATOR = UnitGroup(
    name="answers",
    ports=("verdict", "answered", "answer"),
    bins={
        "a sum is complete": lambda now, before: now["verdict"].name == "ADDED" and now["answered"],
        "a sum is not": lambda now, before: now["verdict"].name == "ADDED" and not now["answered"],
        "a repeated one is answered": lambda now, before: (
            now["verdict"].name == "REPEATED_PARTIAL" and not now["answer"]["acked"]
        ),
        "a repeated one is pending": lambda now, before: (
            now["verdict"].name == "REPEATED_PARTIAL" and now["answer"]["acked"]
        ),
        "all have acknowledged": lambda now, before: (
            now["verdict"].name == "ACKNOWLEDGED" and now["answered"]
        ),
        "not all have": lambda now, before: (
            now["verdict"].name == "ACKNOWLEDGED" and not now["answered"]
        ),
        "a repeated acknowledgement is answered": lambda now, before: (
            now["verdict"].name == "REPEATED_ACK" and not now["answer"]["header"]["is_agg"]
        ),
        "a repeated acknowledgement is pending": lambda now, before: (
            now["verdict"].name == "REPEATED_ACK" and now["answer"]["header"]["is_agg"]
        ),
        "a previous acknowledgement is answered": lambda now, before: (
            now["verdict"].name == "PREVIOUS_ACK" and now["answered"]
        ),
    },
)

#: what a switch in a tree meets; these verdicts are on what its parent says
TREE = UnitGroup(
    name="in a tree",
    ports=("verdict", "answered", "answer"),
    bins={
        **{
            f"parent: {name}": lambda now, before, name=name: now["verdict"].name == name
            for name in ("FULL", "FREED", "PENDING", "REPEATED", "UNASKED")
        },
        "a sum goes up": lambda now, before: goes_up(now) and now["answer"]["partial"],
        "an acknowledgement goes up": lambda now, before: (
            goes_up(now) and not now["answer"]["partial"]
        ),
        "it goes up again": lambda now, before: (
            goes_up(now) and now["verdict"].name in ("REPEATED_PARTIAL", "REPEATED_ACK")
        ),
        "a new use while a job drains": lambda now, before: now["verdict"].name == "DRAINING",
    },
)


def goes_up(now: PortValues) -> bool:
    """Return whether a switch says something to its parent."""
    return now["answered"] and bool(now["answer"].get("up"))


#: ``refused`` has a meaning of its own, also in cycles without ``valid``
JOB_TABLE = UnitGroup(
    name="refusals",
    ports=("refused",),
    bins={
        name: lambda now, before, name=name: now["refused"].name == name
        for name in (
            "CORRUPT",
            "FOREIGN",
            "MALFORMED",
            "WRONG_JOB",
            "WRONG_WORKER",
            "WRONG_RUN",
            "WRONG_SLOT",
            "NOT_GRANTED",  # of tenants
            "WRONG_WAY",  # of tenants in a tree
        )
    },
)

CONTROL = UnitGroup(
    name="failures",
    ports=("words_failed", "labels_failed", "gave_up", "soft_reset", "busy", "start"),
    bins={
        "words and labels at once": lambda now, before: (
            now["words_failed"] and now["labels_failed"]
        ),
        "words and network at once": lambda now, before: now["words_failed"] and now["gave_up"],
        "reset while busy": lambda now, before: now["soft_reset"] and now["busy"],
        "reset while idle": lambda now, before: now["soft_reset"] and not now["busy"],
        "start while busy": lambda now, before: now["start"] and now["busy"],
    },
)

GROUPS = {
    "hdl.p4sgd.loss.loss_unit.LossUnit": (LOSS_UNIT,),
    "hdl.p4sgd.transport.slot_table.SlotTable": (SLOT_TABLE,),
    "hdl.p4sgd.transport.timers.Timers": (TIMERS,),
    "hdl.p4sgd.transport.transmitter.Transmitter": (TRANSMITTER,),
    "hdl.p4sgd.transport.transport.Transport": (TRANSPORT,),
    "hdl.p4sgd.switch.aggregator.Aggregator": (AGGREGATOR, TREE),
    "hdl.switch.job_table.JobTable": (JOB_TABLE,),
    "hdl.p4sgd.host.control.Control": (CONTROL,),
}
