"""Declares a forwarding switch's registers, once for hardware, driver and documentation."""

from functools import cache

from hdl.common.core_clock import CORE_MHZ
from hdl.common.register_parts import choice, chosen, commands, identity_registers, single
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw, wide
from hdl.switch.forwarding.counters import COUNTERS, TABLE_COUNTERS
from hdl.switch.forwarding.flood_limit import BURST_BITS, RATE_BITS
from hdl.switch.forwarding.mac_table import HOST_OPERATIONS
from hdl.switch.forwarding.packet_memory import LEVEL_BITS, OWN_BEATS
from hdl.switch.forwarding.params import (
    CODE_BITS,
    GROUP_BITS,
    GROUPS,
    MAC_BITS,
    PORT_BITS,
    SOURCE_BITS,
    VID_BITS,
    ForwardingParams,
)
from hdl.switch.forwarding.port_scheduler import LEVEL_BITS as PRIORITY_BITS
from hdl.switch.forwarding.port_scheduler import WEIGHT_BITS

IDENTITY = 0x46575357  #: the letters FWSW
VERSION = 2
CLASS_BITS = 3

IDENTITY_REGISTERS = identity_registers(
    "Identifies the design as a forwarding switch.",
    IDENTITY,
    VERSION,
    ro("ports", 5, "tells the number of ports"),
    ro("classes", 4, "tells the number of classes of traffic; class c is priority c of PFC"),
    ro("rows", 15, "tells the number of rows of the MAC table, of 4 entries each"),
)

#: settings of a port, of a source at a port, of a group, of a code: fields, and what they are
TABLES = {
    "port": (
        "the port",
        (
            ("own_group", GROUP_BITS, "the group of packets without a VLAN id"),
            ("groups", GROUPS, "the groups that the port is a member of, with a bit for each"),
        ),
    ),
    "share": (
        "the source at the port",
        (
            ("level", PRIORITY_BITS, "the level; higher levels are sent first"),
            ("weight", WEIGHT_BITS, "the weight among sources of the same level"),
        ),
    ),
    "vlan": (
        "the group",
        (
            ("vid", VID_BITS, "the VLAN id whose packets belong to the group"),
            ("vid_used", 1, "whether the group has a VLAN id"),
        ),
    ),
    "code": ("the code", (("code_class", CLASS_BITS, "the class of packets with this code"),)),
}

COMMANDS = (
    commands(
        *(
            pulse(f"set_{name}", f"sets {what} that is chosen")
            for name, (what, _) in TABLES.items()
        ),
        pulse("table_start", "starts what table_operation chooses"),
        pulse("table_clear", "empties the MAC table"),
        pulse("clear_counters", "sets all counters to 0"),
    ),
    Register(
        "state",
        "Tells what the MAC table does.",
        ro("table_busy", 1, "tells that table_operation is being carried out"),
        ro("table_ready", 1, "tells that the table is not being emptied; meanwhile all flood"),
    ),
    Register(
        "port_state",
        "Sets which ports are shut, and tells which are down: no packet passes these.",
        rw("shut_ports", 1 << PORT_BITS, "sets by which ports nothing enters or leaves"),
        ro("ports_down", 1 << PORT_BITS, "tells which ports have no link or are shut"),
    ),
    Register(
        "chosen",
        "Chooses what set_port, set_share, set_vlan and set_code set, and what is shown of them.",
        rw("chosen_port", PORT_BITS, "chooses the port of the settings"),
        rw("chosen_source", SOURCE_BITS, "chooses a class, or an engine behind the classes"),
        rw("chosen_group", GROUP_BITS, "chooses the group of the settings"),
        rw("chosen_code", CODE_BITS, "chooses a DSCP, 0..63, or 64 and a VLAN priority"),
    ),
    *(
        Register(
            f"{name}_settings",
            f"Sets {what} that is chosen, with set_{name}.",
            *(rw(field, bits, f"sets {meaning}") for field, bits, meaning in fields),
        )
        for name, (what, fields) in TABLES.items()
    ),
    *(
        Register(
            f"{name}_shown",
            f"Shows the settings of {what} that is chosen.",
            *(ro(f"{field}_now", bits, f"tells {meaning}") for field, bits, meaning in fields),
        )
        for name, (what, fields) in TABLES.items()
    ),
)


def limits(params: ForwardingParams) -> tuple[Register, ...]:
    """Return the registers of limits, whose values after a reset depend on the sizes."""
    stop = params.share - params.headroom - OWN_BEATS
    return (
        Register(
            "flooding",
            "Limits the beats that a port floods.",
            rw(
                "flood_rate",
                RATE_BITS,
                "sets how many beats a port may flood in 65,536 cycles",
                init=4096,
            ),
            rw("flood_burst", BURST_BITS, "sets how many of them may be saved up", init=512),
        ),
        Register(
            "pausing",
            "Sets when a neighbour is paused.",
            rw(
                "pause_above",
                LEVEL_BITS,
                "sets the beats of a class above which it is paused",
                init=stop,
            ),
            rw(
                "resume_at",
                LEVEL_BITS,
                "sets the beats of a class at which it may go on",
                init=stop // 2,
            ),
        ),
        Register(
            "lossless_classes",
            "Sets which classes are lossless, and when packets are marked.",
            rw("lossless", 8, "sets which classes pause their senders, with a bit for each"),
            rw(
                "ecn_above",
                LEVEL_BITS,
                "sets the beats of a class above which packets that"
                " enter are marked CE if they are ECN-capable",
                init=params.share // 4,
            ),
        ),
        *wide(
            "switch_address",
            "Sets the address of the switch itself, at which engines take packets.",
            bits=MAC_BITS,
        ),
        Register(
            "learning_mode",
            "Sets whether addresses are learned.",
            rw("learning", 1, "lets the table learn the addresses that send", init=1),
        ),
        single(
            rw(
                "ageing",
                32,
                "sets the period of the scan for old entries, in units of the"
                " parameter age_cycles; an address is forgotten one to two periods after it has"
                " last sent; 0: none is",
                init=300 * CORE_MHZ * 1_000_000 // params.age_cycles,
            ),
            "Sets when addresses are forgotten.",
        ),
    )


TABLE_REGISTERS = (
    single(
        rw("table_mac_low", 32, "sets bits 0..31 of the address"),
        "Sets the low word of the address of table_operation.",
    ),
    Register(
        "table_key",
        "Sets what table_start does.",
        rw("table_mac_high", 16, "sets bits 32..47 of the address"),
        rw("table_group", GROUP_BITS, "sets the group of the entry"),
        rw("table_port", PORT_BITS, "sets the port of the entry"),
        rw(
            "table_operation",
            3,
            "chooses what table_start does: it finds, writes (as a static entry) or removes the"
            " entry of the address in the group, or reads the entry at table_place",
            enum=names_of(HOST_OPERATIONS),
        ),
    ),
    single(
        rw("table_place", 16, "sets the place of an entry: the way times rows, and the row"),
        "Sets the place that is read.",
    ),
    Register(
        "table_reply",
        "Tells the result of table_operation.",
        ro("table_hit", 1, "tells that there is an entry, or that there was one"),
        ro("table_refused", 1, "tells that the row is full, so that the entry was not written"),
        ro("table_static_now", 1, "tells that the entry is static"),
        ro("table_fresh_now", 1, "tells that the address has sent since the last scan"),
        ro("table_group_now", GROUP_BITS, "tells the group of the entry"),
        ro("table_port_now", PORT_BITS, "tells the port of the entry"),
    ),
    single(
        ro("table_mac_now", MAC_BITS, "tells the address of the entry"),
        "Shows the address of the entry in table_reply.",
    ),
)

COUNTER_REGISTERS = (
    Register(
        "counter_select",
        "Chooses which counter is shown.",
        rw("counter_part", 5, "chooses the port whose counters are shown"),
        choice(COUNTERS, "port", "port counter_part"),
    ),
    chosen(COUNTERS, "port", "port counter_part"),
    *(
        single(ro(f"table_{name}", TABLE_COUNTERS.bits, f"counts {what}"), f"Counts {what}.")
        for name, what in (
            ("moved", "addresses that moved to another port"),
            ("full", "addresses that were not learned because their row is full"),
            ("aged", "rows in which a scan removed old entries"),
        )
    ),
)


@cache
def forwarding_registers(params: ForwardingParams) -> RegisterMap:
    """Return the register map of a forwarding switch; addresses are the same for all sizes."""
    return RegisterMap(
        "forwarding_switch",
        IDENTITY_REGISTERS + COMMANDS + limits(params) + TABLE_REGISTERS + COUNTER_REGISTERS,
        constants=constants(params),
    )


def constants(params: ForwardingParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
    return {
        "identity": IDENTITY,
        "version": VERSION,
        "ports": params.ports,
        "classes": params.classes,
        "rows": params.rows,
    }
