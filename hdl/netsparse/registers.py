"""Declares a SNIC's registers, once for the hardware, the driver and the documentation.

The host's side follows the idea of verbs (NetSparse, section 5.4): a work request, IBV_WR_RIG,
is written field by field and submitted to a client unit, or lies in a ring in host memory
(:mod:`hdl.netsparse.queue.params`); its completion is read later, here or from another ring.
"""

from hdl.common.register_parts import (
    buses_register,
    choice,
    chosen,
    commands,
    identity_registers,
    memory_timeout,
    single,
)
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw, wide
from hdl.netsparse.params import SnicParams
from hdl.netsparse.queue.params import INDEX_BITS, SIZE_BITS, Fault
from hdl.netsparse.rig.params import COUNT_BITS, TAG_BITS, WATCHDOG_BITS, Cause
from hdl.netsparse.snic_counters import BUSES, SNIC_COUNTERS, UNIT_COUNTERS

IDENTITY = 0x4E53504E  #: "NSPN"
VERSION = 1

IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a NetSparse SNIC.",
        IDENTITY,
        VERSION,
        ro("units", 6, "number of RIG units"),
        ro("idx_bits", 7, "width of an idx"),
        ro("most_property_bytes", 13, "most bytes of a property"),
    ),
    Register(
        "network_sizes",
        "Further parameters that the hardware was built with.",
        (ro("nodes", 17, "most nodes of a cluster"), ro("mtu", 14, "most bytes of a packet")),
    ),
)


CONTROL_REGISTERS = (
    commands(
        pulse("submit", "give the work request to its unit"),
        pulse("next_completion", "drop the completion that was read"),
        pulse("write_boundary", "enter boundary_node and boundary into every unit's table"),
        pulse("clear_filter", "clear the idx filter, columns of it, for any property array"),
        pulse("clear_counters", "set all counters to zero"),
        pulse("revive_buses", "use broken buses again, those that owe nothing"),
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
    buses_register("Buses of memories.", BUSES),
    memory_timeout("the bus of a memory", "a request"),
    single(
        ro("busy_units", 32, "a bit for each unit, high while it works"),
        "Shows which units are at work.",
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
    single(
        rw("server_units", 32, "a bit for each unit, high for a server; the others are clients"),
        "Which units are servers; change it only while the SNIC is at rest.",
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
    single(rw("node", 32, "number of this node"), "Number of this node."),
    single(
        rw("mac_base_low", 32, "MAC address, low bits"),
        "Address of node 0; those of the others follow it.",
    ),
    single(
        rw("mac_base_high", 16, "MAC address, high bits"),
        "Address of node 0; those of the others follow it.",
    ),
    single(rw("ip_base", 32, "IPv4 address"), "Address of node 0; those of the others follow it."),
    *wide("first", "The first idx of this node."),
    *wide("end", "The idx behind the last one of this node."),
    *wide("columns", "How many idxs there are."),
    single(
        rw("boundary_node", 16, "node whose first idx boundary is"),
        "Which entry of the boundary table is written.",
    ),
    *wide("boundary", "The first idx of boundary_node."),
    *wide("filter_address", "Where in SNIC memory the idx filter begins; a multiple of 64."),
    *wide("served_address", "Where servers find the property of idx 0; a multiple of 4."),
    single(
        rw("served_bytes", 13, "bytes of a property, a multiple of 4; other reads are refused"),
        "How long a property is that servers give.",
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
    single(rw("idx_count", COUNT_BITS, "idxs in the array"), "Number of idxs of the work request."),
    *wide(
        "property_address",
        "Where the property of idx 0 would be written; a multiple of 4. With the filter, the same"
        " array in all requests until the filter is cleared at rest.",
    ),
    single(
        rw("property_bytes", 13, "bytes of each property, a multiple of 4"),
        "How long each property of the work request is.",
    ),
    single(
        rw("watchdog", WATCHDOG_BITS, "cycles without progress; 0: never", init=1_000_000),
        "When a request is given up.",
    ),
    Register(
        "completion",
        "The oldest completion, if completion_valid.",
        (
            ro("completion_unit", 6, "who carried the request out; 32: nobody"),
            ro("completion_tag", TAG_BITS, "tag of the request"),
            ro("completion_cause", 4, "how it ended", enum=names_of(Cause)),
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
            ro("request_ring_fault", 2, "why it has stopped", enum=names_of(Fault)),
            ro("completion_ring_fault", 2, "why it has stopped", enum=names_of(Fault)),
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
            choice(UNIT_COUNTERS, "unit", "counter of that unit"),
            choice(SNIC_COUNTERS, "snic", "counter of the SNIC"),
        ),
    ),
    chosen(UNIT_COUNTERS, "unit", "the chosen unit"),
    chosen(SNIC_COUNTERS, "snic", "the SNIC"),
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
