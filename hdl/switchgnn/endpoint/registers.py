"""Declares an endpoint's registers, once for the hardware, the driver and the documentation."""

from functools import cache

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

IDENTITY = 0x474E4E57  #: the letters GNNW
VERSION = 1

IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a SwitchGNN endpoint.",
        IDENTITY,
        VERSION,
        ro("lanes", 8, "tells the number of features of a frame"),
        ro(
            "window",
            8,
            "tells how many frames may be sent ahead of the oldest frame that lacks an ACK",
        ),
    ),
    single(
        ro(
            "aggregators",
            20,
            "tells the number of aggregators of a turn, which is banks times depth",
        ),
        "Tells how many aggregators a turn may have.",
    ),
    single(
        ro("copies", 17, "tells how many sources may have their features copied"),
        "Tells how many features may be copied.",
    ),
)

CONTROL_REGISTERS = (
    commands(
        pulse(
            "start",
            "starts a job, if none runs; the job's registers must not change until it has ended",
        ),
        pulse("stop", "ends the job that runs"),
        pulse("clear_counters", "sets all counters to 0"),
        pulse("revive_buses", "takes broken buses into use again, if they owe no answer"),
    ),
    Register(
        "state",
        "Tells the state of the job.",
        ro("state", 3, "tells what the endpoint does", enum=names_of(State)),
        ro("cause", 3, "tells why the job failed, until the next start", enum=names_of(Cause)),
    ),
    buses_register("Tells the state of the buses to memory.", BUSES),
    single(
        ro("lo", 32, "tells how many turns are over, which is the number of the oldest open turn"),
        "Tells the oldest open turn.",
    ),
    single(
        ro("sending", 32, "tells the number of the turn whose frames began to leave last"),
        "Tells which turn is being sent.",
    ),
    single(
        ro("rate", 17, "tells how many beats may leave in 65,536 cycles while rate_control is set"),
        "Tells how fast frames may leave.",
    ),
    single(
        rw(
            "ready_turns",
            32,
            "sets the number of turns whose features are in memory; later turns wait",
        ),
        "Sets how many turns the host has prepared; may be raised while a job runs.",
    ),
)


def address(name: str, doc: str) -> tuple[Register, ...]:
    """Return the registers of a MAC address."""
    return wide(name, doc, bits=48)


JOB_REGISTERS = (
    *address(
        "own_address",
        "Sets the endpoint's own Ethernet address; bits 0..7 are the byte sent first.",
    ),
    *address(
        "switch_address",
        "Sets the Ethernet address to which frames are sent; bits 0..7 are the byte sent first.",
    ),
    Register(
        "job",
        "Sets the job and its run.",
        rw("job", 16, "sets the number of the job"),
        rw("epoch", 16, "sets the number of the job's run"),
    ),
    single(
        rw(
            "worker",
            32,
            "sets the worker's port at the switch: bit p, and no other one, is 1 for port p",
        ),
        "Sets the port of the switch at which the worker is.",
    ),
    single(
        rw("turns", 32, "sets the number of turns of the job"), "Sets how many turns the job has."
    ),
    Register(
        "open_turns",
        "Sets how many turns may be open at a time.",
        rw("two_open", 1, "lets two turns be open at a time; 0: lets one be open"),
    ),
    *wide("program", "Sets the address of the turn program, a multiple of 64."),
)

TIMER_REGISTERS = (
    single(
        rw(
            "send_timeout",
            32,
            "sets the number of cycles without an ACK of the oldest frame after which frames"
            " without ACK are sent again",
            init=25_000,
        ),
        "Sets when frames are sent again.",
    ),
    single(
        rw(
            "fetch_timeout",
            32,
            "sets the time-out in cycles after which the oldest open turn's missing sums and"
            " features are requested; it starts again whenever one of them comes",
            init=50_000,
        ),
        "Sets when missing sums and features are requested.",
    ),
    single(
        rw(
            "fetch_gap",
            16,
            "sets the fewest cycles from one request for a missing sum or feature to the next",
            init=64,
        ),
        "Sets how fast missing sums and features are requested.",
    ),
    single(
        rw(
            "done_timeout",
            32,
            "sets after how many cycles a DONE is sent again, as long as its turn is not over",
            init=25_000,
        ),
        "Sets when a DONE is sent again.",
    ),
    memory_timeout("the bus of a memory", "a job"),
)

RATE_REGISTERS = (
    Register(
        "rate_control",
        "Sets whether frames leave at a lower rate after a report of congestion.",
        rw("rate_control", 1, "limits the rate at which frames leave; congestion lowers it"),
        rw("burst", 12, "sets how many beats may leave at once after a pause", init=64),
    ),
    single(
        rw(
            "rate_most",
            17,
            "sets the highest rate, which is also the first one, in beats in 65,536 cycles",
            init=65_536,
        ),
        "Sets the highest rate.",
    ),
    single(
        rw("rate_least", 17, "sets the lowest rate, in beats in 65,536 cycles", init=256),
        "Sets the lowest rate.",
    ),
    single(
        rw(
            "rate_step",
            16,
            "sets by how many beats in 65,536 cycles the rate rises after a round trip without"
            " congestion",
            init=1024,
        ),
        "Sets how fast the rate rises.",
    ),
    single(
        rw(
            "round_trip",
            24,
            "sets the number of cycles of a round trip, during which the rate is halved at most"
            " once",
            init=2500,
        ),
        "Sets how often the rate changes.",
    ),
)


Counter = numbered(ENDPOINT_COUNTERS, "EndpointCounter")  #: numbers of all counters

COUNTER_REGISTERS = (
    Register(
        "counter_select",
        "Chooses which counter is shown.",
        rw(
            "counter",
            ENDPOINT_COUNTERS.index_bits,
            "chooses the counter that field count shows",
            enum=names_of(Counter),
        ),
    ),
    single(
        ro(
            "count",
            ENDPOINT_COUNTERS.bits,
            "tells the value of the counter that field counter chooses",
        ),
        "Shows the chosen counter.",
    ),
)


@cache
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
        constants=constants(params),
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
