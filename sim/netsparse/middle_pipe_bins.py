"""Defines bins of a middle pipe's parts: why reads wait, packets are marked, PRs are cached."""

from collections.abc import Callable, Iterator

from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.middle_pipe.lookup_gate import PATIENCE
from hdl.netsparse.property_cache.params import EVENTS as CACHE_EVENTS
from hdl.netsparse.property_cache.params import SEGMENT_BYTES
from hdl.netsparse.switch.params import CLASSES
from sim.functional.unit_bins import Interrupted, PortValues, UnitGroup, enum_bits

LOOKUPS = UnitGroup(
    name="reads",
    ports=(
        *("prs_valid", "prs_ready", "tag", "cache", "enters", "entry", "waits", "passed_by"),
        *("open_items", "reads_room", "hits_room", "slot"),
    ),
    bins={
        "one to another rack looks up": lambda now, before: (
            now["enters"] and now["entry"]["lookup"]
        ),
        "one goes on without a lookup": lambda now, before: (
            now["enters"] and not now["entry"]["lookup"]
        ),
        "one after another": lambda now, before: now["enters"] and before["enters"],
        "the cache is off": lambda now, before: (
            now["prs_valid"] and now["prs_ready"] and now["tag"]["uplink"] and not now["cache"]
        ),
        "waits for a place among those that miss": lambda now, before: (
            held(now) and not now["reads_room"]
        ),
        "waits for a place for a hit": lambda now, before: (
            held(now) and now["entry"]["lookup"] and not now["hits_room"]
        ),
        "waits for room for its response": lambda now, before: lacks_room(now),
        **{
            f"has room after {cycles} cycles": Interrupted(lambda now: lacks_room(now), cycles)
            for cycles in (PATIENCE - 1, PATIENCE, PATIENCE + 1)
        },
        "waits for an insertion": lambda now, before: now["waits"],
        "passes a stalled port by": lambda now, before: now["passed_by"],
    },
)


def held(now: PortValues) -> bool:
    """Return whether the gate has a read that does not enter."""
    return not now["prs_ready"]


def lacks_room(now: PortValues) -> bool:
    """Return whether the gate has a lookup without room for its response."""
    entry = now["entry"]
    return held(now) and entry["lookup"] and not now["open_items"] >> entry["home"] & 1


GATHER = UnitGroup(
    name="properties",
    ports=("moves", "last", "keep", "ready", "valid", "taken"),
    bins={
        "kept": lambda now, before: now["moves"] and now["last"] and now["keep"],
        "not kept": lambda now, before: now["moves"] and now["last"] and not now["keep"],
        "waits for a lookup": lambda now, before: now["valid"] and not now["taken"],
        "one after another": lambda now, before: now["taken"] and before["taken"],
    },
)

HITS = UnitGroup(
    name="places",
    ports=("reserve", "room", "cancel", "push", "o_valid", "o_ready"),
    bins={
        "none": lambda now, before: not now["room"],
        "one again": lambda now, before: now["room"] and not before["room"],
        "given back": lambda now, before: now["cancel"],
        "a hit after a hit": lambda now, before: now["push"] and before["push"],
        "one taken, one given back": lambda now, before: now["reserve"] and now["cancel"],
        "a response waits": lambda now, before: now["o_valid"] and not now["o_ready"],
    },
)

OUTPUT = UnitGroup(
    name="queues",
    ports=("axis_tvalid", "left"),
    bins={
        "beats leave several": lambda now, before: now["left"].bit_count() > 1,
        "one comes, one leaves": lambda now, before: now["axis_tvalid"] and now["left"],
    },
)

VERDICTS = UnitGroup(
    name="verdicts",
    ports=("events", "give"),
    bins={
        **enum_bits("events", Drop, "drops"),
        "good": lambda now, before: now["events"]["packet"],
        "one after another": lambda now, before: (
            now["events"]["packet"] and before["events"]["packet"]
        ),
        "nothing is given back": lambda now, before: (
            before["events"]["packet"] and not now["give"]["beats"]
        ),
    },
)

ENTRIES = UnitGroup(
    name="entries",
    ports=("comes", "credit", "grows", "give"),
    bins={
        "a PR ends in a beat that is there": lambda now, before: (
            now["credit"] and now["grows"] == 0
        ),
        "it takes a beat more": lambda now, before: now["credit"] and now["grows"] == 1,
        "it takes several": lambda now, before: now["credit"] and now["grows"] > 1,
        "one comes while one is told of": lambda now, before: now["comes"] and now["credit"],
    },
)

MARKS = UnitGroup(
    name="marks",
    ports=(
        *("advance", "moves", "beat", "closes", "closed", "expires_now", "opens", "ready"),
        *("admits", "free", "waits"),
    ),
    sizes=lambda params: {"payload": params.payload, "pr_lines": params.pr_lines},
    bins={
        f"{name}: {bin}": lambda now, before, payload=payload, ask=ask: (
            now["payload"] == payload and ask(now)
        )
        for payload, name in enumerate(CLASSES)
        for bin, ask in {
            "no other PR fits": lambda now: (
                now["closes"] and now["moves"] and not now["beat"]["alone"]
            ),
            "another length comes": lambda now: (
                now["closes"] and not now["moves"] and not now["beat"]["alone"]
            ),
            "it stands alone": lambda now: now["closes"] and now["moves"] and now["beat"]["alone"],
            "it expires": lambda now: now["expires_now"],
            "one expires while one closes": lambda now: now["expires_now"] and now["closes"],
            "a PR waits for the EQ": lambda now: not now["advance"] and not now["ready"],
            "a PR waits for a packet to leave": lambda now: (
                not now["advance"] and not now["admits"]
            ),
            "a PR waits for lines": lambda now: (
                not now["advance"] and now["free"] < now["pr_lines"]
            ),
        }.items()
    },
)

EXHAUSTED = UnitGroup(
    name="marks",
    ports=("force", "forced", "enters"),
    bins={
        "too little is left": lambda now, before: now["force"] and not before["force"],
        "a packet is marked for it": lambda now, before: now["force"] and now["forced"],
        "enough again": lambda now, before: before["force"] and not now["force"],
    },
)


def modes() -> Iterator[tuple[str, Callable[[int, int], bool]]]:
    """Yield names for the numbers of segments that a property takes, each with its test."""
    yield "one segment", lambda used, segments: used == 1
    yield "several segments", lambda used, segments: 1 < used < segments
    yield "all segments", lambda used, segments: used == segments


def used_segments(property_bytes: int) -> int:
    """Return how many segments act together: a power of two that holds the property."""
    return 1 << max(0, -(-property_bytes // SEGMENT_BYTES) - 1).bit_length()


MODES = UnitGroup(
    name="modes",
    ports=("events", "property_bytes"),
    sizes=lambda params: {"segments": params.segments},
    bins={
        f"{event}, {name}": lambda now, before, event=event, fits=fits: bool(
            now["events"][event] and fits(used_segments(now["property_bytes"]), now["segments"])
        )
        for event in CACHE_EVENTS.members
        for name, fits in modes()
    },
)

CONCAT = "hdl.netsparse.concat"
PIPES = "hdl.netsparse.middle_pipe"

GROUPS = {
    f"{CONCAT}.queue_table.QueueTable": (MARKS,),
    f"{CONCAT}.exhaustion.Exhaustion": (EXHAUSTED,),
    f"{PIPES}.entry_credit.EntryCredit": (ENTRIES,),
    f"{PIPES}.hit_queue.HitQueue": (HITS,),
    f"{PIPES}.lookup_gate.LookupGate": (LOOKUPS,),
    f"{PIPES}.output_queues.OutputQueues": (OUTPUT,),
    f"{PIPES}.property_gather.PropertyGather": (GATHER,),
    f"{PIPES}.verdict_credit.VerdictCredit": (VERDICTS,),
}
