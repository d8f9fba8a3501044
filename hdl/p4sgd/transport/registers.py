"""Declares the registers of a worker's network transport."""

from typing import Any

from amaranth.hdl import Cat

from hdl.common.register_parts import address_registers, single
from hdl.common.registers import Register, rw
from hdl.p4sgd.transport.params import NETWORK_SETTINGS, PEER_BITS, TIME_BITS

PEER_RETRIES = 1_200_000  #: number of repetitions in two minutes, with the timeout of 100 us


def network_registers() -> tuple[Register, ...]:
    """Return the registers that the host sets before a job; they must be stable during it."""
    return (
        *address_registers("address", "the worker's own Ethernet address"),
        *address_registers("switch_address", "the switch's Ethernet address"),
        *address_registers("group_address", "the Ethernet address that the switch answers to"),
        Register(
            "worker",
            "Sets which worker this is, and how long it waits.",
            rw(
                "worker",
                5,
                "sets the worker's index, which is its bit in bitmaps and its port at the switch",
            ),
            rw(
                "retries",
                8,
                "sets after how many consecutive repetitions of a packet without an answer"
                " the worker stops with cause NETWORK; 0: never",
                init=100,
            ),
        ),
        single(
            rw(
                "peer_retries",
                PEER_BITS,
                "sets after how many repetitions of a packet in all, while the switch answers,"
                " the worker stops with cause PEERS; 0: never",
                init=PEER_RETRIES,
            ),
            "Sets how long a worker waits for others while the switch answers.",
        ),
        single(
            rw(
                "workers",
                32,
                "sets the bitmap of the job's workers, in which each worker's bit is at its index",
                init=1,
            ),
            "Sets which workers take part in the job.",
        ),
        Register(
            "job",
            "Identifies the job and its run.",
            rw("job", 16, "sets the number of the job at the switch"),
            rw("epoch", 16, "sets the number of the job's run; packets of another run are dropped"),
        ),
        single(
            rw("slot_base", 16, "sets the number of the job's first slot at the switch"),
            "Sets where the job's slots begin at the switch.",
        ),
        single(
            rw("slot_count", 17, "sets the number of the job's slots, 1..slots", init=1),
            "Sets how many slots the job has.",
        ),
        single(
            rw(
                "timeout",
                TIME_BITS - 1,
                "sets after how many cycles, at least 1, a packet without an answer is sent again",
                init=25_000,
            ),
            "Sets when a packet that was not answered is sent again.",
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
