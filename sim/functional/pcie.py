"""Defines the functional bins of requesters on PCI Express."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from hdl.common.axi import FOUR_KB
from hdl.pcie.axis import rc_user
from hdl.pcie.read_requester import EVENTS
from sim.functional.unit_bins import PortValues, UnitGroup
from sim.harness.payloads import unpack

Bins = Mapping[str, Callable[[PortValues, PortValues], bool]]

BOUNDARY = 64  #: bytes: the smallest read completion boundary
DWORD = 4  #: bytes


def end_of(request: Mapping[str, int]) -> int:
    """Return the address after a request's last byte."""
    return request["address"] + request["bytes"]


def crosses(request: Mapping[str, int], size: int) -> bool:
    """Return whether bytes of ``request`` are on both sides of a multiple of ``size``."""
    return request["address"] // size != (end_of(request) - 1) // size


REQUESTS: Bins = {
    "within a packet": lambda now, before: not crosses(now["requests_payload"], now["most"]),
    "cut at the largest packet": lambda now, before: (
        crosses(now["requests_payload"], now["most"])
        and not crosses(now["requests_payload"], FOUR_KB)
    ),
    "cut at 4 KB": lambda now, before: crosses(now["requests_payload"], FOUR_KB),
    "ends at 4 KB": lambda now, before: end_of(now["requests_payload"]) % FOUR_KB == 0,
    "4 KB long": lambda now, before: now["requests_payload"]["bytes"] == FOUR_KB,
    "begins within a completion boundary": lambda now, before: (
        now["requests_payload"]["address"] % BOUNDARY != 0
    ),
    "ends within a dword": lambda now, before: end_of(now["requests_payload"]) % DWORD != 0,
}

READS = UnitGroup(
    name="places and sizes",
    ports=("requests_payload",),
    when=("requests_valid", "requests_ready"),
    sizes=lambda params: {"most": params.max_read},
    bins=REQUESTS,
)

WRITES = UnitGroup(
    name="places and sizes",
    ports=("requests_payload",),
    when=("requests_valid", "requests_ready"),
    sizes=lambda params: {"most": params.max_payload},
    bins={
        **REQUESTS,
        "begins within a dword": lambda now, before: now["requests_payload"]["address"] % DWORD,
        "within a dword": lambda now, before: (
            now["requests_payload"]["bytes"] < DWORD and not crosses(now["requests_payload"], DWORD)
        ),
    },
)


@lru_cache(4096)
def borders(data_bits: int, tuser: int) -> tuple[int, int, bool]:
    """Return how many completions begin in a beat of RC, how many end, and whether one is bad."""
    user = unpack(rc_user(data_bits), tuser)
    ends = user["ends"]
    ended = ends.bit_count() if data_bits == 512 else sum(end["valid"] for end in ends)
    return user["starts"].bit_count(), ended, bool(user["discontinue"])


def of_beat(now: PortValues) -> tuple[int, int, bool]:
    """Return the :func:`borders` of the beat of RC in ``now``."""
    return borders(now["data_bits"], now["rc_tuser"])


STRADDLING = UnitGroup(
    name="completions of a beat",
    ports=("rc_tuser",),
    when=("rc_tvalid", "rc_tready"),
    sizes=lambda params: {"data_bits": params.data_bits},
    bins={
        "one goes on": lambda now, before: of_beat(now)[:2] == (0, 0),
        "one ends": lambda now, before: of_beat(now)[:2] == (0, 1),
        "one begins": lambda now, before: of_beat(now)[:2] == (1, 0),
        "as many end as begin": lambda now, before: of_beat(now)[0] == of_beat(now)[1] > 0,
        "the last of several goes on": lambda now, before: of_beat(now)[0] > of_beat(now)[1] > 0,
        "one more ends than begin": lambda now, before: of_beat(now)[1] > of_beat(now)[0] > 0,
        "one is discontinued": lambda now, before: of_beat(now)[2],
        "one is discontinued and another begins": lambda now, before: (
            of_beat(now)[0] >= of_beat(now)[1] > 0 and of_beat(now)[2]
        ),
    },
)


def begins(port: str) -> Callable[[PortValues, PortValues], bool]:
    """Return the condition of a bin that ``port`` becomes high."""
    return lambda now, before: now[port] and not before[port]


def event(name: str) -> Callable[[PortValues, PortValues], Any]:
    """Return the condition of a bin that the event ``name`` happens."""
    return lambda now, before: now["events"][name]


STOPS = UnitGroup(
    name="reads that are not answered",
    ports=("stop", "idle", "owes", "events", "beats_valid", "rc_tvalid"),
    bins={
        **{name: event(name) for name, _ in EVENTS if name != "sent"},
        "several at once": lambda now, before: sum(now["events"].values()) > 1,
        "stopped with nothing under way": lambda now, before: (
            begins("stop")(now, before) and now["idle"] and not now["owes"]
        ),
        "stopped with reads under way": lambda now, before: (
            begins("stop")(now, before) and now["owes"]
        ),
        "stopped while beats leave": lambda now, before: (
            begins("stop")(now, before) and now["beats_valid"]
        ),
        "a completion comes while stopped": lambda now, before: now["stop"] and now["rc_tvalid"],
        "idle with completions to come": lambda now, before: (
            now["stop"] and now["idle"] and now["owes"]
        ),
        "goes on with completions to come": lambda now, before: (
            before["stop"] and not now["stop"] and now["owes"]
        ),
    },
)

SHARE = UnitGroup(
    name="requests under way",
    ports=("most", "under_way", "requests[]_valid", "asked_valid", "asked_ready"),
    bins={
        "none, and one is asked for": lambda now, before: (
            now["under_way"] == 0 and now["asked_valid"] and now["asked_ready"]
        ),
        "as many as may be, and one waits": lambda now, before: (
            now["under_way"] == now["most"] > 0 and any(now["requests[]_valid"])
        ),
        "more than one, without a limit": lambda now, before: (
            now["under_way"] > 1 and now["most"] == 0
        ),
        "all users ask": lambda now, before: all(now["requests[]_valid"]),
    },
)

RESETS = UnitGroup(
    name="resets",
    ports=("function_in_process", "function_master", "idle", "owes", "begins", "clear"),
    bins={
        "with nothing under way": lambda now, before: now["begins"] and now["idle"],
        "with reads under way": lambda now, before: now["begins"] and not now["idle"],
        "with writes to clear": lambda now, before: now["clear"] and now["owes"],
        "no master, without a reset": lambda now, before: (
            now["begins"] and not now["function_in_process"] and not now["function_master"]
        ),
        "a master that is reset": lambda now, before: (
            begins("function_in_process")(now, before) and now["function_master"]
        ),
    },
)

GROUPS = {
    "hdl.pcie.read_requester.ReadRequester": (READS, STRADDLING, STOPS),
    "hdl.pcie.completion_splitter.CompletionSplitter": (STRADDLING,),
    "hdl.pcie.write_requester.WriteRequester": (WRITES,),
    "hdl.pcie.read_share.ReadShare": (SHARE,),
    "hdl.pcie.function_reset.FunctionReset": (RESETS,),
}
