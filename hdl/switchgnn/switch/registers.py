"""The registers of SwitchGNN's switch, declared once for hardware, driver and documentation."""

from enum import IntEnum

from hdl.common.event_counters import numbered
from hdl.common.registers import Register, RegisterMap, as_int_enum, pulse, ro, rw, wide
from hdl.switch.params import Refusal
from hdl.switch.verdict_counters import COUNTER_BITS
from hdl.switchgnn.switch.counters import PORT_COUNTERS, TOTAL_COUNTERS
from hdl.switchgnn.switch.params import LEVEL_BITS, GnnSwitchParams, TableError, Verdict
from hdl.switchgnn.switch.port_window import ACK_SETTINGS
from hdl.switchgnn.switch.table_errors import ERROR_COUNT_BITS

IDENTITY = 0x53474E4E  #: "SGNN"
VERSION = 1


class Table(IntEnum):
    """Names the tables that the host fills."""

    LISTS = 0  #: rows of an entry for each bank, 16 bits each, the first in the lowest bits
    DESCRIPTORS = 1  #: rows of a descriptor for each bank, 32 bits each
    PROGRAM = 2  #: steps of job_number: first row of descriptors, rows, turns


IDENTITY_REGISTERS = (
    Register(
        "identity",
        "Identifies the design as a SwitchGNN switch.",
        (ro("identity", 32, "0x53474E4E"),),
    ),
    Register("version", "Version of this register map.", (ro("version", 32, "1"),)),
    Register(
        "sizes",
        "Parameters that the hardware was built with.",
        (
            ro("ports", 6, "number of ports, a worker at each"),
            ro("jobs", 6, "most jobs side by side"),
            ro("banks", 5, "aggregators that a row of lists can name"),
            ro("lanes", 8, "features of a frame"),
            ro("window", 8, "frames that a worker may be ahead in a turn"),
        ),
    ),
    Register(
        "depth", "Number of aggregators of a bank.", (ro("depth", 17, "aggregators of a bank"),)
    ),
    Register(
        "table_sizes",
        "Rows of the tables on chip.",
        (ro("list_rows", 21, "rows of lists"), ro("descriptor_rows", 21, "rows of descriptors")),
    ),
)

CONTROL_REGISTERS = (
    Register(
        "commands",
        "Commands; a field acts when it is written as one.",
        (
            pulse("start_job", "start job_number anew, as the registers of the job say"),
            pulse("stop_job", "take no more frames of job_number"),
            pulse("clear_counters", "set all counters but those of table errors to zero"),
            pulse("begin_table", "let the next words be those of row table_row of table"),
            pulse("write_word", "add table_word to the row; its last word writes it"),
        ),
    ),
    Register(
        "state",
        "What became of the last command.",
        (
            ro("busy", 1, "a job is being started; its registers must hold still"),
            ro("refused", 1, "the last command had no effect"),
            ro("reason", 3, "why the last command had no effect", enum=as_int_enum(Refusal)),
            ro("clearing_counters", 1, "verdicts are not counted"),
            ro("clearing_banks", 1, "aggregators are being cleared behind a reset"),
        ),
    ),
    Register(
        "active_jobs",
        "Shows which jobs are active.",
        (ro("active_jobs", 32, "a bit for each job"),),
    ),
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
    Register(
        "ingress_mark",
        "Congestion of ports on the way in.",
        (rw("ingress_mark", LEVEL_BITS, "beats that wait above which ACKs say so; 0: never"),),
    ),
    Register(
        "egress_mark",
        "Congestion of ports on the way out.",
        (rw("egress_mark", LEVEL_BITS, "beats that wait above which frames say so; 0: never"),),
    ),
)

JOB_REGISTERS = (
    Register(
        "job",
        "The job that commands are for, and whose table errors are shown.",
        (rw("job_number", 16, "number of the job"), rw("job_epoch", 16, "number of the job's run")),
    ),
    Register(
        "job_ports", "Ports of the job's workers.", (rw("job_ports", 32, "a bit for each port"),)
    ),
    Register(
        "job_base",
        "First of the job's aggregators.",
        (rw("job_base", 16, "index of the first in every bank"),),
    ),
    Register(
        "job_depth",
        "Number of the job's aggregators.",
        (rw("job_depth", 17, "aggregators of every bank, of all open turns together"),),
    ),
    Register(
        "job_program",
        "The job's turns.",
        (
            rw("job_two", 1, "two turns are open at a time, each with half of the aggregators"),
            rw("job_last_step", 8, "last step of the job's turn program"),
        ),
    ),
    Register("job_list_base", "First row of the job's lists.", (rw("job_list_base", 21, "row"),)),
    Register(
        "job_list_rows", "Rows of the job's lists.", (rw("job_list_rows", 21, "number of rows"),)
    ),
)

TABLE_REGISTERS = (
    Register(
        "table",
        "Where the next words are written.",
        (
            rw("table", 2, "which table", enum=Table),
            rw("table_row", 21, "first row, or step of the program"),
        ),
    ),
    Register("table_word", "A word of a row.", (rw("table_word", 32, "the next word"),)),
)


def counter_registers() -> tuple[Register, ...]:
    """Return the registers of counters and of errors."""
    return (
        Register(
            "counter_select",
            "Which counters are shown.",
            (
                rw("counter_port", 5, "port; one that is not there gives 0"),
                rw("counter_verdict", 5, "verdict", enum=as_int_enum(Verdict)),
                rw(
                    "port_counter",
                    PORT_COUNTERS.index_bits,
                    "counter of the port",
                    enum=numbered(PORT_COUNTERS, "PortCounter"),
                ),
                rw(
                    "total_counter",
                    TOTAL_COUNTERS.index_bits,
                    "counter of the switch",
                    enum=numbered(TOTAL_COUNTERS, "TotalCounter"),
                ),
            ),
        ),
        Register(
            "verdict_count",
            "Frames of the chosen port that met the chosen verdict.",
            (ro("verdict_count", COUNTER_BITS, "frames that came by the port"),),
        ),
        Register(
            "port_count",
            "Shows the chosen counter of the chosen port.",
            (ro("port_count", PORT_COUNTERS.bits, "value of the counter"),),
        ),
        Register(
            "total_count",
            "Shows the chosen counter of the switch.",
            (ro("total_count", TOTAL_COUNTERS.bits, "value of the counter"),),
        ),
        *(
            Register(
                f"error_{name}",
                "Additions that the job's lists ask for and that are not made.",
                (ro(f"error_{name}", ERROR_COUNT_BITS, doc),),
            )
            for name, doc in ERRORS.items()
        ),
        Register(
            "first_error",
            "The first of the job's table errors.",
            (ro("first_cause", 3, "what was wrong", enum=as_int_enum(TableError)),),
        ),
        *(
            Register(
                f"first_{name}",
                "The first of the job's table errors.",
                (ro(f"first_{name}", 32, doc),),
            )
            for name, doc in (
                ("turn", "turn of the frame"),
                ("row", "row of the job's lists; of a PARTIAL: 0"),
                ("aggregator", "number of the aggregator that the list has"),
            )
        ),
    )


#: Table errors by their causes.
ERRORS = {
    "outside": "not an aggregator of the job",
    "unused": "an aggregator without a destination in the block",
    "complete": "an aggregator whose sum has all its contributions",
    "no_such_row": "a row that the job's lists have not",
}


def gnn_switch_registers(params: GnnSwitchParams) -> RegisterMap:
    """Return the register map of a switch; the same for all sizes, so that one driver fits all."""
    return RegisterMap(
        "switchgnn_switch",
        IDENTITY_REGISTERS
        + CONTROL_REGISTERS
        + SETTING_REGISTERS
        + JOB_REGISTERS
        + TABLE_REGISTERS
        + counter_registers(),
    )


def constants(params: GnnSwitchParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
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
    }
