"""Declares the registers of a worker's network transport."""

from typing import Any

from amaranth.hdl import Cat

from hdl.common.register_parts import single
from hdl.common.registers import Register, rw
from hdl.p4sgd.transport.params import NETWORK_SETTINGS, PEER_BITS, TIME_BITS

PEER_RETRIES = 1_200_000  #: number of repetitions in two minutes, with the timeout of 100 us


def network_registers() -> tuple[Register, ...]:
    """Return the registers that the host sets before a job; they hold still while it is open."""
    return (
        *address_registers("address", "the worker's own address"),
        *address_registers("switch_address", "the switch's address"),
        *address_registers("group_address", "the address that the switch answers to"),
        Register(
            "worker",
            "Sets which worker this is, and how long it waits.",
            (
                rw("worker", 5, "index: the bit in bitmaps, the port of the switch"),
                rw("retries", 8, "unanswered repetitions in a row, at most; 0: for ever", init=100),
            ),
        ),
        single(
            rw(
                "peer_retries",
                PEER_BITS,
                "repetitions in all, at most; 0: for ever",
                init=PEER_RETRIES,
            ),
            "Sets how long a worker waits for others while the switch answers.",
        ),
        single(
            rw("workers", 32, "bitmap of the workers, the bit of each at its index", init=1),
            "Workers that take part in the job.",
        ),
        Register(
            "job",
            "Identifies the job and its run.",
            (
                rw("job", 16, "number of the job at the switch"),
                rw("epoch", 16, "run of the job: packets of another run are dropped"),
            ),
        ),
        single(
            rw("slot_base", 16, "number of the job's first slot"),
            "Where the job's slots begin at the switch.",
        ),
        single(
            rw("slot_count", 17, "slots of the job, 1..slots", init=1), "Number of the job's slots."
        ),
        single(
            rw("timeout", TIME_BITS - 1, "cycles until the repetition", init=25_000),
            "Time until a packet that was not answered is sent again.",
        ),
    )


def address_registers(name: str, doc: str) -> tuple[Register, ...]:
    """Return the two registers of an Ethernet address; bits 0..7 are the byte sent first."""
    return (
        single(rw(f"{name}_low", 32, f"{doc}, bytes 0..3"), "Lower bytes of the Ethernet address."),
        single(
            rw(f"{name}_high", 16, f"{doc}, bytes 4, 5"), "Upper bytes of the Ethernet address."
        ),
    )


def network_values(settings: Any) -> dict[str, Any]:
    """Take the fields of ``NETWORK_SETTINGS`` out of the control bundle."""
    return {
        name: Cat(settings[f"{name}_low"], settings[f"{name}_high"])
        if name.endswith("address")
        else settings[name]
        for name in NETWORK_SETTINGS.members
    }
