"""Defines the bins of NetSparse's units."""

from hdl.netsparse.concat.deconcatenator_params import Drop
from sim.functional.unit_bins import UnitGroup, at_once, enum_bits
from sim.netsparse import middle_pipe_bins, switch_bins

DROPS = UnitGroup(
    name="drops",
    bins={
        **enum_bits("events.drops", Drop),
        "none": "events.packet and not events.drops",
        "one after a drop": "events.packet and before.events.drops",
    },
)

LINE_POOL = UnitGroup(
    name="lines",
    sizes=lambda params: {"pr_lines": params.pr_lines},
    bins={
        "none free": "free == 0",
        "enough for every PR": "free == pr_lines",
        "one taken, one returned": "takes and returns",
    },
)

EXPIRATION = UnitGroup(
    name="expirations",
    bins={
        "opens while one closes": "opens and closes",
        "opens while one expires": "opens and expires",
        "one after another": "expires and before.expires",
        "by force": "expires and force",
        "by time": "expires and not force",
        "no delay": "opens and delay == 0",
    },
)

CONCATENATOR = UnitGroup(
    name="packets",
    bins={
        "one PR": "events.packet and events.prs == 1",
        "several PRs": "events.packet and events.prs > 1",
        "one leaves while one enters": "events.packet and events.entered",
        "concatenation off": "events.packet and not settings.concatenate",
        "no delay": "events.packet and settings.delay == 0",
        "a PR waits": "events.stall",
        "empty again": "empty and not before.empty",
    },
)

CACHE = UnitGroup(
    name="requests of a cycle",
    bins={
        "one hit": "events.hit == 1",
        "several hits": "events.hit > 1",
        "one miss": "events.miss == 1",
        "several misses": "events.miss > 1",
        "hits and misses": "events.hit and events.miss",
        "a line is written back": "events.write_back",
        "a line is filled with an error": "events.fill_error",
        "a line is written with an error": "events.write_error",
    },
)

BANK = UnitGroup(
    name="cache",
    bins={
        "hit after hit": "hit and before.hit",
        "miss after miss": "miss and before.miss",
        "a dirty line is evicted": "write_back",
        "a fill fails": "filled and fill_error",
        "a fill is good": "filled and not fill_error",
    },
)

PROPERTY_CACHE = UnitGroup(
    name="accesses",
    bins={
        "hit after hit": "events.hit and before.events.hit",
        "hit after an insert": "events.hit and before.events.inserted",
        "insert after insert": "events.inserted and before.events.inserted",
        "insert of what is there": "events.present",
        "a property is replaced": "events.replaced",
        "another length": "events.bypassed",
        "an insert while it is cleared": "events.discarded",
        "configured in traffic": "configure and access_valid",
        "configured while it is cleared": "configure and busy",
    },
)

UNIT = UnitGroup(
    name="modes",
    bins={
        "client, neither": "events.prs and not coalesce and not filter",
        "client, coalesces": "events.prs and coalesce and not filter",
        "client, filters": "events.prs and not coalesce and filter",
        "client, both": "events.prs and coalesce and filter",
        "server": "serve and events.served",
    },
)

PENDING = UnitGroup(
    name="entries",
    ports=("release[]", "lookups_ready", "count"),
    bins={
        "both released at once": lambda now, before: all(
            release["valid"] for release in now["release[]"]
        ),
        "one released while one is looked up": lambda now, before: (
            any(release["valid"] for release in now["release[]"])
            and now["lookups_valid"]
            and now["lookups_ready"]
        ),
        "one waits for a full table": "full and lookups_valid",
        "full, then not": "before.full and not full",
        "empty again": "empty and not before.empty",
        "cleared in use": "clear and not empty",
    },
)

MATCH = UnitGroup(
    name="responses",
    bins={
        "good": "events.response",
        "stale": "events.stale",
        "error or of another length": "events.remote",
        "cleared while one passes": "clear and busy",
    },
)

CONCAT = "hdl.netsparse.concat"
FILTER = "hdl.netsparse.idx_filter"
PROPERTIES = "hdl.netsparse.property_cache"
RIG = "hdl.netsparse.rig"

GROUPS = (
    {
        f"{CONCAT}.packet_verdict.PacketVerdict": (DROPS,),
        f"{CONCAT}.deconcatenator.Deconcatenator": (DROPS,),
        f"{CONCAT}.line_pool.LinePool": (LINE_POOL,),
        f"{CONCAT}.expiration_queue.ExpirationQueue": (EXPIRATION,),
        f"{CONCAT}.concatenator.Concatenator": (CONCATENATOR,),
        f"{FILTER}.cache.FilterCache": (CACHE,),
        f"{FILTER}.bank.FilterBank": (BANK,),
        f"{PROPERTIES}.property_cache.PropertyCache": (PROPERTY_CACHE, middle_pipe_bins.MODES),
        f"{RIG}.unit.RigUnit": (UNIT,),
        f"{RIG}.pending_table.PendingTable": (PENDING,),
        f"{RIG}.response_match.ResponseMatch": (
            MATCH,
            at_once("clear", "responses_valid and responses_ready"),
        ),
    }
    | middle_pipe_bins.GROUPS
    | switch_bins.GROUPS
)
