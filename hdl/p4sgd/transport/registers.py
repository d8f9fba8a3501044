"""The registers of a worker's network transport."""

from typing import Any

from amaranth.hdl import Cat

from hdl.common.registers import Register, rw
from hdl.p4sgd.transport.params import NETWORK_SETTINGS, PEER_BITS, TIME_BITS

PEER_RETRIES = 1_200_000  #: two minutes, with the timeout of 100 us


def network_registers() -> tuple[Register, ...]:
    """What the host sets before a job; it must hold still while the job is open."""
    return (
        *address_registers("address", "own"),
        *address_registers("switch_address", "the switch's"),
        *address_registers("group_address", "what the switch answers to"),
        Register(
            "worker",
            "Which worker this is, and how long it waits.",
            (
                rw("worker", 5, "index: the bit in bitmaps, the port of the switch"),
                rw("retries", 8, "repetitions without an answer; 0: for ever", init=100),
            ),
        ),
        Register(
            "peer_retries",
            "How long it waits for other workers, while the switch answers.",
            (rw("peer_retries", PEER_BITS, "repetitions; 0: for ever", init=PEER_RETRIES),),
        ),
        Register("workers", "The job's workers.", (rw("workers", 32, "bitmap", init=1),)),
        Register(
            "job",
            "The job.",
            (
                rw("job", 16, "its number at the switch"),
                rw("epoch", 16, "its run: packets of another one are dropped"),
            ),
        ),
        Register(
            "slot_base",
            "The job's slots at the switch.",
            (rw("slot_base", 16, "the first"),),
        ),
        Register("slot_count", "Their number.", (rw("slot_count", 17, "1..slots", init=1),)),
        Register(
            "timeout",
            "Until a packet is sent again.",
            (rw("timeout", TIME_BITS - 1, "cycles", init=25_000),),
        ),
    )


def address_registers(name: str, doc: str) -> tuple[Register, ...]:
    """An Ethernet address; bits 0..7 are the byte that is sent first."""
    return (
        Register(
            f"{name}_low", "Ethernet address.", (rw(f"{name}_low", 32, f"{doc}, bytes 0..3"),)
        ),
        Register(f"{name}_high", "The rest.", (rw(f"{name}_high", 16, f"{doc}, bytes 4, 5"),)),
    )


def network_values(settings: Any) -> dict[str, Any]:
    """The fields of ``NETWORK_SETTINGS`` out of the control bundle."""
    return {
        name: Cat(settings[f"{name}_low"], settings[f"{name}_high"])
        if name.endswith("address")
        else settings[name]
        for name in NETWORK_SETTINGS.members
    }
