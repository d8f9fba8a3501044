"""Holds what each number, and field of a layout, of a NetSparse switch is for, for its guide."""

from gen.guides.netsparse_snic_uses import DROPS as SNIC_DROPS
from hdl.netsparse.concat.deconcatenator_params import Drop

#: what a middle pipe drops packets for; the first that applies is counted
DROPS = SNIC_DROPS | {
    Drop.BROKEN.name: "`tuser` is 1 with its last beat, also where its port has cut it",
    Drop.DEST.name: "never here, as such a packet has no route",
}
#: of a port, each for reads and for responses
PORT_COUNTED = {
    "in_packets": "packets that came in, good or not",
    "in_bytes": "bytes of them",
    "no_route": "packets dropped, as their dest has no route or is no node",
    "short": "packets dropped, as they end with their headers or within",
    "cut": "packets cut, as they have more beats than the longest",
    "waits": "cycles that a packet waited for room behind its middle pipe",
    "out_packets": "packets that left, those too that `reset_packets` has cut",
    "out_bytes": "bytes of them",
    "blocked": "cycles in which the link did not take what was there",
}
#: of a middle pipe, beside what it has in common with a SNIC
PIPE_COUNTED = {
    "cache_hit": "reads that were answered",
    "cache_miss": "reads that looked their property up and did not find it",
    "cache_inserted": "properties that were kept",
    "cache_present": "properties of responses that were kept already",
    "cache_bypassed": "lookups and properties of another length than the caches are set for",
    "cache_discarded": "properties not kept, as the caches were emptied",
    "cache_replaced": "properties displaced by those that were kept",
    "passed_by": "reads that looked nothing up, as the port of their src was stalled",
}
