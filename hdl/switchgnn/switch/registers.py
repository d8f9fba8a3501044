"""Declares the registers of SwitchGNN's switch, once for hardware, driver and documentation."""

from enum import IntEnum
from functools import cache

from hdl.common.register_parts import choice, chosen, commands, identity_registers, single
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw, wide
from hdl.switch.job_registers import ACTIVE_JOBS, JOB_PORTS, job_register, state_register
from hdl.switch.verdict_counters import COUNTER_BITS
from hdl.switchgnn.switch.banks.aggregator_params import TableError
from hdl.switchgnn.switch.counters import TOTAL_COUNTERS, port_counters
from hdl.switchgnn.switch.judge.port_window import ACK_SETTINGS
from hdl.switchgnn.switch.links.link_registers import LINK_REGISTERS
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import LEVEL_BITS
from hdl.switchgnn.switch.tables.table_errors import ERROR_COUNT_BITS
from hdl.switchgnn.switch.tables.table_registers import MEMORY_REGISTERS

IDENTITY = 0x53474E4E  #: the letters SGNN
VERSION = 2

ROW_BITS = 21  #: width of the number of a row of a table on chip
MEMORY_ROW_BITS = 32  #: width of the number of a row of a table in memory


class Table(IntEnum):
    """Names the tables that the host writes."""

    LISTS = 0  #: rows of an entry for each bank, 16 bits each, the first in the lowest bits
    DESCRIPTORS = 1  #: rows of a descriptor for each bank, 32 bits each
    PROGRAM = 2  #: steps of job_number: first row of descriptors, rows, turns


IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a SwitchGNN switch.",
        IDENTITY,
        VERSION,
        ro(
            "ports",
            6,
            "tells the number of ports; each has a worker, unless it leads to another switch",
        ),
        ro("jobs", 6, "tells how many jobs can run side by side"),
        ro("banks", 5, "tells how many aggregators a row of lists can name, one in each bank"),
        ro("lanes", 8, "tells the number of features of a frame"),
        ro(
            "window",
            8,
            "tells how many frames of a turn a worker may be ahead of its oldest frame without ACK",
        ),
    ),
    single(
        ro("depth", 17, "tells the number of aggregators of a bank"),
        "Tells how deep the banks are.",
    ),
)


def table_sizes(row_bits: int) -> Register:
    """Return the register of the tables' sizes; a row's number has so many bits."""
    return Register(
        "table_sizes",
        "Tells the rows of the tables."
        if row_bits > ROW_BITS
        else "Tells the rows of the tables on chip.",
        ro("list_rows", row_bits, "tells how many rows of lists there are"),
        ro("descriptor_rows", row_bits, "tells how many rows of descriptors there are"),
    )


CONTROL_REGISTERS = (
    commands(
        pulse("start_job", "starts job_number anew, with the values of the job's registers"),
        pulse("stop_job", "stops job_number: its frames are no longer taken"),
        pulse("clear_counters", "sets all counters but those of table errors to 0"),
        pulse("begin_table", "lets the next words be written to table, from row table_row on"),
        pulse(
            "write_word",
            "adds table_word to the row; when its last word has been added, the row is written",
        ),
    ),
    state_register(
        ro("clearing_banks", 1, "tells that aggregators are being cleared after a reset")
    ),
    ACTIVE_JOBS,
)

SETTING_REGISTERS = (
    *wide(
        "switch_address",
        "Sets the switch's own Ethernet address; bits 0..7 are the byte sent first.",
        bits=48,
    ),
    *wide(
        "group_address",
        "Sets the Ethernet address to which frames are sent; bits 0..7 are the byte sent first.",
        bits=48,
    ),
    Register(
        "acks",
        "Sets when frames are acknowledged.",
        rw(
            "ack_every",
            ACK_SETTINGS["every"].width,
            "sets how many new frames one ACK acknowledges, at least 1",
            init=4,
        ),
        rw(
            "ack_delay",
            ACK_SETTINGS["delay"].width,
            "sets after how many cycles at most a new frame is acknowledged",
            init=500,
        ),
    ),
    single(
        rw(
            "ingress_mark",
            LEVEL_BITS,
            "sets the number of beats waiting at a port above which its ACKs report congestion;"
            " 0: never",
        ),
        "Sets when ports report congestion on the way in.",
    ),
    single(
        rw(
            "egress_mark",
            LEVEL_BITS,
            "sets the number of beats waiting to leave by a port above which its RESULTs and RAWs"
            " report congestion, and the ACKs of all ports of the job, too; 0: never",
        ),
        "Sets when ports report congestion on the way out.",
    ),
)

JOB_REGISTERS = (
    job_register("Sets the job that commands are for, and whose table errors are shown."),
    JOB_PORTS,
    single(
        rw("job_base", 16, "sets the index of the job's first aggregator in every bank"),
        "Sets where the job's aggregators begin.",
    ),
    single(
        rw(
            "job_depth",
            17,
            "sets how many aggregators of every bank the job has, for all open turns together",
        ),
        "Sets how many aggregators the job has.",
    ),
    Register(
        "job_program",
        "Sets how the job's turns run.",
        rw(
            "job_two",
            1,
            "lets two turns be open at a time, each with half of the aggregators; 0: lets one"
            " be open",
        ),
        rw("job_last_step", 8, "sets the number of the last step of the job's turn program"),
    ),
)

MAXIMUM_REGISTERS = (
    Register(
        "job_operation",
        "Sets what the job's aggregators compute.",
        ro("maxima", 1, "tells that a job may take the largest of its contributions"),
        rw(
            "job_maximum",
            1,
            "lets aggregators have the largest of their contributions, lane by lane; 0: their sum",
        ),
    ),
)


def list_registers(row_bits: int) -> tuple[Register, ...]:
    """Return the registers of a job's lists; a row's number has so many bits."""
    return (
        single(
            rw("job_list_base", row_bits, "sets the number of the first row of the job's lists"),
            "Sets where the job's lists begin.",
        ),
        single(
            rw("job_list_rows", row_bits, "sets the number of rows of the job's lists"),
            "Sets how long the job's lists are.",
        ),
    )


TABLE_REGISTERS = (
    Register(
        "table",
        "Sets where the next words are written.",
        rw("table", 2, "chooses the table that begin_table begins to write", enum=names_of(Table)),
        rw(
            "table_row",
            21,
            "sets the first row, or step of the program, that begin_table begins to write",
        ),
    ),
    single(
        rw("table_word", 32, "sets the next word of the row, which write_word adds"),
        "Sets a word of a row.",
    ),
)


def counter_registers(params: GnnSwitchParams) -> tuple[Register, ...]:
    """Return the registers of counters and of errors."""
    of_ports = port_counters(params)
    return (
        Register(
            "counter_select",
            "Chooses which counters are shown.",
            rw(
                "counter_port",
                5,
                "chooses the port whose counters are shown; a port that is not there gives 0",
            ),
            rw(
                "counter_verdict",
                5,
                "chooses the verdict whose counter is shown",
                enum=names_of(params.verdict),
            ),
            choice(of_ports, "port", "port counter_port"),
            choice(TOTAL_COUNTERS, "total", "the switch"),
        ),
        single(
            ro(
                "verdict_count",
                COUNTER_BITS,
                "counts frames that came in at port counter_port and got verdict counter_verdict",
            ),
            "Counts frames of the chosen port that got the chosen verdict.",
        ),
        chosen(of_ports, "port", "port counter_port"),
        chosen(TOTAL_COUNTERS, "total", "the switch"),
        *(
            single(
                ro(f"error_{name}", ERROR_COUNT_BITS, doc),
                "Counts additions that the job's lists request and that were not made; stops at"
                " its highest value.",
            )
            for name, doc in ERRORS.items()
        ),
        Register(
            "first_error",
            "Tells the cause of the job's first table error.",
            ro(
                "first_cause",
                3,
                "tells what was wrong at the job's first table error",
                enum=names_of(TableError),
            ),
        ),
        *(
            single(ro(f"first_{name}", 32, doc), "Tells where the job's first table error was.")
            for name, doc in (
                ("turn", "tells the turn of the frame that caused the first table error"),
                (
                    "row",
                    "tells the row of lists with the first table error; 0 if a PARTIAL caused it",
                ),
                ("aggregator", "tells the number of the aggregator of the first table error"),
            )
        ),
    )


#: Maps causes of table errors to their registers.
ERRORS = {
    "outside": "counts additions to an aggregator that is not one of the job's",
    "unused": "counts additions to an aggregator that has no destination in the turn's block of"
    " descriptors",
    "complete": "counts additions to an aggregator whose sum already has all its contributions",
    "no_such_row": "counts uses of a row that is beyond the job's lists",
}


@cache
def gnn_switch_registers(params: GnnSwitchParams) -> RegisterMap:
    """Return the register map of a switch.

    It is the same for all sizes, so that one driver fits all. If tables are in memory, a row's
    number has more bits, and registers of the memory follow the others. If there are links to other
    switches, or if jobs may take maxima, their registers follow, too.
    """
    memory = "_in_memory" if params.in_memory else ""
    links = "_with_links" if params.links else ""
    maxima = "_with_maxima" if params.maxima else ""
    row_bits = MEMORY_ROW_BITS if params.in_memory else ROW_BITS
    return RegisterMap(
        f"switchgnn_switch{memory}{links}{maxima}",
        IDENTITY_REGISTERS
        + (table_sizes(row_bits),)
        + CONTROL_REGISTERS
        + SETTING_REGISTERS
        + JOB_REGISTERS
        + list_registers(row_bits)
        + TABLE_REGISTERS
        + counter_registers(params)
        + (MEMORY_REGISTERS if params.in_memory else ())
        + (LINK_REGISTERS if params.links else ())
        + (MAXIMUM_REGISTERS if params.maxima else ()),
        constants=constants(params),
    )


def constants(params: GnnSwitchParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
    memory = {"table_ports": params.table_ports, "table_address_bits": params.table_address_bits}
    links = {"link_ports": params.links, "link_window": params.link_window}
    return {
        "identity": IDENTITY,
        "version": VERSION,
        "ports": params.ports,
        "jobs": params.jobs,
        "banks": params.banks,
        "lanes": params.lanes,
        "window": params.window,
        "depth": params.slots,
        "list_rows": params.rows,
        "descriptor_rows": params.descriptor_rows,
        **(memory if params.in_memory else {}),
        **(links if params.links else {}),
        **({"maxima": 1} if params.maxima else {}),
    }
