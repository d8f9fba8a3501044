"""Declares a SNIC's registers, once for the hardware, the driver and the documentation.

The host's side follows the idea of verbs (NetSparse, section 5.4): a work request, IBV_WR_RIG, is
written field by field and submitted to a client unit, or is in a ring in host memory
(:mod:`hdl.netsparse.queue.params`); its completion is read later, here or from another ring.
"""

from functools import cache

from hdl.common import ring_registers
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
from hdl.common.rings import INDEX_BITS, SIZE_BITS, Fault
from hdl.netsparse.limits import MAX_UNITS, UNIT_BITS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.queue.params import ENTRY, NO_UNIT
from hdl.netsparse.rig.params import COUNT_BITS, TAG_BITS, WATCHDOG_BITS, Cause
from hdl.netsparse.snic_counters import BUSES, SNIC_COUNTERS, UNIT_COUNTERS
from hdl.pcie.read_pace import SHARE_FIELD

IDENTITY = 0x4E53504E  #: the letters NSPN
VERSION = 3

IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a NetSparse SNIC.",
        IDENTITY,
        VERSION,
        ro("units", UNIT_BITS + 1, "tells the number of RIG units"),
        ro("idx_bits", 7, "tells how many bits an idx has"),
        ro("most_property_bytes", 13, "tells how many bytes a property may have at most"),
    ),
    Register(
        "network_sizes",
        "Tells further sizes that the hardware was built with.",
        ro("nodes", 17, "tells how many nodes a cluster may have at most"),
        ro("mtu", 14, "tells how many bytes a packet may have at most"),
    ),
)


CONTROL_REGISTERS = (
    commands(
        pulse("submit", "submits the work request to its unit"),
        pulse("next_completion", "drops the completion that was read and shows the next one"),
        pulse(
            "write_boundary",
            "enters boundary as the first idx of boundary_node into the table of every unit",
        ),
        pulse(
            "clear_filter",
            "clears the idx filter for the number of idxs in columns; after a clear at rest,"
            " requests may name another property array",
        ),
        pulse("clear_counters", "sets all counters to 0"),
        pulse("revive_buses", "takes broken buses into use again, if they owe no answer"),
    ),
    Register(
        "state",
        "Tells what the SNIC does.",
        ro(
            "refused",
            1,
            "tells that the last submit failed because the unit's queue was full or the unit"
            " is no client",
        ),
        ro("completion_valid", 1, "tells that there is a completion to read"),
        ro("filter_busy", 1, "tells that the idx filter is being cleared"),
        ro(
            "filter_broken",
            1,
            "tells that a write to SNIC memory failed, so that the idx filter must be cleared",
        ),
        ro("concatenating", 1, "tells that PRs wait to be sent"),
        ro(
            "filter_illegal",
            1,
            "tells that filter_address is illegal: clear_filter has no effect, and requests"
            " that use the filter fail",
        ),
        ro(
            "served_illegal",
            1,
            "tells that served_address or served_bytes is illegal: servers answer reads with"
            " errors",
        ),
    ),
    buses_register("Tells the state of the buses to memories.", BUSES),
    memory_timeout("the bus of a memory", "a request"),
    Register(
        "limits",
        "Sets how much of the host's bandwidth reads may take; has no effect if host memory is"
        " behind an AXI bridge.",
        SHARE_FIELD,
    ),
    single(
        ro("busy_units", MAX_UNITS, "tells with a bit for each unit that it is at work"),
        "Shows which units are at work.",
    ),
    Register(
        "mechanisms",
        "Sets which mechanisms are in use; may change only while the SNIC is at rest.",
        rw("coalesce", 1, "drops idxs that have a PR under way", init=1),
        rw("filter", 1, "drops idxs whose property has arrived", init=1),
        rw("concatenate", 1, "puts several PRs into a packet", init=1),
        rw(
            "aligned",
            1,
            "cuts accesses to host memory only where a line of 128 bytes ends; 0: also after"
            " every 128 bytes from the access's first byte",
            init=1,
        ),
    ),
    *wide(
        "server_units",
        "Sets which units are servers, with a bit for each unit; the others are clients. May change"
        " only while the SNIC is at rest.",
        MAX_UNITS,
    ),
    Register(
        "delays",
        "Sets DelayCycles of the concatenators for reads and for responses.",
        rw(
            "read_delay",
            16,
            "sets how many cycles a read may wait for others, up to the parameter most_delay",
            init=500,
        ),
        rw(
            "response_delay",
            16,
            "sets how many cycles a response may wait for others, up to the parameter most_delay",
            init=500,
        ),
    ),
)

ADDRESS_REGISTERS = (
    single(rw("node", 32, "sets the number of this node"), "Sets which node this is."),
    single(
        rw(
            "mac_base_low",
            32,
            "sets bits 0..31 of the MAC address of node 0; those of the others follow it",
        ),
        "Sets the MAC addresses of all nodes.",
    ),
    single(
        rw(
            "mac_base_high",
            16,
            "sets bits 32..47 of the MAC address of node 0; those of the others follow it",
        ),
        "Sets the MAC addresses of all nodes.",
    ),
    single(
        rw("ip_base", 32, "sets the IPv4 address of node 0; those of the others follow it"),
        "Sets the IPv4 addresses of all nodes.",
    ),
    *wide("first", "Sets the first idx of this node."),
    *wide("end", "Sets the last idx of this node, plus one."),
    *wide("columns", "Sets how many idxs there are in all."),
    single(
        rw("boundary_node", 16, "chooses the node whose first idx is set in boundary"),
        "Sets which entry of the boundary table is written.",
    ),
    *wide("boundary", "Sets the first idx of boundary_node."),
    *wide(
        "filter_address",
        "Sets the address in SNIC memory at which the idx filter begins, a multiple of 64.",
    ),
    *wide(
        "served_address",
        "Sets the address in host memory at which servers find the property of idx 0, a multiple"
        " of 4.",
    ),
    single(
        rw(
            "served_bytes",
            13,
            "sets how many bytes a served property has, a multiple of 4; reads of another length"
            " are answered with errors",
        ),
        "Sets the size of the properties that servers send.",
    ),
)

REQUEST_REGISTERS = (
    Register(
        "request",
        "Sets the work request that submit gives to a unit.",
        rw("request_unit", UNIT_BITS, "chooses the client unit that carries the work request out"),
        rw("request_tag", TAG_BITS, "sets the tag by which the host identifies the work request"),
        rw("idx_wide", 1, "takes idxs of 8 bytes; 0: takes idxs of 4 bytes"),
    ),
    *wide(
        "idx_address", "Sets the address of the array of idxs, a multiple of the bytes of an idx."
    ),
    single(
        rw("idx_count", COUNT_BITS, "sets the number of idxs in the array"),
        "Sets how many idxs the work request has.",
    ),
    *wide(
        "property_address",
        "Sets the address in host memory of the property of idx 0, a multiple of 4. With the"
        " filter in use, it must be the same in all requests until the filter is cleared at rest.",
    ),
    single(
        rw("property_bytes", 13, "sets how many bytes each property has, a multiple of 4"),
        "Sets the size of the work request's properties.",
    ),
    single(
        rw(
            "watchdog",
            WATCHDOG_BITS,
            "sets after how many cycles without progress the request ends with cause WATCHDOG; 0:"
            " never",
            init=1_000_000,
        ),
        "Sets the time-out of a request.",
    ),
    Register(
        "completion",
        "Shows the oldest completion, if completion_valid is set.",
        ro(
            "completion_unit",
            ENTRY["unit"].width,
            f"tells which unit carried the request out; {NO_UNIT}: no unit did",
        ),
        ro("completion_tag", TAG_BITS, "tells the tag of the request that has ended"),
        ro("completion_cause", 4, "tells how the request ended", enum=names_of(Cause)),
    ),
)


RING_REGISTERS = (
    Register(
        "rings",
        "Sets up the rings in host memory; the size and address of a ring must not change while"
        " it is enabled or busy.",
        ring_registers.ENABLE,
        rw(
            "completion_ring",
            1,
            "lets completions be written to the completion ring; may change only while the"
            " SNIC is at rest",
        ),
        ring_registers.SIZE,
        rw(
            "completion_ring_size",
            SIZE_BITS,
            "sets the binary logarithm of the number of places for completions in the"
            " completion ring",
        ),
    ),
    Register(
        "ring_state",
        "Tells what the rings do.",
        ring_registers.BUSY,
        ro("completion_ring_busy", 1, "tells that the completion ring is in use"),
        ro(
            "completion_ring_full",
            1,
            "tells that completions wait until the host has read some of the completion ring",
        ),
        ring_registers.FAULT,
        ro(
            "completion_ring_fault",
            2,
            "tells why the completion ring stopped",
            enum=names_of(Fault),
        ),
    ),
    *ring_registers.ADDRESS,
    *wide(
        "completion_ring_address",
        "Sets the address of the completion ring, a multiple of the ring's size in bytes.",
    ),
    Register(
        "doorbells",
        "Tells the SNIC how far the host has come in each ring since it was enabled; one write"
        " sets both numbers.",
        ring_registers.PRODUCER,
        rw(
            "completion_consumer",
            INDEX_BITS,
            "sets the number of completions that the host has read, modulo 2^16",
        ),
    ),
    Register(
        "ring_indices",
        "Tells how far the SNIC has come in each ring since it was enabled.",
        ring_registers.CONSUMER,
        ro(
            "completion_producer",
            INDEX_BITS,
            "counts completions written to host memory, modulo 2^16",
        ),
    ),
)


COUNTER_REGISTERS = (
    Register(
        "counter_select",
        "Chooses which counters are shown.",
        rw(
            "counter_unit",
            UNIT_BITS,
            "chooses the unit whose counters are shown; a unit that is not there gives 0",
        ),
        choice(UNIT_COUNTERS, "unit", "unit counter_unit"),
        choice(SNIC_COUNTERS, "snic", "the SNIC"),
    ),
    chosen(UNIT_COUNTERS, "unit", "unit counter_unit"),
    chosen(SNIC_COUNTERS, "snic", "the SNIC"),
)


@cache
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
        constants=constants(params),
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
