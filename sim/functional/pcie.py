"""Defines the functional bins of requesters on PCI Express."""

from functools import lru_cache

from hdl.common.axi import FOUR_KB
from hdl.pcie.axis import rc_user
from hdl.pcie.read_requester import EVENTS
from sim.functional.unit_bins import PortValues, UnitGroup
from sim.harness.payloads import unpack

BOUNDARY = 64  #: bytes: the smallest read completion boundary
DWORD = 4  #: bytes


ADDRESS, BYTES = "requests_payload.address", "requests_payload.bytes"


def crosses(size: int | str) -> str:
    """Return the condition that a request has bytes on both sides of a multiple of ``size``."""
    return f"({ADDRESS} // {size} != ({ADDRESS} + {BYTES} - 1) // {size})"


REQUESTS = {
    "within a packet": f"not {crosses('most')}",
    "cut at the largest packet": f"{crosses('most')} and not {crosses(FOUR_KB)}",
    "cut at 4 KB": crosses(FOUR_KB),
    "ends at 4 KB": f"({ADDRESS} + {BYTES}) % {FOUR_KB} == 0",
    "4 KB long": f"{BYTES} == {FOUR_KB}",
    "begins within a completion boundary": f"{ADDRESS} % {BOUNDARY} != 0",
    "ends within a dword": f"({ADDRESS} + {BYTES}) % {DWORD} != 0",
}

READS = UnitGroup(
    name="places and sizes",
    when=("requests_valid", "requests_ready"),
    sizes=lambda params: {"most": params.max_read},
    bins=REQUESTS,
)

WRITES = UnitGroup(
    name="places and sizes",
    when=("requests_valid", "requests_ready"),
    sizes=lambda params: {"most": params.max_payload},
    bins={
        **REQUESTS,
        "begins within a dword": f"{ADDRESS} % {DWORD}",
        "within a dword": f"{BYTES} < {DWORD} and not {crosses(DWORD)}",
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


STOPS = UnitGroup(
    name="reads that are not answered",
    bins={
        **{name: f"events.{name}" for name, _ in EVENTS if name != "sent"},
        "several at once": lambda now, before: sum(now["events"].values()) > 1,
        "stopped with nothing under way": "stop and not before.stop and idle and not owes",
        "stopped with reads under way": "stop and not before.stop and owes",
        "stopped while beats leave": "stop and not before.stop and beats_valid",
        "a completion comes while stopped": "stop and rc_tvalid",
        "idle with completions to come": "stop and idle and owes",
        "goes on with completions to come": "before.stop and not stop and owes",
    },
)

SHARE = UnitGroup(
    name="requests under way",
    ports=("requests[]_valid",),
    bins={
        "none, and one is asked for": "under_way == 0 and requested_valid and requested_ready",
        "as many as may be, and one waits": lambda now, before: (
            now["under_way"] == now["most"] > 0 and any(now["requests[]_valid"])
        ),
        "more than one, without a limit": "under_way > 1 and most == 0",
        "all users ask": lambda now, before: all(now["requests[]_valid"]),
    },
)

RESETS = UnitGroup(
    name="resets",
    bins={
        "with nothing under way": "begins and idle",
        "with reads under way": "begins and not idle",
        "with writes to clear": "clear and owes",
        "no master, without a reset": "begins and not function_in_process and not function_master",
        "a master that is reset": (
            "function_in_process and not before.function_in_process and function_master"
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
