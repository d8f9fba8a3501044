"""A NetSparse switch's registers, declared once for hardware, driver and documentation."""

from hdl.common.event_counters import numbered
from hdl.common.registers import Register, RegisterMap, pulse, ro, rw, wide
from hdl.netsparse.protocol import LENGTH_BITS
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS

IDENTITY = 0x4E535357  #: "NSSW"
VERSION = 1

IDENTITY_REGISTERS = (
    Register(
        "identity",
        "Identifies the design as a NetSparse switch.",
        (ro("identity", 32, "0x4E535357"),),
    ),
    Register("version", "Version of this register map.", (ro("version", 32, "1"),)),
    Register(
        "sizes",
        "Parameters that the hardware was built with.",
        (
            ro("ports", 6, "number of ports"),
            ro("pipes", 6, "number of middle pipes; 0: packets pass whole"),
            ro("nodes", 17, "most nodes of a cluster"),
        ),
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
    Register(
        "commands",
        "Commands; a field acts when it is written as one.",
        (
            pulse("write_route", "enter route_port and route_known for route_node"),
            pulse("configure", "empty the caches, for properties of property_bytes"),
            pulse("clear_counters", "set all counters to zero"),
            pulse("reset_packets", "drop all packets that are inside; routes and settings stay"),
        ),
    ),
    Register(
        "state",
        "What the switch does.",
        (
            ro("clearing", 1, "the caches are being emptied: lookups miss, nothing is kept"),
            ro("route_illegal", 1, "route_node is no node or route_port no port: it is not used"),
        ),
    ),
    Register(
        "stalled",
        "Ports whose link has taken no response for stall_limit cycles.",
        (ro("stalled", 32, "a bit for each port"),),
    ),
)

SETTING_REGISTERS = (
    Register(
        "route_node",
        "Node that write_route is for; change routes only while the network is quiet.",
        (rw("route_node", 16, "number of the node"),),
    ),
    Register(
        "route",
        "Route that write_route enters.",
        (
            rw("route_port", 5, "port that leads to the node"),
            rw("route_known", 1, "there is a route; without one packets for the node are dropped"),
        ),
    ),
    Register(
        "uplinks",
        "Ports that lead to other racks.",
        (rw("uplinks", 32, "a bit for each port"),),
    ),
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
    Register(
        "property_bytes",
        "How long properties are that the caches hold; configure makes it valid.",
        (rw("property_bytes", LENGTH_BITS, "bytes; other properties pass by the caches"),),
    ),
    Register(
        "stall_limit",
        "When reads stop to wait for room for their responses.",
        (
            rw(
                "stall_limit",
                32,
                "cycles in which a link takes no response, up to twice as many; 0: never",
                init=100_000,
            ),
        ),
    ),
    Register(
        "node",
        "Number of the switch, for the addresses of its packets.",
        (rw("node", 32, "number"),),
    ),
    *wide("mac_base", "MAC address of node 0; those of others follow.", bits=48),
    Register(
        "ip_base", "IP address of node 0; those of others follow.", (rw("ip_base", 32, "address"),)
    ),
)

COUNTER_REGISTERS = (
    Register(
        "counter_select",
        "Which counters are shown.",
        (
            rw("counter_part", 5, "port or middle pipe; one that is not there gives 0"),
            rw(
                "port_counter",
                PORT_COUNTERS.index_bits,
                "counter of that port",
                enum=numbered(PORT_COUNTERS, "PortCounter"),
            ),
            rw(
                "pipe_counter",
                PIPE_COUNTERS.index_bits,
                "counter of that middle pipe",
                enum=numbered(PIPE_COUNTERS, "PipeCounter"),
            ),
        ),
    ),
    Register(
        "port_count",
        "Shows the chosen counter of the chosen port.",
        (ro("port_count", PORT_COUNTERS.bits, "value of the counter"),),
    ),
    Register(
        "pipe_count",
        "Shows the chosen counter of the chosen middle pipe.",
        (ro("pipe_count", PIPE_COUNTERS.bits, "value of the counter"),),
    ),
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
