"""Declares a NetSparse switch's registers, once for hardware, driver and documentation."""

from hdl.common.register_parts import choice, chosen, commands, identity_registers, single
from hdl.common.registers import Register, RegisterMap, pulse, ro, rw, wide
from hdl.netsparse.protocol import LENGTH_BITS
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS

IDENTITY = 0x4E535357  #: the letters NSSW
VERSION = 1

IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a NetSparse switch.",
        IDENTITY,
        VERSION,
        ro("ports", 6, "tells the number of ports"),
        ro("pipes", 6, "tells the number of middle pipes; 0: there are none, packets pass whole"),
        ro("nodes", 17, "tells how many nodes a cluster may have at most"),
    ),
    Register(
        "packet_sizes",
        "Tells further sizes that the hardware was built with.",
        (
            ro("mtu", 14, "tells how many bytes a packet may have at most"),
            ro(
                "most_property_bytes",
                LENGTH_BITS,
                "tells how many bytes a property may have at most",
            ),
        ),
    ),
    Register(
        "cache_size",
        "Tells the size of the Property Cache of each middle pipe.",
        (
            ro(
                "cache_bytes",
                32,
                "tells how many bytes of properties the cache of each middle pipe holds",
            ),
        ),
    ),
)

CONTROL_REGISTERS = (
    commands(
        pulse("write_route", "enters route_port and route_known as the route to route_node"),
        pulse("configure", "empties the caches, which then take properties of property_bytes"),
        pulse("clear_counters", "sets all counters to 0"),
        pulse("reset_packets", "drops all packets that are inside; routes and settings stay"),
    ),
    Register(
        "state",
        "Tells what the switch does.",
        (
            ro(
                "clearing",
                1,
                "tells that the caches are being emptied: lookups miss, nothing is kept",
            ),
            ro(
                "route_illegal",
                1,
                "tells that route_node is no node or route_port no port: write_route has no effect",
            ),
        ),
    ),
    single(
        ro(
            "stalled",
            32,
            "tells with a bit for each port that its link took no response for stall_limit cycles",
        ),
        "Shows ports whose link takes no responses.",
    ),
)

SETTING_REGISTERS = (
    single(
        rw("route_node", 16, "sets the number of the node that write_route enters a route to"),
        "Sets the node that write_route is for; routes may change only while the network is quiet.",
    ),
    Register(
        "route",
        "Sets the route that write_route enters.",
        (
            rw("route_port", 5, "sets the port that leads to route_node"),
            rw(
                "route_known",
                1,
                "sets whether there is a route to route_node; without one its packets are dropped",
            ),
        ),
    ),
    single(
        rw("uplinks", 32, "sets which ports lead to other racks, with a bit for each port"),
        "Sets where other racks are.",
    ),
    Register(
        "mechanisms",
        "Sets what is in use; it may change only while the network is quiet.",
        (
            rw(
                "cache",
                1,
                "lets reads look properties up in the caches, which keep those of responses",
                init=1,
            ),
            rw("concatenate", 1, "joins PRs of several packets; 0: packets pass whole", init=1),
        ),
    ),
    Register(
        "delays",
        "Sets DelayCycles of the concatenators.",
        (
            rw(
                "read_delay",
                16,
                "sets how many cycles a read may wait for others, up to the parameter most_delay",
                init=125,
            ),
            rw(
                "response_delay",
                16,
                "sets how many cycles a response may wait for others, up to the parameter"
                " most_delay",
                init=125,
            ),
        ),
    ),
    single(
        rw(
            "property_bytes",
            LENGTH_BITS,
            "sets how many bytes a property in a cache has; others pass by the caches",
        ),
        "Sets how long properties are that the caches hold; configure makes it valid.",
    ),
    single(
        rw(
            "stall_limit",
            32,
            "sets for how many cycles, up to twice as many, a link may take no response before"
            " reads stop waiting; 0: for ever",
            init=100_000,
        ),
        "Sets when reads stop waiting for room for their responses.",
    ),
    single(
        rw("node", 32, "sets the number of the switch, from which its packets get their addresses"),
        "Sets which switch this is.",
    ),
    *wide("mac_base", "Sets the MAC address of node 0; those of the others follow it.", bits=48),
    single(
        rw("ip_base", 32, "sets the IPv4 address of node 0; those of the others follow it"),
        "Sets the IPv4 addresses of all nodes.",
    ),
)

COUNTER_REGISTERS = (
    Register(
        "counter_select",
        "Chooses which counters are shown.",
        (
            rw(
                "counter_part",
                5,
                "chooses the port or middle pipe whose counters are shown; one that is not there"
                " gives 0",
            ),
            choice(PORT_COUNTERS, "port", "port counter_part"),
            choice(PIPE_COUNTERS, "pipe", "middle pipe counter_part"),
        ),
    ),
    chosen(PORT_COUNTERS, "port", "port counter_part"),
    chosen(PIPE_COUNTERS, "pipe", "middle pipe counter_part"),
)


def switch_registers(params: NetSparseSwitchParams) -> RegisterMap:
    """Return the register map of a switch; the same for all sizes, so that one driver fits all."""
    return RegisterMap(
        "netsparse_switch",
        IDENTITY_REGISTERS + CONTROL_REGISTERS + SETTING_REGISTERS + COUNTER_REGISTERS,
        constants=constants(params),
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
