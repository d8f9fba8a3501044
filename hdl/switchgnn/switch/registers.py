"""Declares the registers of SwitchGNN's switch, once for hardware, driver and documentation."""

from enum import IntEnum

from hdl.common.register_parts import choice, chosen, commands, identity_registers, single
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw, wide
from hdl.switch.job_registers import ACTIVE_JOBS, JOB_PORTS, job_register, state_register
from hdl.switch.verdict_counters import COUNTER_BITS
from hdl.switchgnn.switch.aggregator_params import TableError
from hdl.switchgnn.switch.counters import TOTAL_COUNTERS, port_counters
from hdl.switchgnn.switch.link_registers import LINK_REGISTERS
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.port_window import ACK_SETTINGS
from hdl.switchgnn.switch.sizes import LEVEL_BITS
from hdl.switchgnn.switch.table_errors import ERROR_COUNT_BITS
from hdl.switchgnn.switch.table_registers import MEMORY_REGISTERS

IDENTITY = 0x53474E4E  #: "SGNN"
VERSION = 1

ROW_BITS = 21  #: width of the number of a row of a table on chip
MEMORY_ROW_BITS = 32  #: width of the number of a row of a table in memory


class Table(IntEnum):
    """Names the tables that the host fills."""

    LISTS = 0  #: rows of an entry for each bank, 16 bits each, the first in the lowest bits
    DESCRIPTORS = 1  #: rows of a descriptor for each bank, 32 bits each
    PROGRAM = 2  #: steps of job_number: first row of descriptors, rows, turns


IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a SwitchGNN switch.",
        IDENTITY,
        VERSION,
        ro("ports", 6, "number of ports, a worker at each"),
        ro("jobs", 6, "most jobs side by side"),
        ro("banks", 5, "aggregators that a row of lists can name"),
        ro("lanes", 8, "features of a frame"),
        ro("window", 8, "frames that a worker may be ahead in a turn"),
    ),
    single(ro("depth", 17, "aggregators of a bank"), "Number of aggregators of a bank."),
)


def table_sizes(row_bits: int) -> Register:
    """Return the register of the tables' sizes; a row's number has so many bits."""
    return Register(
        "table_sizes",
        "Rows of the tables." if row_bits > ROW_BITS else "Rows of the tables on chip.",
        (
            ro("list_rows", row_bits, "rows of lists"),
            ro("descriptor_rows", row_bits, "rows of descriptors"),
        ),
    )


CONTROL_REGISTERS = (
    commands(
        pulse("start_job", "start job_number anew, as the registers of the job say"),
        pulse("stop_job", "take no more frames of job_number"),
        pulse("clear_counters", "set all counters but those of table errors to zero"),
        pulse("begin_table", "let the next words be those of row table_row of table"),
        pulse("write_word", "add table_word to the row; its last word writes it"),
    ),
    state_register(ro("clearing_banks", 1, "aggregators are being cleared behind a reset")),
    ACTIVE_JOBS,
)

SETTING_REGISTERS = (
    *wide("switch_address", "Own Ethernet address; bits 0..7 are the byte sent first.", bits=48),
    *wide("group_address", "Ethernet address that frames are sent to.", bits=48),
    Register(
        "acks",
        "When frames are acknowledged.",
        (
            rw("ack_every", ACK_SETTINGS["every"].width, "new frames that one ACK answers", init=4),
            rw(
                "ack_delay",
                ACK_SETTINGS["delay"].width,
                "most cycles until a new frame is answered",
                init=500,
            ),
        ),
    ),
    single(
        rw("ingress_mark", LEVEL_BITS, "beats that wait above which ACKs say so; 0: never"),
        "Congestion of ports on the way in.",
    ),
    single(
        rw("egress_mark", LEVEL_BITS, "beats that wait above which frames say so; 0: never"),
        "Congestion of ports on the way out.",
    ),
)

JOB_REGISTERS = (
    job_register("The job that commands are for, and whose table errors are shown."),
    JOB_PORTS,
    single(
        rw("job_base", 16, "index of the first in every bank"), "First of the job's aggregators."
    ),
    single(
        rw("job_depth", 17, "aggregators of every bank, of all open turns together"),
        "Number of the job's aggregators.",
    ),
    Register(
        "job_program",
        "The job's turns.",
        (
            rw("job_two", 1, "two turns are open at a time, each with half of the aggregators"),
            rw("job_last_step", 8, "last step of the job's turn program"),
        ),
    ),
)


def list_registers(row_bits: int) -> tuple[Register, ...]:
    """Return the registers of a job's lists; a row's number has so many bits."""
    return (
        single(rw("job_list_base", row_bits, "row"), "First row of the job's lists."),
        single(rw("job_list_rows", row_bits, "number of rows"), "Rows of the job's lists."),
    )


TABLE_REGISTERS = (
    Register(
        "table",
        "Where the next words are written.",
        (
            rw("table", 2, "which table", enum=names_of(Table)),
            rw("table_row", 21, "first row, or step of the program"),
        ),
    ),
    single(rw("table_word", 32, "the next word"), "A word of a row."),
)


def counter_registers(params: GnnSwitchParams) -> tuple[Register, ...]:
    """Return the registers of counters and of errors."""
    of_ports = port_counters(params)
    return (
        Register(
            "counter_select",
            "Which counters are shown.",
            (
                rw("counter_port", 5, "port; one that is not there gives 0"),
                rw("counter_verdict", 5, "verdict", enum=names_of(params.verdict)),
                choice(of_ports, "port", "counter of the port"),
                choice(TOTAL_COUNTERS, "total", "counter of the switch"),
            ),
        ),
        single(
            ro("verdict_count", COUNTER_BITS, "frames that came by the port"),
            "Frames of the chosen port that met the chosen verdict.",
        ),
        chosen(of_ports, "port", "the chosen port"),
        chosen(TOTAL_COUNTERS, "total", "the switch"),
        *(
            single(
                ro(f"error_{name}", ERROR_COUNT_BITS, doc),
                "Additions that the job's lists ask for and that are not made.",
            )
            for name, doc in ERRORS.items()
        ),
        Register(
            "first_error",
            "The first of the job's table errors.",
            (ro("first_cause", 3, "what was wrong", enum=names_of(TableError)),),
        ),
        *(
            single(ro(f"first_{name}", 32, doc), "The first of the job's table errors.")
            for name, doc in (
                ("turn", "turn of the frame"),
                ("row", "row of the job's lists; of a PARTIAL: 0"),
                ("aggregator", "number of the aggregator that the list has"),
            )
        ),
    )


#: Maps causes of table errors to their registers.
ERRORS = {
    "outside": "not an aggregator of the job",
    "unused": "an aggregator without a destination in the block",
    "complete": "an aggregator whose sum has all its contributions",
    "no_such_row": "a row that the job's lists have not",
}


def gnn_switch_registers(params: GnnSwitchParams) -> RegisterMap:
    """Return the register map of a switch.

    It is the same for all sizes, so that one driver fits all; where tables are in memory, a row's
    number has more bits, and registers of the memory follow the others. So do those of links to
    other switches, where there are some.
    """
    memory = "_in_memory" if params.in_memory else ""
    links = "_with_links" if params.links else ""
    row_bits = MEMORY_ROW_BITS if params.in_memory else ROW_BITS
    return RegisterMap(
        f"switchgnn_switch{memory}{links}",
        IDENTITY_REGISTERS
        + (table_sizes(row_bits),)
        + CONTROL_REGISTERS
        + SETTING_REGISTERS
        + JOB_REGISTERS
        + list_registers(row_bits)
        + TABLE_REGISTERS
        + counter_registers(params)
        + (MEMORY_REGISTERS if params.in_memory else ())
        + (LINK_REGISTERS if params.links else ()),
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
    }
