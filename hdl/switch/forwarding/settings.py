"""Lays out the settings of a port's ingress, and decides a packet's group and class by them."""

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data

from hdl.common.arithmetic import index_of
from hdl.switch.forwarding.flood_limit import BURST_BITS, RATE_BITS
from hdl.switch.forwarding.params import (
    CODES,
    DSCPS,
    GROUP_BITS,
    GROUPS,
    VLAN,
    ForwardingParams,
)


def settings_layout(params: ForwardingParams) -> data.StructLayout:
    """Describe the settings: of the port its group, and of all what is alike."""
    return data.StructLayout(
        {
            "group": GROUP_BITS,
            "vlans": data.ArrayLayout(VLAN, GROUPS),
            "members": data.ArrayLayout(params.ports, GROUPS),
            "classes": data.ArrayLayout(params.class_bits, CODES),
            "flood_rate": RATE_BITS,
            "flood_burst": BURST_BITS,
        }
    )


def group_of(m: Module, header, settings) -> tuple[Value, Value]:
    """Return a packet's group, and whether it has one: that of its VLAN id, or the port's own."""
    own, named = Signal(), Signal(len(settings.vlans))
    m.d.comb += [
        own.eq(~header.tagged | (header.vid == 0)),
        *(named[k].eq(v.used & (v.vid == header.vid)) for k, v in enumerate(settings.vlans)),
    ]
    return Mux(own, settings.group, index_of(named)), own | named.any()


def class_of(header, settings) -> Value:
    """Return a packet's class: by its DSCP if it is IPv4, else by its VLAN priority, else 0."""
    codes = list(settings.classes)
    by_dscp = Array(codes[:DSCPS])[header.dscp]
    by_priority = Array(codes[DSCPS:])[header.priority]
    return Mux(header.ipv4, by_dscp, Mux(header.tagged, by_priority, 0))
