"""An endpoint's registers, declared once for the hardware, the driver and the documentation."""

from hdl.common.event_counters import numbered
from hdl.common.register_parts import (
    buses_register,
    commands,
    identity_registers,
    memory_timeout,
    single,
)
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw, wide
from hdl.switchgnn.endpoint.bundles import Cause, State
from hdl.switchgnn.endpoint.counters import ENDPOINT_COUNTERS
from hdl.switchgnn.endpoint.memory_ports import BUSES
from hdl.switchgnn.endpoint.params import EndpointParams

IDENTITY = 0x474E4E57  #: "GNNW"
VERSION = 1

IDENTITY_REGISTERS = (
    *identity_registers(
        "What this is.",
        IDENTITY,
        VERSION,
        ro("lanes", 8, "features of a frame"),
        ro("window", 8, "frames that may be sent ahead of the oldest one without ACK"),
    ),
    single(ro("aggregators", 20, "banks times their depth"), "Aggregators of a turn."),
    single(ro("copies", 17, "sources"), "Most sources whose features are copied."),
)

CONTROL_REGISTERS = (
    commands(
        pulse("start", "run a job, if none runs; its registers hold still until it has ended"),
        pulse("stop", "end the job that runs"),
        pulse("clear_counters", "set all counters to zero"),
        pulse("revive_buses", "use broken buses again, those that owe nothing"),
    ),
    Register(
        "state",
        "What became of the job.",
        (
            ro("state", 3, "what the endpoint does", enum=names_of(State)),
            ro("cause", 3, "why the job failed", enum=names_of(Cause)),
        ),
    ),
    buses_register("Buses of memory.", BUSES),
    single(ro("lo", 32, "turns that are over"), "The oldest open turn."),
    single(ro("sending", 32, "number of a turn"), "The turn that was begun last."),
    single(
        ro("rate", 17, "beats in 65,536 cycles, while rate_control is set"),
        "How fast frames may leave.",
    ),
    single(
        rw("ready_turns", 32, "turns whose features are in memory"),
        "How far the host is; it may be raised while a job runs.",
    ),
)


def address(name: str, doc: str) -> tuple[Register, ...]:
    """Return the registers of a MAC address."""
    return wide(name, doc, bits=48)


JOB_REGISTERS = (
    *address("own_address", "Own address, which frames are sent to, first byte lowest."),
    *address("switch_address", "Address which frames are sent to, first byte lowest."),
    Register(
        "job",
        "The job and its run.",
        (rw("job", 16, "number of the job"), rw("epoch", 16, "number of the job's run")),
    ),
    single(rw("worker", 32, "bit of the switch's port, alone"), "The worker's port."),
    single(rw("turns", 32, "number of turns"), "Turns of the job."),
    Register(
        "open_turns", "How many turns are open.", (rw("two_open", 1, "two at a time, else one"),)
    ),
    *wide("program", "Address of the turn program, a multiple of 64."),
)

TIMER_REGISTERS = (
    single(
        rw(
            "send_timeout",
            32,
            "cycles in which the oldest is not acknowledged",
            init=25_000,
        ),
        "When frames are sent again.",
    ),
    single(
        rw("fetch_timeout", 32, "cycles in which nothing comes that is missing", init=50_000),
        "When what is missing is asked for.",
    ),
    single(
        rw("fetch_gap", 16, "least cycles from one to the next", init=64),
        "How fast it is asked for.",
    ),
    single(
        rw("done_timeout", 32, "cycles in which its turn is not over", init=25_000),
        "When a DONE is sent again.",
    ),
    memory_timeout("the bus of a memory", "a job"),
)

RATE_REGISTERS = (
    Register(
        "rate_control",
        "Whether frames leave slower after a word of congestion.",
        (rw("rate_control", 1, "the rate is limited"), rw("burst", 12, "beats at once", init=64)),
    ),
    single(
        rw("rate_most", 17, "beats in 65,536 cycles", init=65_536),
        "The highest rate, and the first.",
    ),
    single(rw("rate_least", 17, "beats in 65,536 cycles", init=256), "The lowest rate."),
    single(
        rw("rate_step", 16, "that it grows by after each round trip", init=1024),
        "How the rate grows.",
    ),
    single(
        rw("round_trip", 24, "cycles in which it is halved once at most", init=2500),
        "How often the rate changes.",
    ),
)


Counter = numbered(ENDPOINT_COUNTERS, "EndpointCounter")  #: all of them by their numbers

COUNTER_REGISTERS = (
    Register(
        "counter_select",
        "Which counter is shown.",
        (
            rw(
                "counter",
                ENDPOINT_COUNTERS.index_bits,
                "number of a counter",
                enum=names_of(Counter),
            ),
        ),
    ),
    single(
        ro("count", ENDPOINT_COUNTERS.bits, "value of the counter"), "Shows the chosen counter."
    ),
)


def endpoint_registers(params: EndpointParams) -> RegisterMap:
    """Return the register map of an endpoint; the same for all sizes, so that one driver fits."""
    return RegisterMap(
        "switchgnn_endpoint",
        IDENTITY_REGISTERS
        + CONTROL_REGISTERS
        + JOB_REGISTERS
        + TIMER_REGISTERS
        + RATE_REGISTERS
        + COUNTER_REGISTERS,
    )


def constants(params: EndpointParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
    return {
        "identity": IDENTITY,
        "version": VERSION,
        "lanes": params.lanes,
        "window": params.window,
        "aggregators": params.aggregators,
        "copies": params.copies,
    }
