"""Defines the bins of SwitchGNN's units."""

from collections.abc import Callable, Iterable
from typing import Any

from sim.functional.unit_bins import PortValues, UnitGroup, at_once


def named(port: str, names: Iterable[str]) -> dict[str, Callable[[PortValues, PortValues], bool]]:
    """Return a bin for each of ``names``, which are values of ``port``."""

    def asks(name: str) -> Callable[[PortValues, PortValues], bool]:
        return lambda now, before: now[port].name == name

    return {name: asks(name) for name in names}


def kinds_of(port: str, names: Iterable[str]) -> dict[str, Any]:
    """Return a bin for each of ``names``, which are values of the field ``kind`` of ``port``."""

    def asks(name: str) -> Callable[[PortValues, PortValues], bool]:
        return lambda now, before: now[port]["kind"].name == name

    return {name: asks(name) for name in names}


VERDICTS = UnitGroup(
    name="what becomes of frames",
    ports=("verdict",),
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
    ports=("refused",),
    bins=named(
        "refused",
        ("WRONG_RUN", "WRONG_WORKER", "WRONG_JOB", "MALFORMED", "FOREIGN", "CORRUPT"),
    ),
)

TASKS = UnitGroup(
    name="tasks",
    ports=("task", "raw_request_to"),
    when=("task_valid",),
    bins={
        **kinds_of("task", ("DROP", "ROWS", "ONE", "FETCH")),
        "more rows than there are": lambda now, before: (
            now["task"]["kind"].name == "ROWS" and now["task"]["rows"] > now["task"]["there"]
        ),
        "copied to several ports": lambda now, before: (
            now["task"]["kind"].name == "ROWS" and now["task"]["raw"].bit_count() > 1
        ),
    },
)

ACKS = UnitGroup(
    name="what a window says",
    ports=("admit", "repeated", "ahead", "acks_0", "acks_1", "acked", "clear"),
    bins={
        "an old frame": lambda now, before: now["repeated"],
        "one beyond the window": lambda now, before: now["ahead"],
        "a gap behind the base": lambda now, before: now["acks_0"]["arrived"] > 1,
        "moves by eight": lambda now, before: now["acks_0"]["base"] == before["acks_0"]["base"] + 8,
        "both turns want an ACK": lambda now, before: (
            now["acks_0"]["wanted"] and now["acks_1"]["wanted"]
        ),
        "an ACK leaves as a frame comes": lambda now, before: now["acked"] and now["admit"],
        "emptied while an ACK is wanted": lambda now, before: (
            now["clear"] & 1 and now["acks_0"]["wanted"]
        ),
    },
)

ERRORS = UnitGroup(
    name="errors of a row",
    ports=("missing", "outside", "errors", "begin"),
    bins={
        "no such row": lambda now, before: now["missing"],
        "of no bank": lambda now, before: now["outside"],
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
    ports=("orders_valid", "orders_payload", "full", "nonsense", "acknowledged", "end", "active"),
    bins={
        "the window is full": lambda now, before: now["full"],
        "a frame again": lambda now, before: now["orders_valid"] and now["orders_payload"]["again"],
        "a frame again and then a new one": lambda now, before: (
            before["orders_valid"]
            and now["orders_valid"]
            and before["orders_payload"]["again"]
            and not now["orders_payload"]["again"]
        ),
        "an ACK that no switch sends": lambda now, before: now["nonsense"],
        "all acknowledged": lambda now, before: now["acknowledged"],
        "given up before it was": lambda now, before: (
            now["end"] and now["active"] and not now["acknowledged"]
        ),
    },
)

TURNS = UnitGroup(
    name="turns",
    ports=("has_begun", "is_loaded", "advance", "begin", "loaded", "waits", "end", "finished"),
    bins={
        "two have begun": lambda now, before: now["has_begun"] == 3,
        "one is loaded ahead": lambda now, before: now["is_loaded"] == 3 and now["has_begun"] < 3,
        "one ends that had begun": lambda now, before: now["end"],
        "one ends that had not": lambda now, before: now["advance"] and not now["has_begun"],
        "one ends as another is loaded": lambda now, before: now["advance"] and now["loaded"],
        "features are late": lambda now, before: now["waits"],
        "all are over": lambda now, before: now["finished"],
    },
)

RATE = UnitGroup(
    name="rate",
    ports=("settings", "congested", "halved", "rate", "may_begin", "beat"),
    bins={
        "halved": lambda now, before: now["halved"],
        "congested again in a round trip": lambda now, before: (
            now["congested"] and now["settings"]["enabled"] and not now["halved"]
        ),
        "the least": lambda now, before: now["rate"] == now["settings"]["least"] > 0,
        "it grows": lambda now, before: now["rate"] > before["rate"] > 0,
        "no more tokens": lambda now, before: not now["may_begin"],
        "a beat on credit": lambda now, before: now["beat"] and not now["may_begin"],
        "not limited": lambda now, before: now["beat"] and not now["settings"]["enabled"],
    },
)


def taken(name: str) -> Callable[[PortValues, PortValues], bool]:
    """Return a bin's test: whether a frame met the verdict ``name``."""
    return lambda now, before: now["events"]["verdict"].name == name


TAKEN = UnitGroup(
    name="what becomes of frames",
    ports=("events", "lookups_valid", "lookups_ready"),
    bins={
        **{
            name: taken(name)
            for name in (
                *("SUM", "FEATURE", "REPEATED", "UNWANTED", "ACKNOWLEDGED", "ADVANCED", "ASKED"),
                *("UNSENT", "CLOSED", "WRONG_RUN", "WRONG_WORKER", "WRONG_JOB", "MALFORMED"),
            )
        },
        "memory holds a frame up": lambda now, before: now["events"]["writes_wait"],
        "too many ask": lambda now, before: now["lookups_valid"] and not now["lookups_ready"],
    },
)

GROUPS = {
    "hdl.switchgnn.switch.judge.Judge": (VERDICTS, REFUSALS, TASKS),
    "hdl.switchgnn.switch.port_window.PortWindow": (ACKS,),
    "hdl.switchgnn.switch.table_errors.TableErrors": (ERRORS,),
    "hdl.switchgnn.endpoint.send_window.SendWindow": (SENDING, at_once("begin", "ack.valid")),
    "hdl.switchgnn.switch.link_window.LinkWindow": (at_once("clear", "ack_valid"),),
    "hdl.switchgnn.endpoint.progress.Progress": (TURNS,),
    "hdl.switchgnn.endpoint.token_bucket.TokenBucket": (RATE,),
    "hdl.switchgnn.endpoint.receiver.Receiver": (TAKEN,),
}
