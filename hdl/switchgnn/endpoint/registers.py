"""An endpoint's registers, declared once for the hardware, the driver and the documentation."""

from enum import IntEnum
from typing import cast

from hdl.common.registers import Register, RegisterMap, as_int_enum, pulse, ro, rw, wide
from hdl.switchgnn.endpoint.bundles import Cause, State
from hdl.switchgnn.endpoint.counters import ENDPOINT_COUNTERS
from hdl.switchgnn.endpoint.memory_ports import BUSES
from hdl.switchgnn.endpoint.params import EndpointParams

IDENTITY = 0x474E4E57  #: "GNNW"
VERSION = 1

IDENTITY_REGISTERS = (
    Register("identity", "What this is.", (ro("identity", 32, "0x474E4E57"),)),
    Register("version", "Version of this register map.", (ro("version", 32, "1"),)),
    Register(
        "sizes",
        "Parameters that the hardware was built with.",
        (
            ro("lanes", 8, "features of a frame"),
            ro("window", 8, "frames that may be sent ahead of the oldest one without ACK"),
        ),
    ),
    Register(
        "aggregators", "Aggregators of a turn.", (ro("aggregators", 20, "banks times their depth"),)
    ),
    Register("copies", "Most sources whose features are copied.", (ro("copies", 17, "sources"),)),
)

CONTROL_REGISTERS = (
    Register(
        "commands",
        "Commands; a field acts when it is written as one.",
        (
            pulse("start", "run a job, if none runs; its registers hold still until it has ended"),
            pulse("stop", "end the job that runs"),
            pulse("clear_counters", "set all counters to zero"),
            pulse("revive_buses", "use broken buses again, those that owe nothing"),
        ),
    ),
    Register(
        "state",
        "What became of the job.",
        (
            ro("state", 3, "what the endpoint does", enum=as_int_enum(State)),
            ro("cause", 3, "why the job failed", enum=as_int_enum(Cause)),
        ),
    ),
    Register(
        "buses",
        "Buses of memory. What is asked of a broken one fails at once.",
        tuple(
            field
            for name in BUSES
            for field in (
                ro(f"{name}_broken", 1, "it answered what it was not asked, or not in time"),
                ro(f"{name}_silent", 1, "it did not answer within memory_timeout"),
                ro(f"{name}_owes", 1, "it has still to answer"),
            )
        ),
    ),
    Register("lo", "The oldest open turn.", (ro("lo", 32, "turns that are over"),)),
    Register("sending", "The turn that was begun last.", (ro("sending", 32, "number of a turn"),)),
    Register(
        "rate",
        "How fast frames may leave.",
        (ro("rate", 17, "beats in 65,536 cycles, while rate_control is set"),),
    ),
    Register(
        "ready_turns",
        "How far the host is; it may be raised while a job runs.",
        (rw("ready_turns", 32, "turns whose features are in memory"),),
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
    Register(
        "worker", "The worker's port.", (rw("worker", 32, "bit of the switch's port, alone"),)
    ),
    Register("turns", "Turns of the job.", (rw("turns", 32, "number of turns"),)),
    Register(
        "open_turns", "How many turns are open.", (rw("two_open", 1, "two at a time, else one"),)
    ),
    *wide("program", "Address of the turn program, a multiple of 64."),
)

TIMER_REGISTERS = (
    Register(
        "send_timeout",
        "When frames are sent again.",
        (
            rw(
                "send_timeout",
                32,
                "cycles in which the oldest is not acknowledged",
                init=25_000,
            ),
        ),
    ),
    Register(
        "fetch_timeout",
        "When what is missing is asked for.",
        (rw("fetch_timeout", 32, "cycles in which nothing comes that is missing", init=50_000),),
    ),
    Register(
        "fetch_gap",
        "How fast it is asked for.",
        (rw("fetch_gap", 16, "least cycles from one to the next", init=64),),
    ),
    Register(
        "done_timeout",
        "When a DONE is sent again.",
        (rw("done_timeout", 32, "cycles in which its turn is not over", init=25_000),),
    ),
    Register(
        "memory_timeout",
        "When the bus of a memory is given up.",
        (
            rw(
                "memory_timeout",
                32,
                "cycles without a movement, up to twice as many; 0: never, so that a job waits"
                " for ever for a memory that is gone",
                init=20_000_000,
            ),
        ),
    ),
)

RATE_REGISTERS = (
    Register(
        "rate_control",
        "Whether frames leave slower after a word of congestion.",
        (rw("rate_control", 1, "the rate is limited"), rw("burst", 12, "beats at once", init=64)),
    ),
    Register(
        "rate_most",
        "The highest rate, and the first.",
        (rw("rate_most", 17, "beats in 65,536 cycles", init=65_536),),
    ),
    Register(
        "rate_least",
        "The lowest rate.",
        (rw("rate_least", 17, "beats in 65,536 cycles", init=256),),
    ),
    Register(
        "rate_step",
        "How the rate grows.",
        (rw("rate_step", 16, "that it grows by after each round trip", init=1024),),
    ),
    Register(
        "round_trip",
        "How often the rate changes.",
        (rw("round_trip", 24, "cycles in which it is halved once at most", init=2500),),
    ),
)


def numbered() -> type[IntEnum]:
    """Return the counters by their numbers."""
    names = [name.upper() for name, _ in ENDPOINT_COUNTERS.counters]
    return cast(type[IntEnum], IntEnum("EndpointCounter", {n: k for k, n in enumerate(names)}))


COUNTER_REGISTERS = (
    Register(
        "counter_select",
        "Which counter is shown.",
        (rw("counter", ENDPOINT_COUNTERS.index_bits, "number of a counter", enum=numbered()),),
    ),
    Register(
        "count",
        "Shows the chosen counter.",
        (ro("count", ENDPOINT_COUNTERS.bits, "value of the counter"),),
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
