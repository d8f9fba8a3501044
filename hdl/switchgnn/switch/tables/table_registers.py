"""Declares the registers of tables that lie in external memory."""

from hdl.common.register_parts import COMMANDS_DOC
from hdl.common.registers import Register, pulse, ro, rw
from hdl.switchgnn.switch.tables.table_memory_params import MAX_PORTS

TABLE_TIMEOUT = 20_000_000  #: cycles without progress: 80 ms at 250 MHz

#: Maps fields of the memory's state to their names in the registers.
STATE_FIELDS = {
    "tables_broken": "broken",
    "tables_silent": "silent",
    "tables_owe": "owes",
    "tables_failed": "failed",
    "table_failures": "failures",
}


def of_ports(name: str, doc: str):
    """Return a field with a bit for each port of the memory."""
    return ro(name, MAX_PORTS, f"tells with a bit for each port of the memory that {doc}")


MEMORY_REGISTERS = (
    Register(
        "table_memory",
        "Tells where lists and descriptors lie.",
        ro(
            "table_ports",
            5,
            "tells the number of ports of memory, over which the beats of tables are"
            " distributed in turn",
        ),
        ro(
            "table_address_bits",
            6,
            "tells how many bits a byte address has in the memory of a port",
        ),
    ),
    Register(
        "list_line",
        "Sets where the lists begin.",
        rw(
            "list_line",
            32,
            "sets the beat of 32 bytes, in the memory of every port, at which the lists begin",
        ),
    ),
    Register(
        "descriptor_line",
        "Sets where the descriptors begin.",
        rw(
            "descriptor_line",
            32,
            "sets the beat of 32 bytes, in the memory of every port, at which the descriptors"
            " begin",
        ),
    ),
    Register(
        "table_timeout",
        "Sets the time-out of a port of the memory.",
        rw(
            "table_timeout",
            32,
            "sets the time-out in cycles: a port is abandoned after one to two time-outs"
            " without progress; 0: there is no time-out, and all frames wait for ever if a"
            " memory does not answer",
            init=TABLE_TIMEOUT,
        ),
    ),
    Register(
        "table_commands",
        COMMANDS_DOC,
        pulse(
            "revive_tables",
            "takes broken ports of the memory into use again, if they owe no answer",
        ),
    ),
    Register(
        "table_buses",
        "Tells which ports have a broken bus; rows in the beats of these ports are treated as"
        " no_such_row.",
        of_ports(
            "tables_broken",
            "its bus is broken: it gave an answer without a request, or did not answer in time",
        ),
        of_ports(
            "tables_silent", "its bus is broken because it did not answer within table_timeout"
        ),
    ),
    Register(
        "table_answers",
        "Tells which ports have still to answer, and which gave bad answers.",
        of_ports("tables_owe", "it has still to answer a request"),
        of_ports("tables_failed", "a beat came with an error or not at all since clear_counters"),
    ),
    Register(
        "table_failures",
        "Counts beats that came with an error or not at all, so that their rows are missing.",
        ro(
            "table_failures",
            32,
            "counts beats that came with an error or not at all since clear_counters; stops"
            " at its highest value",
        ),
    ),
)
