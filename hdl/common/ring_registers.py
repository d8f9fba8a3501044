"""Declares the registers of a request ring, once for all designs that have one."""

from typing import Any

from amaranth.hdl import Cat, Module

from hdl.common.registers import names_of, ro, rw, wide
from hdl.common.rings import INDEX_BITS, SIZE_BITS, Fault

ENABLE = rw("request_ring", 1, "lets work requests be read from the request ring")
SIZE = rw(
    "request_ring_size",
    SIZE_BITS,
    "sets the binary logarithm of the number of places for descriptors in the request ring",
)
BUSY = ro("request_ring_busy", 1, "tells that the request ring is in use")
FAULT = ro("request_ring_fault", 2, "tells why the request ring stopped", enum=names_of(Fault))
ADDRESS = wide(
    "request_ring_address",
    "Sets the address of the request ring, a multiple of the ring's size in bytes.",
)
PRODUCER = rw(
    "request_producer",
    INDEX_BITS,
    "sets the number of descriptors that the host has written, modulo 2^16",
)
CONSUMER = ro(
    "request_consumer", INDEX_BITS, "counts descriptors that the hardware has read, modulo 2^16"
)


def set_ring(m: Module, ring: Any, provided: Any, name: str, index: Any) -> None:
    """Set ``ring`` (:data:`hdl.common.rings.RING`) to the registers of the ring ``name``."""
    m.d.comb += [
        ring.enable.eq(provided[name]),
        ring.size.eq(provided[f"{name}_size"]),
        ring.address.eq(Cat(provided[f"{name}_address_low"], provided[f"{name}_address_high"])),
        ring.index.eq(index),
    ]
