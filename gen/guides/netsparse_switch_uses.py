"""Holds what each register, field and number of a NetSparse switch is for, for its guide."""

from gen.guides.guide import halves
from gen.guides.netsparse_snic_uses import DROPS as SNIC_DROPS
from hdl.netsparse.concat.deconcatenator_params import Drop

ROUTES = {
    "route_node": "the node whose route is entered",
    "route_port": "the port that leads to it",
    "route_known": "1 to enter the port, 0 to enter that there is no route",
    "uplinks": "bit p for each port p that leads to other racks",
}
SETTINGS = {
    "cache": "1; 0 lets reads look nothing up and keeps nothing",
    "concatenate": "1; 0 lets packets pass as whole as they came",
    "read_delay": "cycles that a read may wait for others, at most `most_delay`",
    "response_delay": "cycles that a response may wait for others, at most `most_delay`",
    "property_bytes": "bytes of a property that the caches hold, taken by `configure`; 0: none",
    "stall_limit": "cycles without a response after which a link is `stalled`; 0: never",
    "node": "the number of this switch, which no node and no other switch has",
    **halves("mac_base", "the MAC address of node 0; that of number n is n more"),
    "mac_base_high": "bits 32 to 47 of it",
    "ip_base": "the IPv4 address of node 0; that of number n is n more",
}
STATE = {
    "identity": "reads as above",
    "version": "reads as above",
    "ports": "reads P",
    "pipes": "reads Q",
    "nodes": "reads N",
    "mtu": "reads the most bytes of a packet",
    "most_property_bytes": "reads the most bytes of a property",
    "cache_bytes": "reads the bytes of properties that the cache of a middle pipe holds",
    "write_route": "write 1 to enter `route_port` and `route_known` for `route_node`",
    "configure": "write 1 to empty all caches, which then take properties of `property_bytes`",
    "clear_counters": "write 1 to set all counters to zero",
    "reset_packets": "write 1 to drop all packets that are inside",
    "clearing": "reads 1 while the caches are emptied: lookups miss, nothing is kept",
    "route_illegal": "reads 1 if `route_node` is not below N or `route_port` not below P",
    "stalled": "reads bit p as 1 while the link of port p takes no responses",
}
COUNTS = {
    "counter_part": "the port or middle pipe whose counters are shown; one that is not there has 0",
    "port_counter": "the number of a port's counter",
    "pipe_counter": "the number of a middle pipe's counter",
    "port_count": "reads the port's counter",
    "pipe_count": "reads the middle pipe's counter",
}
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
#: parts of the names of counters that tell of a fault
FAULTS = ("no_route", "short", "cut", "_dropped_", "passed_by")
