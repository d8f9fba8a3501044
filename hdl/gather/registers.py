"""Declares a gather engine's registers, once for the hardware, the driver and the documentation."""

from functools import cache

from amaranth.hdl import Shape

from hdl.common import ring_registers
from hdl.common.register_parts import (
    buses_register,
    choice,
    chosen,
    commands,
    identity_registers,
    memory_timeout,
    single,
)
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw, wide
from hdl.gather.engine_counters import ENGINE_COUNTERS
from hdl.gather.engine_params import COUNT_BITS, REGISTER_ADDRESS_BITS, TAG_BITS, GatherEngineParams
from hdl.gather.params import MAX_ROW, ReadOrder
from hdl.pcie.descriptors import Cause
from hdl.pcie.read_pace import SHARE_FIELD
from hdl.pcie.read_share import COUNT_BITS as UNDER_WAY_BITS

IDENTITY = 0x47544852  #: the letters GTHR
VERSION = 3
BUSES = ("device",)  #: names of the buses to memories

IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a gather engine.",
        IDENTITY,
        VERSION,
        ro("idx_bits", 7, "tells how many bits an idx has; a larger idx is beyond every table"),
        ro("stride_bits", 6, "tells how many bits the stride in bytes has"),
        ro("device_address_bits", 7, "tells how many bits an address of device memory has"),
        ro("work_queue", 7, "tells how many work requests can wait in the queue"),
        ro("to_memory", 1, "tells that rows can go to device memory"),
        ro("to_stream", 1, "tells that rows can go to the stream"),
        ro("kept_parts", 14, "tells how many parts of rows are kept for equal idxs"),
        ro("card_idxs", 1, "tells that idxs can be in device memory"),
        ro("descriptors", 4, "tells how many descriptors are read ahead; 0: there is no ring"),
        ro("to_host", 1, "tells that rows can go to bus addresses, by posted writes"),
    ),
)

CONTROL_REGISTERS = (
    commands(
        pulse("submit", "puts the work request into the queue"),
        pulse("clear_counters", "sets all counters to 0"),
        pulse(
            "stop",
            "ends the work request under way and those that wait, each with the outcome STOPPED,"
            " and closes the ring",
        ),
        pulse("revive_buses", "takes a broken bus into use again, if it owes no answer"),
    ),
    Register(
        "state",
        "Tells what the engine does.",
        ro("busy", 1, "tells that a work request is under way"),
        ro("queue_full", 1, "tells that the queue takes no further work request now"),
        ro("refused", 1, "tells that the last submit failed because the queue was full"),
        ro(
            "stopping",
            1,
            "tells that work requests are being stopped; no other one may be submitted meanwhile",
        ),
        ro(
            "was_reset",
            1,
            "tells that work requests were forgotten, because the function was reset or was"
            " not a bus master",
        ),
        ro("reads_owed", 1, "tells that the host has still to answer reads of its memory"),
        ro("stream_silent", 1, "tells that the stream's consumer did not take a row in time"),
        ro(
            "registers_silent",
            1,
            "tells that a register did not answer an access of the host in time",
        ),
        ro(
            "interrupts_silent",
            1,
            "tells that for 50 ms no interrupt was sent, although one was requested: the block"
            " for PCI Express does not answer; poll completions until it reads 0",
        ),
    ),
    buses_register("Tells the state of the bus to device memory.", BUSES),
    memory_timeout("host or device memory", "a request"),
    Register(
        "limits",
        "Sets how much of the host's bandwidth the engine may take.",
        rw(
            "most_reads",
            UNDER_WAY_BITS,
            "sets how many read requests may be under way; 0: as many as there are tags",
        ),
        SHARE_FIELD,
    ),
)

REQUEST_REGISTERS = (
    Register(
        "request",
        "Sets the work request that submit puts into the queue.",
        rw("tag", TAG_BITS, "sets the tag by which the host identifies the work request"),
        rw("wide", 1, "takes idxs of 8 bytes; 0: takes idxs of 4 bytes"),
        rw("on_card", 1, "takes idxs from device memory; 0: takes them from host memory"),
        rw("streamed", 1, "puts rows on the stream; 0: writes them to a memory"),
        rw(
            "order",
            2,
            "sets how a row is read: MERGED, by as few reads as possible; ALIGNED, in lines"
            " of 128 bytes; NAIVE, in 128 bytes from the row's first byte on, like a GPU that"
            " does not align its threads",
            enum=names_of(ReadOrder),
        ),
        rw(
            "coalesce",
            1,
            "reads the row of equal idxs once, if they are near each other and kept_parts is not 0",
        ),
        rw(
            "posted",
            1,
            "puts rows at a bus address, of host memory or a peer; 0: puts them into device"
            " memory, unless they are streamed",
        ),
    ),
    *wide("idx_address", "Sets the address of the first idx, a multiple of the bytes of an idx."),
    single(
        rw("count", COUNT_BITS, "sets the number of idxs of the work request"),
        "Sets how many rows are gathered, one for each idx.",
    ),
    *wide("base", "Sets the address in host memory at which the table begins."),
    single(
        rw("rows", 32, "sets the number of rows of the table, at least 1, less than 2 ** idx_bits"),
        "Sets how many rows the table has; an idx that is not less than that gives a row of zeros.",
    ),
    single(
        rw("row_bytes", 17, f"sets the number of bytes of a row, 1 to {MAX_ROW}"),
        "Sets how long a row is.",
    ),
    single(
        rw(
            "stride",
            17,
            "sets the number of bytes from the start of a row to the start of the next, less than"
            " 2 ** stride_bits",
        ),
        "Sets how far apart rows are in the table.",
    ),
    *wide(
        "destination",
        "Sets the address to which the first row is written, in device memory, or on the bus if the"
        " request is posted.",
    ),
    *wide(
        "completion",
        "Sets the address in host memory of the work request's completion of 16 bytes, a multiple"
        " of 16. Any other address makes the request illegal, and its lowest 4 bits are taken as"
        " 0.",
    ),
)

COUNTER_REGISTERS = (
    Register(
        "counter_choice",
        "Chooses the counter to read.",
        choice(ENGINE_COUNTERS, "engine", "the engine"),
    ),
    chosen(ENGINE_COUNTERS, "engine", "the engine"),
)

RING_REGISTERS = (
    Register(
        "ring",
        "Sets up the request ring in host memory. A stop or a reset closes it until it is"
        " disabled. Its size and address must not change while it is enabled or busy.",
        ring_registers.ENABLE,
        ring_registers.SIZE,
    ),
    *ring_registers.ADDRESS,
    Register(
        "ring_state",
        "Tells what the request ring does.",
        ring_registers.BUSY,
        ring_registers.FAULT,
        ro(
            "request_ring_cause",
            Shape.cast(Cause).width,
            "tells why a descriptor could not be read; this stops the ring until it is disabled",
            enum=names_of(Cause),
        ),
    ),
    single(
        ring_registers.PRODUCER,
        "Tells the engine how many descriptors the host has written since the ring was enabled; a"
        " write to it is the doorbell.",
    ),
    single(
        ring_registers.CONSUMER,
        "Tells how many descriptors the engine has read since the ring was enabled; these become"
        " work requests.",
    ),
)


@cache
def engine_registers(params: GatherEngineParams) -> RegisterMap:
    """Return the register map of an engine; the same for all sizes, so that one driver fits all."""
    return RegisterMap(
        "gather_engine",
        IDENTITY_REGISTERS
        + CONTROL_REGISTERS
        + REQUEST_REGISTERS
        + COUNTER_REGISTERS
        + RING_REGISTERS,
        address_bits=REGISTER_ADDRESS_BITS,
        constants=constants(params),
    )


def constants(params: GatherEngineParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
    names = "idx_bits stride_bits to_memory to_stream to_host card_idxs kept_parts descriptors"
    return {
        "identity": IDENTITY,
        "version": VERSION,
        "device_address_bits": params.address_bits,
        "work_queue": params.requests,
        **{name: int(getattr(params, name)) for name in names.split()},
    }
