"""A SNIC's registers, declared once for the hardware, the driver and the documentation.

The host's side follows the idea of verbs (NetSparse, section 5.4): a work request, IBV_WR_RIG,
is written field by field and submitted to a client unit, or lies in a ring in host memory
(:mod:`hdl.netsparse.queue.params`); its completion is read later, here or from another ring.
"""

from hdl.common.event_counters import numbered
from hdl.common.registers import Register, RegisterMap, as_int_enum, pulse, ro, rw, wide
from hdl.netsparse.params import SnicParams
from hdl.netsparse.queue.params import INDEX_BITS, SIZE_BITS, Fault
from hdl.netsparse.rig.params import COUNT_BITS, TAG_BITS, WATCHDOG_BITS, Cause
from hdl.netsparse.snic_counters import BUSES, SNIC_COUNTERS, UNIT_COUNTERS

IDENTITY = 0x4E53504E  #: "NSPN"
VERSION = 1

IDENTITY_REGISTERS = (
    Register(
        "identity",
        "Identifies the design as a NetSparse SNIC.",
        (ro("identity", 32, "0x4E53504E"),),
    ),
    Register("version", "Version of this register map.", (ro("version", 32, "1"),)),
    Register(
        "sizes",
        "Parameters that the hardware was built with.",
        (
            ro("units", 6, "number of RIG units"),
            ro("idx_bits", 7, "width of an idx"),
            ro("most_property_bytes", 13, "most bytes of a property"),
        ),
    ),
    Register(
        "network_sizes",
        "Further parameters that the hardware was built with.",
        (ro("nodes", 17, "most nodes of a cluster"), ro("mtu", 14, "most bytes of a packet")),
    ),
)


CONTROL_REGISTERS = (
    Register(
        "commands",
        "Commands; a field acts when it is written as one.",
        (
            pulse("submit", "give the work request to its unit"),
            pulse("next_completion", "drop the completion that was read"),
            pulse("write_boundary", "enter boundary_node and boundary into every unit's table"),
            pulse("clear_filter", "clear the idx filter, columns of it, for any property array"),
            pulse("clear_counters", "set all counters to zero"),
            pulse("revive_buses", "use broken buses again, those that owe nothing"),
        ),
    ),
    Register(
        "state",
        "What the SNIC does.",
        (
            ro("refused", 1, "the last work request was not taken: queue full, or no client unit"),
            ro("completion_valid", 1, "there is a completion"),
            ro("filter_busy", 1, "the idx filter is being cleared"),
            ro("filter_broken", 1, "a write to SNIC memory failed: clear the filter"),
            ro("concatenating", 1, "PRs wait to be sent"),
            ro("filter_illegal", 1, "filter_address is none: no clearing, no request with filter"),
            ro("served_illegal", 1, "served_address or served_bytes is none: reads get errors"),
        ),
    ),
    Register(
        "buses",
        "Buses of memories. What is asked of a broken one fails at once.",
        tuple(
            field
            for name in BUSES
            for field in (
                ro(f"{name}_broken", 1, "it answered what it was not asked, or not in time"),
                ro(f"{name}_silent", 1, "it did not answer within memory_timeout"),
                ro(f"{name}_owes", 1, "it has still to answer"),
            )
        ),
    ),
    Register(
        "memory_timeout",
        "When the bus of a memory is given up.",
        (
            rw(
                "memory_timeout",
                32,
                "cycles without a movement, up to twice as many; 0: never, so that a request waits"
                " for ever for a memory that is gone",
                init=20_000_000,
            ),
        ),
    ),
    Register(
        "busy_units",
        "Shows which units are at work.",
        (ro("busy_units", 32, "a bit for each unit, high while it works"),),
    ),
    Register(
        "mechanisms",
        "What is in use; change it only while the SNIC is at rest.",
        (
            rw("coalesce", 1, "drop idxs with a PR under way", init=1),
            rw("filter", 1, "drop idxs whose property has come", init=1),
            rw("concatenate", 1, "put several PRs into a packet", init=1),
            rw("aligned", 1, "whole lines of host memory, else spans of 128 bytes", init=1),
        ),
    ),
    Register(
        "server_units",
        "Which units are servers; change it only while the SNIC is at rest.",
        (rw("server_units", 32, "a bit for each unit, high for a server; the others are clients"),),
    ),
    Register(
        "delays",
        "DelayCycles of the concatenators.",
        (
            rw(
                "read_delay",
                16,
                "cycles that a read may wait for others; at most most_delay",
                init=500,
            ),
            rw(
                "response_delay",
                16,
                "cycles that a response may wait for others; at most most_delay",
                init=500,
            ),
        ),
    ),
)

ADDRESS_REGISTERS = (
    Register("node", "Number of this node.", (rw("node", 32, "number of this node"),)),
    Register(
        "mac_base_low",
        "Address of node 0; those of the others follow it.",
        (rw("mac_base_low", 32, "MAC address, low bits"),),
    ),
    Register(
        "mac_base_high",
        "Address of node 0; those of the others follow it.",
        (rw("mac_base_high", 16, "MAC address, high bits"),),
    ),
    Register(
        "ip_base",
        "Address of node 0; those of the others follow it.",
        (rw("ip_base", 32, "IPv4 address"),),
    ),
    *wide("first", "The first idx of this node."),
    *wide("end", "The idx behind the last one of this node."),
    *wide("columns", "How many idxs there are."),
    Register(
        "boundary_node",
        "Which entry of the boundary table is written.",
        (rw("boundary_node", 16, "node whose first idx boundary is"),),
    ),
    *wide("boundary", "The first idx of boundary_node."),
    *wide("filter_address", "Where in SNIC memory the idx filter begins; a multiple of 64."),
    *wide("served_address", "Where servers find the property of idx 0; a multiple of 4."),
    Register(
        "served_bytes",
        "How long a property is that servers give.",
        (rw("served_bytes", 13, "bytes of a property, a multiple of 4; other reads are refused"),),
    ),
)

REQUEST_REGISTERS = (
    Register(
        "request",
        "The work request that submit gives to a unit.",
        (
            rw("request_unit", 5, "a client unit"),
            rw("request_tag", TAG_BITS, "the host's name for it"),
            rw("idx_wide", 1, "idxs of 8 bytes, else of 4"),
        ),
    ),
    *wide("idx_address", "Address of the array of idxs, aligned to its elements."),
    Register(
        "idx_count",
        "Number of idxs of the work request.",
        (rw("idx_count", COUNT_BITS, "idxs in the array"),),
    ),
    *wide(
        "property_address",
        "Where the property of idx 0 would be written; a multiple of 4. With the filter, the same"
        " array in all requests until the filter is cleared at rest.",
    ),
    Register(
        "property_bytes",
        "How long each property of the work request is.",
        (rw("property_bytes", 13, "bytes of each property, a multiple of 4"),),
    ),
    Register(
        "watchdog",
        "When a request is given up.",
        (rw("watchdog", WATCHDOG_BITS, "cycles without progress; 0: never", init=1_000_000),),
    ),
    Register(
        "completion",
        "The oldest completion, if completion_valid.",
        (
            ro("completion_unit", 6, "who carried the request out; 32: nobody"),
            ro("completion_tag", TAG_BITS, "tag of the request"),
            ro("completion_cause", 4, "how it ended", enum=as_int_enum(Cause)),
        ),
    ),
)


RING_REGISTERS = (
    Register(
        "rings",
        "Rings in host memory; sizes and addresses hold still while a ring is enabled or busy.",
        (
            rw("request_ring", 1, "work requests are read from the request ring"),
            rw("completion_ring", 1, "completions go to the completion ring; change it at rest"),
            rw("request_ring_size", SIZE_BITS, "logarithm of the places for descriptors"),
            rw("completion_ring_size", SIZE_BITS, "logarithm of the places for completions"),
        ),
    ),
    Register(
        "ring_state",
        "What the rings do.",
        (
            ro("request_ring_busy", 1, "the request ring is in use"),
            ro("completion_ring_busy", 1, "the completion ring is in use"),
            ro("completion_ring_full", 1, "completions wait until the host has read some"),
            ro("request_ring_fault", 2, "why it has stopped", enum=as_int_enum(Fault)),
            ro("completion_ring_fault", 2, "why it has stopped", enum=as_int_enum(Fault)),
        ),
    ),
    *wide("request_ring_address", "Address of the request ring; a multiple of its bytes."),
    *wide("completion_ring_address", "Address of the completion ring; a multiple of its bytes."),
    Register(
        "doorbells",
        "How far the host is, since a ring was enabled; one write of a whole word says both.",
        (
            rw("request_producer", INDEX_BITS, "descriptors written, modulo 2^16"),
            rw("completion_consumer", INDEX_BITS, "completions read, modulo 2^16"),
        ),
    ),
    Register(
        "ring_indices",
        "How far the hardware is.",
        (
            ro("request_consumer", INDEX_BITS, "descriptors read, modulo 2^16"),
            ro("completion_producer", INDEX_BITS, "completions in host memory, modulo 2^16"),
        ),
    ),
)


COUNTER_REGISTERS = (
    Register(
        "counter_select",
        "Which counters are shown.",
        (
            rw("counter_unit", 5, "unit; one that is not there gives 0"),
            rw(
                "unit_counter",
                UNIT_COUNTERS.index_bits,
                "counter of that unit",
                enum=numbered(UNIT_COUNTERS, "UnitCounter"),
            ),
            rw(
                "snic_counter",
                SNIC_COUNTERS.index_bits,
                "counter of the SNIC",
                enum=numbered(SNIC_COUNTERS, "SnicCounter"),
            ),
        ),
    ),
    Register(
        "unit_count",
        "Shows the chosen counter of the chosen unit.",
        (ro("unit_count", UNIT_COUNTERS.bits, "value of the counter"),),
    ),
    Register(
        "snic_count",
        "Shows the chosen counter of the SNIC.",
        (ro("snic_count", SNIC_COUNTERS.bits, "value of the counter"),),
    ),
)


def snic_registers(params: SnicParams) -> RegisterMap:
    """Return the register map of a SNIC; the same for all sizes, so that one driver fits all."""
    return RegisterMap(
        "netsparse_snic",
        IDENTITY_REGISTERS
        + CONTROL_REGISTERS
        + ADDRESS_REGISTERS
        + REQUEST_REGISTERS
        + RING_REGISTERS
        + COUNTER_REGISTERS,
    )


def constants(params: SnicParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
    return {
        "identity": IDENTITY,
        "version": VERSION,
        "units": params.units,
        "idx_bits": params.rig.idx_bits,
        "most_property_bytes": params.rig.most_property_bytes,
        "nodes": params.rig.nodes,
        "mtu": params.mtu,
    }
