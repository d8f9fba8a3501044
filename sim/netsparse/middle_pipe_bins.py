"""Defines bins of a middle pipe's parts: why reads wait, packets are marked, PRs are cached."""

from collections.abc import Callable, Iterator

from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.middle_pipe.lookup_gate import PATIENCE
from hdl.netsparse.property_cache.params import EVENTS as CACHE_EVENTS
from hdl.netsparse.property_cache.params import SEGMENT_BYTES
from hdl.netsparse.switch.params import CLASSES
from sim.functional.unit_bins import Interrupted, UnitGroup, enum_bits

#: whether the gate has a lookup without room for its response
LACKS_ROOM = "not prs_ready and entry.lookup and not open_items >> entry.home & 1"

LOOKUPS = UnitGroup(
    name="reads",
    bins={
        "one to another rack looks up": "enters and entry.lookup",
        "one goes on without a lookup": "enters and not entry.lookup",
        "one after another": "enters and before.enters",
        "the cache is off": "prs_valid and prs_ready and tag.uplink and not cache",
        "waits for a place among those that miss": "not prs_ready and not reads_room",
        "waits for a place for a hit": "not prs_ready and entry.lookup and not hits_room",
        "waits for room for its response": LACKS_ROOM,
        **{
            f"has room after {cycles} cycles": Interrupted(LACKS_ROOM, cycles)
            for cycles in (PATIENCE - 1, PATIENCE, PATIENCE + 1)
        },
        "waits for an insertion": "waits",
        "passes a stalled port by": "passed_by",
    },
)


GATHER = UnitGroup(
    name="properties",
    bins={
        "stored": "moves and last and keep",
        "not kept": "moves and last and not keep",
        "waits for a lookup": "valid and not taken",
        "one after another": "taken and before.taken",
    },
)

HITS = UnitGroup(
    name="places",
    bins={
        "none": "not room",
        "one again": "room and not before.room",
        "given back": "cancel",
        "a hit after a hit": "push and before.push",
        "one taken, one given back": "reserve and cancel",
        "a response waits": "o_valid and not o_ready",
    },
)

OUTPUT = UnitGroup(
    name="queues",
    bins={
        "beats leave several": "left.bit_count() > 1",
        "one comes, one leaves": "axis_tvalid and left",
    },
)

VERDICTS = UnitGroup(
    name="verdicts",
    bins={
        **enum_bits("events.drops", Drop),
        "good": "events.packet",
        "one after another": "events.packet and before.events.packet",
        "nothing is given back": "before.events.packet and not give.beats",
    },
)

ENTRIES = UnitGroup(
    name="entries",
    bins={
        "a PR ends in a beat that is there": "credit and grows == 0",
        "it takes a beat more": "credit and grows == 1",
        "it takes several": "credit and grows > 1",
        "one comes while one is told of": "comes and credit",
    },
)

MARKS = UnitGroup(
    name="marks",
    sizes=lambda params: {"payload": params.payload, "pr_lines": params.pr_lines},
    bins={
        f"{name}: {bin}": f"payload == {payload} and {issue}"
        for payload, name in enumerate(CLASSES)
        for bin, issue in {
            "no other PR fits": "closes and moves and not beat.alone",
            "another length comes": "closes and not moves and not beat.alone",
            "it stands alone": "closes and moves and beat.alone",
            "it expires": "expires_now",
            "one expires while one closes": "expires_now and closes",
            "a PR waits for the EQ": "not advance and not ready",
            "a PR waits for a packet to leave": "not advance and not admits",
            "a PR waits for lines": "not advance and free < pr_lines",
        }.items()
    },
)

EXHAUSTED = UnitGroup(
    name="marks",
    bins={
        "too little is left": "force and not before.force",
        "a packet is marked for it": "force and forced",
        "enough again": "before.force and not force",
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
