"""Defines the bins of functional coverage of P4SGD's units."""

from typing import Any

from sim.functional.unit_bins import PortValues, UnitGroup


def high(events: Any) -> int:
    """Return how many events of a struct happen in a cycle."""
    return sum(map(bool, events.values()))


LOSS_UNIT = UnitGroup(
    name="saturations of a beat",
    bins={
        "derivative": "saturations.derivative > 0",
        "derivatives of several lanes": "saturations.derivative > 1",
        "delta": "saturations.delta > 0",
        "deltas of several lanes": "saturations.delta > 1",
    },
)

SLOT_TABLE = UnitGroup(
    name="slots",
    bins={
        "none under way": "outstanding == 0",
        "all under way": "outstanding == slot_count > 0",
        "last slot, then the first": "before.next_slot == slot_count - 1 and next_slot == 0",
        "last use, then the first": "before.next_use == 255 and next_use == 0",
        "starts while one arrives": "start and arrived",
        "starts while one is delivered": "start and delivered",
        "one arrives, one is delivered": "arrived and delivered",
    },
)

TIMERS = UnitGroup(
    name="retries",
    bins={
        "for ever": "overdue_valid and settings.retries == 0",
        "limited": "overdue_valid and settings.retries > 0",
        "gives the switch up": "abandoned and not before.abandoned and not peers_missing",
        "gives other workers up": "peers_missing and not before.peers_missing",
        "pending while one is overdue": "overdue_valid and pending",
        "one is sent while one is overdue": "overdue_valid and sent",
    },
)

TRANSMITTER = UnitGroup(
    name="who is sent",
    bins={
        "all three wait": "partial_valid and acks_valid and overdue_valid",
        "no slot is free": "partial_valid and not may_start",
        "first time": "sent and not retransmission",
        "again": "retransmission",
        "overdue but done": "before.overdue_valid and not overdue_valid and not retransmission",
    },
)

TRANSPORT = UnitGroup(
    name="protocol",
    ports=("events",),
    bins={
        "sends while one comes": lambda now, before: (
            now["events"]["sent"] and high(now["events"]) > 1 + now["events"]["retransmissions"]
        ),
        "all slots under way": "outstanding == settings.slot_count > 0",
        "last slot, then the first": (
            "before.oldest_slot == settings.slot_count - 1 and oldest_slot == 0"
        ),
        "held back": "not allowed and outstanding",
    },
)

AGGREGATOR = UnitGroup(
    name="answers",
    bins={
        "a sum is complete": "verdict.name == 'ADDED' and answered",
        "a sum is not": "verdict.name == 'ADDED' and not answered",
        "a repeated one is answered": "verdict.name == 'REPEATED_PARTIAL' and not answer.acked",
        "a repeated one is pending": "verdict.name == 'REPEATED_PARTIAL' and answer.acked",
        "all have acknowledged": "verdict.name == 'ACKNOWLEDGED' and answered",
        "not all have": "verdict.name == 'ACKNOWLEDGED' and not answered",
        "a repeated acknowledgement is answered": (
            "verdict.name == 'REPEATED_ACK' and not answer.header.is_agg"
        ),
        "a repeated acknowledgement is pending": (
            "verdict.name == 'REPEATED_ACK' and answer.header.is_agg"
        ),
        "a previous acknowledgement is answered": "verdict.name == 'PREVIOUS_ACK' and answered",
    },
)

#: what a switch in a tree meets; these verdicts are on what its parent says
TREE = UnitGroup(
    name="in a tree",
    ports=("answered", "answer"),
    bins={
        **{
            f"parent: {name}": f"verdict.name == '{name}'"
            for name in ("FULL", "FREED", "PENDING", "REPEATED", "UNASKED")
        },
        "a sum goes up": lambda now, before: goes_up(now) and now["answer"]["partial"],
        "an acknowledgement goes up": lambda now, before: (
            goes_up(now) and not now["answer"]["partial"]
        ),
        "it goes up again": lambda now, before: (
            goes_up(now) and now["verdict"].name in ("REPEATED_PARTIAL", "REPEATED_ACK")
        ),
        "a new use while a job drains": "verdict.name == 'DRAINING'",
    },
)


def goes_up(now: PortValues) -> bool:
    """Return whether a switch says something to its parent."""
    return now["answered"] and bool(now["answer"].get("up"))


#: ``refused`` has a meaning of its own, also in cycles without ``valid``
JOB_TABLE = UnitGroup(
    name="refusals",
    bins={
        name: f"refused.name == '{name}'"
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
    bins={
        "words and labels at once": "words_failed and labels_failed",
        "words and network at once": "words_failed and abandoned",
        "reset while busy": "soft_reset and busy",
        "reset while idle": "soft_reset and not busy",
        "start while busy": "start and busy",
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
