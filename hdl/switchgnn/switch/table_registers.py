"""Declares the registers of tables that lie in external memory."""

from hdl.common.registers import Register, pulse, ro, rw
from hdl.switchgnn.switch.table_memory_params import MOST_PORTS

TABLE_TIMEOUT = 20_000_000  #: cycles without a movement: 80 ms at 250 MHz

#: Maps fields that tell how the memory is to their names there.
STATE_FIELDS = {
    "tables_broken": "broken",
    "tables_silent": "silent",
    "tables_owe": "owes",
    "tables_failed": "failed",
    "table_failures": "failures",
}


def of_ports(name: str, doc: str):
    """Make a field that has a bit for each port of the memory."""
    return ro(name, MOST_PORTS, f"a bit for each port: {doc}")


MEMORY_REGISTERS = (
    Register(
        "table_memory",
        "Where lists and descriptors lie.",
        (
            ro("table_ports", 5, "ports of memory, over which the beats of tables go round"),
            ro("table_address_bits", 6, "width of a byte address in the memory of a port"),
        ),
    ),
    Register(
        "list_line",
        "Where the lists begin.",
        (rw("list_line", 32, "beat of 32 bytes in the memory of every port"),),
    ),
    Register(
        "descriptor_line",
        "Where the descriptors begin.",
        (rw("descriptor_line", 32, "beat of 32 bytes in the memory of every port"),),
    ),
    Register(
        "table_timeout",
        "When a port of the memory is given up.",
        (
            rw(
                "table_timeout",
                32,
                "cycles without a movement, up to twice as many; 0: never, so that all frames wait"
                " for ever for a memory that is gone",
                init=TABLE_TIMEOUT,
            ),
        ),
    ),
    Register(
        "table_commands",
        "Commands; a field acts when it is written as one.",
        (pulse("revive_tables", "use broken ports again, those that owe nothing"),),
    ),
    Register(
        "table_buses",
        "Ports whose bus is broken: the rows of their beats count as no_such_row.",
        (
            of_ports("tables_broken", "it answered what it was not asked, or not in time"),
            of_ports("tables_silent", "it did not answer within table_timeout"),
        ),
    ),
    Register(
        "table_answers",
        "What ports still owe, and which gave bad answers.",
        (
            of_ports("tables_owe", "it has still to answer"),
            of_ports("tables_failed", "a beat came with an error, or not, since clear_counters"),
        ),
    ),
    Register(
        "table_failures",
        "Beats that came with an error, or not, since clear_counters; their rows are missing.",
        (ro("table_failures", 32, "number of beats; it stops at its end"),),
    ),
)
