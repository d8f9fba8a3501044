"""Declares the registers of a plugin, beside those of its switch."""

from functools import cache

from hdl.common.event_counters import CountersParams
from hdl.common.register_parts import commands, single
from hdl.common.registers import RegisterMap, pulse, ro
from hdl.opennic.box import PORTS
from hdl.opennic.port_paths import EVENT_BITS, EVENTS

IDENTITY = 0x4F4E4943  #: the letters ONIC
VERSION = 1
BASE = 0x10000  #: address of these registers in the box's window; those of the switch are at 0
ADDRESS_BITS = 12
COUNTERS = CountersParams(
    name="opennic",
    counters=tuple((f"port_{k}_{event}", EVENT_BITS) for k in range(PORTS) for event in EVENTS),
)


@cache
def plugin_registers() -> RegisterMap:
    """Return the registers: what the plugin is, and the packets that it led at each port."""
    fields = [
        ro("plugin", 32, f"reads {IDENTITY:#x}, the number of a plugin's registers"),
        ro("plugin_version", 32, f"reads {VERSION}, the version of this register map"),
        *(
            ro(f"port_{k}_{event}", COUNTERS.bits, f"counts {what}, at port {k}")
            for k in range(PORTS)
            for event, what in EVENTS.items()
        ),
    ]
    clear = commands(pulse("clear_packets", "sets all counters of packets to 0"))
    docs = {"plugin": "Identifies the plugin's registers.", "plugin_version": "Tells the version."}
    rest = [single(f, docs.get(f.name, f"Counts packets: {f.name}.")) for f in fields]
    return RegisterMap(
        "opennic",
        (clear, *rest),
        address_bits=ADDRESS_BITS,
        constants={"plugin": IDENTITY, "plugin_version": VERSION},
    )
