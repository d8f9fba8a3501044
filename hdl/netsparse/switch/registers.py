"""Declares a NetSparse switch's registers, once for hardware, driver and documentation."""

from functools import cache

from hdl.common.register_parts import choice, chosen, commands, identity_registers, single
from hdl.common.registers import Register, RegisterMap, pulse, ro, rw, wide
from hdl.netsparse.protocol import LENGTH_BITS
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS

IDENTITY = 0x4E535357  #: the letters NSSW
VERSION = 2  #: 1 had one route to a node for all packets

IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a NetSparse switch.",
        IDENTITY,
        VERSION,
        ro("ports", 6, "tells the number of ports"),
        ro(
            "pipes",
            6,
            "tells the number of middle pipes; 0: there are none, and packets pass as they came",
        ),
        ro("nodes", 17, "tells how many nodes a cluster may have at most"),
    ),
    Register(
        "packet_sizes",
        "Tells further sizes that the hardware was built with.",
        ro("mtu", 14, "tells how many bytes a packet may have at most"),
        ro("most_property_bytes", LENGTH_BITS, "tells how many bytes a property may have at most"),
    ),
    Register(
        "cache_size",
        "Tells the size of the Property Cache of each middle pipe.",
        ro(
            "cache_bytes",
            32,
            "tells how many bytes of properties the cache of each middle pipe holds",
        ),
    ),
)

CONTROL_REGISTERS = (
    commands(
        pulse("write_route", "enters route_port and route_known as the route to route_node"),
        pulse(
            "configure", "empties the caches, which from then on hold properties of property_bytes"
        ),
        pulse("clear_counters", "sets all counters to 0"),
        pulse(
            "reset_packets",
            "drops all packets that are inside the switch; routes and settings stay",
        ),
    ),
    Register(
        "state",
        "Tells what the switch does.",
        ro(
            "clearing",
            1,
            "tells that the caches are being emptied; meanwhile lookups miss and no property"
            " is kept",
        ),
        ro(
            "route_illegal",
            1,
            "tells that route_node is no node or route_port is no port, so that write_route"
            " has no effect",
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
        rw("route_node", 16, "sets the number of the node to which write_route enters a route"),
        "Sets the node whose route write_route enters; routes may change only while the network"
        " is quiet.",
    ),
    Register(
        "route",
        "Sets the route that write_route enters.",
        rw("route_port", 5, "sets the port that leads to route_node"),
        rw(
            "route_known",
            1,
            "sets whether there is a route to route_node; without one, packets to it are dropped",
        ),
        rw("route_reads", 1, "enters the route for reads that come by route_inputs", init=1),
        rw(
            "route_responses",
            1,
            "enters the route for responses and errors that come by route_inputs",
            init=1,
        ),
        rw("route_hits", 1, "enters the route for responses from the caches", init=1),
    ),
    single(
        rw(
            "route_inputs",
            32,
            "sets by which ports packets come that take the route, with a bit for each port",
            init=(1 << 32) - 1,
        ),
        "Sets for packets from which ports write_route enters the route.",
    ),
    single(
        rw("uplinks", 32, "sets which ports lead to other racks, with a bit for each port"),
        "Sets which ports lead to other racks.",
    ),
    Register(
        "mechanisms",
        "Sets which mechanisms are in use; may change only while the network is quiet.",
        rw(
            "cache",
            1,
            "lets reads look up properties in the caches, and lets the caches keep the"
            " properties of responses",
            init=1,
        ),
        rw(
            "concatenate",
            1,
            "joins PRs of several packets into one; 0: PRs leave in the groups in which they came",
            init=1,
        ),
    ),
    Register(
        "delays",
        "Sets DelayCycles of the concatenators for reads and for responses.",
        rw(
            "read_delay",
            16,
            "sets how many cycles a read may wait for others, up to the parameter most_delay",
            init=125,
        ),
        rw(
            "response_delay",
            16,
            "sets how many cycles a response may wait for others, up to the parameter most_delay",
            init=125,
        ),
    ),
    single(
        rw(
            "property_bytes",
            LENGTH_BITS,
            "sets how many bytes a property in the caches has; properties of another size bypass"
            " the caches",
        ),
        "Sets the size of the properties that the caches hold; takes effect with configure.",
    ),
    single(
        rw(
            "stall_limit",
            32,
            "sets the time-out in cycles of a link that takes no response: after one to two"
            " time-outs reads stop waiting for it; 0: they wait for ever",
            init=100_000,
        ),
        "Sets when reads stop waiting for room for their responses.",
    ),
    single(
        rw(
            "node",
            32,
            "sets the number of the switch, from which its own packets get their source addresses",
        ),
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
        rw(
            "counter_part",
            5,
            "chooses the port or middle pipe whose counters are shown; one that is not there"
            " gives 0",
        ),
        choice(PORT_COUNTERS, "port", "port counter_part"),
        choice(PIPE_COUNTERS, "pipe", "middle pipe counter_part"),
    ),
    chosen(PORT_COUNTERS, "port", "port counter_part"),
    chosen(PIPE_COUNTERS, "pipe", "middle pipe counter_part"),
)


@cache
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
