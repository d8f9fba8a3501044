"""Defines the bins of SwitchGNN's units."""

from collections.abc import Iterable
from typing import Any

from sim.functional.unit_bins import UnitGroup, at_once


def named(value: str, names: Iterable[str]) -> dict[str, str]:
    """Return a bin for each of ``names``, which a port or field of an enum may have."""
    return {name: f"{value}.name == '{name}'" for name in names}


VERDICTS = UnitGroup(
    name="what becomes of frames",
    bins=named(
        "verdict",
        (
            *("ADDED", "REPEATED", "AHEAD", "UNLOADED", "FETCHED", "UNREADY", "DONE", "OVER"),
            *("EARLY", "PASSED", "CLOSED", "MISPLACED", "WRONG_RUN", "WRONG_WORKER", "WRONG_JOB"),
        ),
    ),
)

#: What a frame is refused for stands beside ``valid``, and means something without it.
REFUSALS = UnitGroup(
    name="refusals",
    bins=named(
        "refused",
        ("WRONG_RUN", "WRONG_WORKER", "WRONG_JOB", "MALFORMED", "FOREIGN", "CORRUPT"),
    ),
)

TASKS = UnitGroup(
    name="tasks",
    when=("task_valid",),
    bins={
        **named("task.kind", ("DROP", "ROWS", "ONE", "FETCH")),
        "more rows than there are": "task.kind.name == 'ROWS' and task.rows > task.there",
        "copied to several ports": "task.kind.name == 'ROWS' and task.raw.bit_count() > 1",
    },
)

ACKS = UnitGroup(
    name="what a window says",
    bins={
        "an old frame": "repeated",
        "one beyond the window": "ahead",
        "a gap behind the base": "acks_0.arrived > 1",
        "moves by eight": "acks_0.base == before.acks_0.base + 8",
        "both turns want an ACK": "acks_0.wanted and acks_1.wanted",
        "an ACK leaves as a frame comes": "acked and admit",
        "emptied while an ACK is wanted": "clear & 1 and acks_0.wanted",
    },
)

ERRORS = UnitGroup(
    name="errors of a row",
    ports=("errors", "begin"),
    bins={
        "no such row": "missing",
        "of no bank": "outside",
        "one bank": lambda now, before: wrong(now["errors"]) == 1,
        "several banks": lambda now, before: wrong(now["errors"]) > 1,
        "of different causes": lambda now, before: len({e.name for e in now["errors"]} - OK) > 1,
        "as a job begins": lambda now, before: bool(now["begin"] and wrong(now["errors"])),
    },
)
OK = {"NONE"}


def wrong(errors: Iterable[Any]) -> int:
    """Count the banks that report an error."""
    return sum(error.name not in OK for error in errors)


SENDING = UnitGroup(
    name="frames of a turn",
    bins={
        "the window is full": "full",
        "a frame again": "orders_valid and orders_payload.again",
        "a frame again and then a new one": (
            "before.orders_valid and orders_valid and before.orders_payload.again"
            " and not orders_payload.again"
        ),
        "an ACK that no switch sends": "nonsense",
        "all acknowledged": "acknowledged",
        "given up before it was": "end and active and not acknowledged",
    },
)

TURNS = UnitGroup(
    name="turns",
    bins={
        "two have begun": "has_begun == 3",
        "one is loaded ahead": "is_loaded == 3 and has_begun < 3",
        "one ends that had begun": "end",
        "one ends that had not": "advance and not has_begun",
        "one ends as another is loaded": "advance and loaded",
        "features are late": "waits",
        "all are over": "finished",
    },
)

RATE = UnitGroup(
    name="rate",
    bins={
        "halved": "halved",
        "congested again in a round trip": "congested and settings.enabled and not halved",
        "the least": "rate == settings.least > 0",
        "it grows": "rate > before.rate > 0",
        "no more tokens": "not may_begin",
        "a beat on credit": "beat and not may_begin",
        "not limited": "beat and not settings.enabled",
    },
)


TAKEN = UnitGroup(
    name="what becomes of frames",
    bins={
        **named(
            "events.verdict",
            (
                *("SUM", "FEATURE", "REPEATED", "UNWANTED", "ACKNOWLEDGED", "ADVANCED", "ASKED"),
                *("UNSENT", "CLOSED", "WRONG_RUN", "WRONG_WORKER", "WRONG_JOB", "MALFORMED"),
            ),
        ),
        "memory holds a frame up": "events.writes_wait",
        "too many ask": "lookups_valid and not lookups_ready",
    },
)

GROUPS = {
    "hdl.switchgnn.switch.judge.judge.Judge": (VERDICTS, REFUSALS, TASKS),
    "hdl.switchgnn.switch.judge.port_window.PortWindow": (ACKS,),
    "hdl.switchgnn.switch.tables.table_errors.TableErrors": (ERRORS,),
    "hdl.switchgnn.endpoint.send_window.SendWindow": (SENDING, at_once("begin", "ack.valid")),
    "hdl.switchgnn.switch.links.link_window.LinkWindow": (at_once("clear", "ack_valid"),),
    "hdl.switchgnn.endpoint.progress.Progress": (TURNS,),
    "hdl.switchgnn.endpoint.token_bucket.TokenBucket": (RATE,),
    "hdl.switchgnn.endpoint.receiver.Receiver": (TAKEN,),
}
