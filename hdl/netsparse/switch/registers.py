"""Declares a NetSparse switch's registers, once for hardware, driver and documentation."""

from hdl.common.register_parts import choice, chosen, commands, identity_registers, single
from hdl.common.registers import Register, RegisterMap, pulse, ro, rw, wide
from hdl.netsparse.protocol import LENGTH_BITS
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS

IDENTITY = 0x4E535357  #: "NSSW"
VERSION = 1

IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a NetSparse switch.",
        IDENTITY,
        VERSION,
        ro("ports", 6, "number of ports"),
        ro("pipes", 6, "number of middle pipes; 0: packets pass whole"),
        ro("nodes", 17, "most nodes of a cluster"),
    ),
    Register(
        "packet_sizes",
        "Further parameters that the hardware was built with.",
        (
            ro("mtu", 14, "most bytes of a packet"),
            ro("most_property_bytes", LENGTH_BITS, "most bytes of a property"),
        ),
    ),
    Register(
        "cache_size",
        "Size of the Property Cache of each middle pipe.",
        (ro("cache_bytes", 32, "bytes of properties that it holds"),),
    ),
)

CONTROL_REGISTERS = (
    commands(
        pulse("write_route", "enter route_port and route_known for route_node"),
        pulse("configure", "empty the caches, for properties of property_bytes"),
        pulse("clear_counters", "set all counters to zero"),
        pulse("reset_packets", "drop all packets that are inside; routes and settings stay"),
    ),
    Register(
        "state",
        "What the switch does.",
        (
            ro("clearing", 1, "the caches are being emptied: lookups miss, nothing is kept"),
            ro("route_illegal", 1, "route_node is no node or route_port no port: it is not used"),
        ),
    ),
    single(
        ro("stalled", 32, "a bit for each port"),
        "Ports whose link has taken no response for stall_limit cycles.",
    ),
)

SETTING_REGISTERS = (
    single(
        rw("route_node", 16, "number of the node"),
        "Node that write_route is for; change routes only while the network is quiet.",
    ),
    Register(
        "route",
        "Route that write_route enters.",
        (
            rw("route_port", 5, "port that leads to the node"),
            rw("route_known", 1, "there is a route; without one packets for the node are dropped"),
        ),
    ),
    single(rw("uplinks", 32, "a bit for each port"), "Ports that lead to other racks."),
    Register(
        "mechanisms",
        "What is in use; change it only while the network is quiet.",
        (
            rw("cache", 1, "reads look up and responses are kept", init=1),
            rw("concatenate", 1, "join PRs of several packets; else they pass whole", init=1),
        ),
    ),
    Register(
        "delays",
        "DelayCycles of the concatenators.",
        (
            rw("read_delay", 16, "cycles that a read waits for others, at most", init=125),
            rw("response_delay", 16, "cycles that a response waits, at most", init=125),
        ),
    ),
    single(
        rw("property_bytes", LENGTH_BITS, "bytes; other properties pass by the caches"),
        "How long properties are that the caches hold; configure makes it valid.",
    ),
    single(
        rw(
            "stall_limit",
            32,
            "cycles in which a link takes no response, up to twice as many; 0: never",
            init=100_000,
        ),
        "When reads stop to wait for room for their responses.",
    ),
    single(rw("node", 32, "number"), "Number of the switch, for the addresses of its packets."),
    *wide("mac_base", "MAC address of node 0; those of others follow.", bits=48),
    single(rw("ip_base", 32, "address"), "IP address of node 0; those of others follow."),
)

COUNTER_REGISTERS = (
    Register(
        "counter_select",
        "Which counters are shown.",
        (
            rw("counter_part", 5, "port or middle pipe; one that is not there gives 0"),
            choice(PORT_COUNTERS, "port", "counter of that port"),
            choice(PIPE_COUNTERS, "pipe", "counter of that middle pipe"),
        ),
    ),
    chosen(PORT_COUNTERS, "port", "the chosen port"),
    chosen(PIPE_COUNTERS, "pipe", "the chosen middle pipe"),
)


def switch_registers(params: NetSparseSwitchParams) -> RegisterMap:
    """Return the register map of a switch; the same for all sizes, so that one driver fits all."""
    return RegisterMap(
        "netsparse_switch",
        IDENTITY_REGISTERS + CONTROL_REGISTERS + SETTING_REGISTERS + COUNTER_REGISTERS,
    )


def constants(params: NetSparseSwitchParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
    return {
        "identity": IDENTITY,
        "version": VERSION,
        "ports": params.ports,
        "pipes": params.pipes,
        "nodes": params.nodes,
        "mtu": params.mtu,
        "most_property_bytes": params.most_property_bytes,
        "cache_bytes": params.cache.cache_bytes if params.pipes else 0,
    }
