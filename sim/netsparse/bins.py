"""Defines the bins of NetSparse's units."""

from hdl.netsparse.concat.deconcatenator_params import Drop
from sim.functional.unit_bins import UnitGroup, at_once, enum_bits
from sim.netsparse import middle_pipe_bins, switch_bins

DROPS = UnitGroup(
    name="drops",
    ports=("events",),
    bins={
        **enum_bits("events", Drop, "drops"),
        "none": lambda now, before: now["events"]["packet"] and not now["events"]["drops"],
        "one after a drop": lambda now, before: (
            now["events"]["packet"] and before["events"]["drops"]
        ),
    },
)

LINE_POOL = UnitGroup(
    name="lines",
    ports=("free", "takes", "returns"),
    sizes=lambda params: {"pr_lines": params.pr_lines},
    bins={
        "none free": lambda now, before: now["free"] == 0,
        "enough for every PR": lambda now, before: now["free"] == now["pr_lines"],
        "one taken, one returned": lambda now, before: now["takes"] and now["returns"],
    },
)

EXPIRATION = UnitGroup(
    name="expirations",
    ports=("opens", "closes", "expires", "force", "ready", "delay"),
    bins={
        "opens while one closes": lambda now, before: now["opens"] and now["closes"],
        "opens while one expires": lambda now, before: now["opens"] and now["expires"],
        "one after another": lambda now, before: now["expires"] and before["expires"],
        "by force": lambda now, before: now["expires"] and now["force"],
        "by time": lambda now, before: now["expires"] and not now["force"],
        "no delay": lambda now, before: now["opens"] and now["delay"] == 0,
    },
)

CONCATENATOR = UnitGroup(
    name="packets",
    ports=("events", "settings", "prs_valid", "empty"),
    bins={
        "one PR": lambda now, before: now["events"]["packet"] and now["events"]["prs"] == 1,
        "several PRs": lambda now, before: now["events"]["packet"] and now["events"]["prs"] > 1,
        "one leaves while one enters": lambda now, before: (
            now["events"]["packet"] and now["events"]["entered"]
        ),
        "concatenation off": lambda now, before: (
            now["events"]["packet"] and not now["settings"]["concatenate"]
        ),
        "no delay": lambda now, before: now["events"]["packet"] and now["settings"]["delay"] == 0,
        "a PR waits": lambda now, before: now["events"]["stall"],
        "empty again": lambda now, before: now["empty"] and not before["empty"],
    },
)

CACHE = UnitGroup(
    name="requests of a cycle",
    ports=("events", "busy"),
    bins={
        "one hit": lambda now, before: now["events"]["hit"] == 1,
        "several hits": lambda now, before: now["events"]["hit"] > 1,
        "one miss": lambda now, before: now["events"]["miss"] == 1,
        "several misses": lambda now, before: now["events"]["miss"] > 1,
        "hits and misses": lambda now, before: now["events"]["hit"] and now["events"]["miss"],
        "a line is written back": lambda now, before: now["events"]["write_back"],
        "a line is filled with an error": lambda now, before: now["events"]["fill_error"],
        "a line is written with an error": lambda now, before: now["events"]["write_error"],
    },
)

BANK = UnitGroup(
    name="cache",
    ports=("hit", "miss", "write_back", "clear", "fill_error", "filled"),
    bins={
        "hit after hit": lambda now, before: now["hit"] and before["hit"],
        "miss after miss": lambda now, before: now["miss"] and before["miss"],
        "a dirty line is evicted": lambda now, before: now["write_back"],
        "a fill fails": lambda now, before: now["filled"] and now["fill_error"],
        "a fill is good": lambda now, before: now["filled"] and not now["fill_error"],
    },
)

PROPERTY_CACHE = UnitGroup(
    name="accesses",
    ports=("events", "configure", "busy", "access_valid"),
    bins={
        "hit after hit": lambda now, before: now["events"]["hit"] and before["events"]["hit"],
        "hit after an insert": lambda now, before: (
            now["events"]["hit"] and before["events"]["inserted"]
        ),
        "insert after insert": lambda now, before: (
            now["events"]["inserted"] and before["events"]["inserted"]
        ),
        "insert of what is there": lambda now, before: now["events"]["present"],
        "a property is replaced": lambda now, before: now["events"]["replaced"],
        "another length": lambda now, before: now["events"]["bypassed"],
        "an insert while it is cleared": lambda now, before: now["events"]["discarded"],
        "configured in traffic": lambda now, before: now["configure"] and now["access_valid"],
        "configured while it is cleared": lambda now, before: now["configure"] and now["busy"],
    },
)

UNIT = UnitGroup(
    name="modes",
    ports=("serve", "coalesce", "filter", "events"),
    bins={
        "client, neither": lambda now, before: (
            now["events"]["prs"] and not now["coalesce"] and not now["filter"]
        ),
        "client, coalesces": lambda now, before: (
            now["events"]["prs"] and now["coalesce"] and not now["filter"]
        ),
        "client, filters": lambda now, before: (
            now["events"]["prs"] and not now["coalesce"] and now["filter"]
        ),
        "client, both": lambda now, before: (
            now["events"]["prs"] and now["coalesce"] and now["filter"]
        ),
        "server": lambda now, before: now["serve"] and now["events"]["served"],
    },
)

PENDING = UnitGroup(
    name="entries",
    ports=("release[]", "full", "empty", "lookups_valid", "lookups_ready", "clear", "count"),
    bins={
        "both released at once": lambda now, before: all(
            release["valid"] for release in now["release[]"]
        ),
        "one released while one is looked up": lambda now, before: (
            any(release["valid"] for release in now["release[]"])
            and now["lookups_valid"]
            and now["lookups_ready"]
        ),
        "one waits for a full table": lambda now, before: now["full"] and now["lookups_valid"],
        "full, then not": lambda now, before: before["full"] and not now["full"],
        "empty again": lambda now, before: now["empty"] and not before["empty"],
        "cleared in use": lambda now, before: now["clear"] and not now["empty"],
    },
)

MATCH = UnitGroup(
    name="responses",
    ports=("events", "clear", "busy", "responses_valid"),
    bins={
        "good": lambda now, before: now["events"]["response"],
        "stale": lambda now, before: now["events"]["stale"],
        "error or of another length": lambda now, before: now["events"]["remote"],
        "cleared while one passes": lambda now, before: now["clear"] and now["busy"],
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
