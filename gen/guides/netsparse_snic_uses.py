"""Holds what each number, and field of a layout, of a NetSparse SNIC is for, for its guide."""

from hdl.common.rings import INDEX_BITS
from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.protocol import DO_NOT_FRAGMENT, IP_OFFSET, UDP_OFFSET
from hdl.netsparse.queue.params import NO_UNIT
from hdl.netsparse.rig.unit import FAILED

DESCRIPTOR_USES = {
    "idx_address": "address of the idx array",
    "property_address": "address of the property of idx 0",
    "count": "number of idxs",
    "watchdog": "cycles without progress after which the request is aborted; 0 waits for ever",
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
    **{
        f"failed_{item.name.lower()}": f"requests that ended with cause {item.name}"
        for item in FAILED
    },
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
    "host_read_dropped": "beats that came from the bus without a request, or late",
    "host_write_dropped": "answers that came from the bus without a request, or late",
    "dram_dropped": "beats and answers that came from the bus without a request, or late",
}
