"""Holds what each register, field and number of a NetSparse SNIC is for, for its guide."""

from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.protocol import DO_NOT_FRAGMENT, IP_OFFSET, UDP_OFFSET
from hdl.netsparse.queue.params import INDEX_BITS, NO_UNIT, Fault
from hdl.netsparse.rig.params import Cause

LOW, HIGH = "bits 0 to 31", "bits 32 to 63"


def halves(name: str, what: str) -> dict[str, str]:
    """Return the uses of the two registers of a number of more than 32 bits."""
    return {f"{name}_low": f"{LOW} of {what}", f"{name}_high": f"{HIGH} of it"}


#: settings of the node, which hold still while any unit works
NODE = {
    "memory_timeout": "cycles without a movement after which a memory's bus is given up",
    "coalesce": "1; 0 sends a read for an idx though one is under way",
    "filter": "1; 0 sends a read for an idx though its property has come",
    "concatenate": "1; 0 sends each PR in a packet of its own",
    "aligned": "1; 0 cuts properties every 128 bytes from their own beginning, for comparison",
    "server_units": "bit k for each unit k that serves; the others are clients",
    "read_delay": "cycles that a read may wait for others, at most `most_delay`",
    "response_delay": "the same for responses",
    "node": "the number of this node",
    **halves("mac_base", "the MAC address of node 0; that of node n is n more"),
    "mac_base_high": "bits 32 to 47 of it",
    "ip_base": "the IPv4 address of node 0; that of node n is n more",
    **halves("first", "the first idx that this node owns"),
    **halves("end", "the idx behind the last one that it owns"),
    **halves("columns", "the number of all idxs"),
    "boundary_node": "the node whose boundary is entered",
    **halves("boundary", "its boundary: the first idx that it owns"),
    **halves("filter_address", "the address of the filter's bits in SNIC memory"),
    **halves("served_address", "the address in host memory of the property of idx 0, for servers"),
    "served_bytes": "bytes of a property that servers give",
}
#: a work request by registers
REQUEST = {
    "request_unit": "the client unit",
    "request_tag": "any number; the completion repeats it",
    "idx_wide": "1 for idxs of 8 bytes, 0 for 4",
    **halves("idx_address", "the address of the idx array"),
    "idx_count": "the number of idxs",
    **halves("property_address", "the address of the property of idx 0"),
    "property_bytes": "bytes of a property",
    "watchdog": "cycles without progress after which the request is given up; 0 waits for ever",
}
RINGS = {
    "request_ring": "1 to use the request ring",
    "completion_ring": "1 to use the completion ring",
    "request_ring_size": "the binary logarithm of its number of places",
    "completion_ring_size": "the binary logarithm of its number of places",
    **halves("request_ring_address", "the address of the request ring"),
    **halves("completion_ring_address", "the address of the completion ring"),
    "request_producer": f"descriptors written since the ring was enabled, modulo 2^{INDEX_BITS}",
    "completion_consumer": f"completions read since the ring was enabled, modulo 2^{INDEX_BITS}",
}
#: what a host reads, and commands that it gives
STATE = {
    "identity": "reads as above",
    "version": "reads as above",
    "units": "reads U",
    "idx_bits": "reads the width of an idx",
    "most_property_bytes": "reads the most bytes of a property",
    "nodes": "reads the most nodes",
    "mtu": "reads the most bytes of a packet",
    "submit": "write 1 to give the work request in the registers to its unit",
    "next_completion": "write 1 to drop the completion that the registers show",
    "write_boundary": "write 1 to enter `boundary` for `boundary_node`",
    "clear_filter": "write 1 to set all bits of the filter to zero",
    "clear_counters": "write 1 to set all counters to zero",
    "revive_buses": "write 1 to use broken buses again that owe nothing",
    "refused": "reads 1 if the last `submit` was not taken",
    "completion_valid": "reads 1 if the registers show a completion",
    "filter_busy": "reads 1 while the filter is being cleared",
    "filter_broken": "reads 1 if a write to SNIC memory has failed: clear the filter",
    "concatenating": "reads 1 while PRs wait to be sent",
    "filter_illegal": "reads 1 if `filter_address` is illegal",
    "served_illegal": "reads 1 if `served_address` or `served_bytes` is illegal",
    "host_read_broken": "reads 1 if reads of host memory fail at once",
    "host_read_silent": "reads 1 if that is since no answer came",
    "host_read_owes": "reads 1 while an answer is due",
    "host_write_broken": "the same for writes of host memory",
    "host_write_silent": "the same for writes of host memory",
    "host_write_owes": "the same for writes of host memory",
    "dram_broken": "the same for SNIC memory",
    "dram_silent": "the same for SNIC memory",
    "dram_owes": "the same for SNIC memory",
    "busy_units": "reads bit k as 1 while unit k works",
    "completion_unit": f"reads the unit of the completion; {NO_UNIT} if no unit had the request",
    "completion_tag": "reads the request's tag",
    "completion_cause": "reads how it ended",
    "request_ring_busy": "reads 1 while the request ring is in use",
    "completion_ring_busy": "reads 1 while the completion ring is in use",
    "completion_ring_full": "reads 1 while completions wait for the host to read some",
    "request_ring_fault": "reads why the request ring has stopped",
    "completion_ring_fault": "reads why the completion ring has stopped",
    "request_consumer": f"reads the number of descriptors read, modulo 2^{INDEX_BITS}",
    "completion_producer": f"reads the number of completions in host memory, modulo 2^{INDEX_BITS}",
}
COUNTS = {
    "counter_unit": "the unit whose counter is shown",
    "unit_counter": "the number of its counter",
    "snic_counter": "the number of the SNIC's counter",
    "unit_count": "reads the unit's counter",
    "snic_count": "reads the SNIC's counter",
}
DESCRIPTOR_USES = {
    "idx_address": "address of the idx array",
    "property_address": "address of the property of idx 0",
    "count": "number of idxs",
    "watchdog": "cycles without progress after which the request is given up; 0 waits for ever",
    "property_bytes": "bytes of a property",
    "tag": "any number; the completion repeats it",
    "unit": "the client unit",
    "wide": "1 for idxs of 8 bytes, 0 for 4",
    "reserved": "zero",
}
ENTRY_USES = {
    "tag": "the request's tag; with cause DESCRIPTOR the index of the descriptor",
    "unit": f"who carried the request out; {NO_UNIT} is nobody",
    "cause": "how it ended, by the table of causes",
    "consumer": f"descriptors that have been read, modulo 2^{INDEX_BITS}: their places are free",
    "reserved": "zero",
    "phase": "1 in the first round of the ring, 0 in the second, and so on",
}
UPPER_USES = {
    "destination_mac": "`mac_base` + number of the node that the packet is for",
    "source_mac": "`mac_base` + number of the node, or switch, that sends it",
    "dscp_ecn": "by the class, see below",
    "total_length": f"bytes of the packet less {IP_OFFSET}",
    "identification": "0",
    "flags_fragment": f"0x{DO_NOT_FRAGMENT:X}: do not fragment",
    "ip_checksum": f"checksum of bytes {IP_OFFSET} to {UDP_OFFSET - 1} (RFC 1071)",
    "source_ip": "`ip_base` + number of the node, or switch, that sends it",
    "destination_ip": "`ip_base` + number of the node that it is for",
    "udp_length": f"bytes of the packet less {UDP_OFFSET}",
    "udp_checksum": "0: none",
    "reserved": "0",
}
LAYER_USES = {
    "type": "kind of the packet",
    "dest": "number of the node that it is for",
    "len": "bytes of a property, in reads too",
    "prs": "number of PRs that follow",
}
PR_USES = {
    "src": "in reads the node that asks; in responses and errors the node that owns the idx",
    "tid": "the unit that asks, of the asking node",
    "idx": "the idx",
    "id": "a number of the asking unit's; an answer repeats it",
}
CAUSES = {
    Cause.DONE: "every remote property is in host memory",
    Cause.COMMAND: "a size or address is illegal, or a descriptor is, or names no client;"
    " nothing was done",
    Cause.RANGE: "an idx is not below `columns`",
    Cause.IDX_READ: "host memory answered a read of idxs with an error, or not in time",
    Cause.PROPERTY_WRITE: "host memory answered a write of a property so",
    Cause.FILTER: "SNIC memory answered an access to the filter so",
    Cause.REMOTE: "the owner answered with an error, or with another length",
    Cause.WATCHDOG: "nothing moved for `watchdog` cycles: a packet was lost, or a node is gone",
    Cause.ARRAY: "the filter stands for another property array; nothing was done",
    Cause.DESCRIPTOR: "host memory answered the read of the descriptor with an error, or not in"
    " time",
}
FAULTS = {
    Fault.NONE: "the ring works",
    Fault.ADDRESS: "its address is no multiple of its bytes, or too large",
    Fault.OVERRUN: "the host's index is further from the hardware's than the ring is long",
    Fault.WRITE: "host memory answered the write of a completion with an error",
}
#: what a received packet is dropped for; the first that applies is counted
DROPS = {
    Drop.BROKEN.name: "`tuser` is 1 with its last beat",
    Drop.FOREIGN.name: "ethertype, version_ihl, protocol or destination_port is another",
    Drop.OVERSIZE.name: "it is longer than the MTU",
    Drop.KIND.name: "its type is unknown, or of the other class",
    Drop.DEST.name: "dest is not this node",
    Drop.LENGTH.name: "len is illegal, prs is 0, or the lengths contradict the packet's own",
    Drop.SOURCE.name: "a PR's src is no node",
}
COUNTED = {
    "consumed": "idxs that a client has taken from its arrays",
    "local": "idxs that this node owns",
    "coalesced": "idxs for which a read was under way",
    "filtered": "idxs whose property had come",
    "rejected": "idxs that were out of range, or thrown away after a failure",
    "prs": "reads that the unit has sent",
    "table_stall": "cycles that an idx waited as too many reads were under way",
    "filter_stall": "cycles that an idx waited for the filter",
    "transmit_stall": "cycles that a read waited to leave",
    "idx_stall": "cycles that a client waited for idxs",
    "responses": "responses and errors that came for the unit",
    "stale": "responses that nobody waited for, dropped",
    "remote": "errors, and responses of another length",
    "served": "reads answered with a property",
    "out_of_bounds": "reads answered with an error, by the rules of servers",
    "read_error": "reads answered with an error, as host memory failed",
    "commands": "requests that have ended",
    "failed_command": "requests that ended so",
    "failed_range": "requests that ended so",
    "failed_idx_read": "requests that ended so",
    "failed_property_write": "requests that ended so",
    "failed_filter": "requests that ended so",
    "failed_remote": "requests that ended so",
    "failed_watchdog": "requests that ended so",
    "failed_array": "requests that ended so",
    "cycles": "cycles with a unit at work",
    "sent_packets": "packets sent",
    "sent_bytes": "bytes of them",
    "sent_prs": "PRs in them",
    "stall": "cycles that a PR waited for room",
    "received_packets": "good packets received",
    "received_bytes": "bytes of them",
    "received_prs": "PRs in them",
    "lost_responses": "responses whose tid is no unit",
    "filter_near_hits": "lookups that a unit's own cache answered",
    "filter_hits": "lookups and sets whose line was in a bank",
    "filter_misses": "lookups and sets whose line was not",
    "filter_write_backs": "lines written to SNIC memory",
    "filter_fill_errors": "lines that SNIC memory did not give",
    "filter_write_errors": "lines that SNIC memory did not take",
    "host_read_requests": "bursts of reads of host memory",
    "host_read_properties": "reads that they are for: properties, parts of idx arrays, descriptors",
    "host_write_requests": "bursts of writes of host memory",
    "host_write_properties": "writes that they are for: properties and completions",
    "host_read_dropped": "beats that came from the bus unasked, or late",
    "host_write_dropped": "answers that came from the bus unasked, or late",
    "dram_dropped": "beats and answers that came from the bus unasked, or late",
}
