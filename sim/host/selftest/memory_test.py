"""Tests a card's memory by DMA: a march over a checkerboard, then addresses as data; its rate.

The march is March C- (van de Goor, Testing Semiconductor Memories, 1991): w0; up r0 w1; up r1 w0;
down r0 w1; down r1 w0; r0. Here 0 is a checkerboard and 1 its complement, and an operation is on a
block of memory. A march finds bits that are stuck, that do not change, or that others change;
addresses as data also find two addresses within a block that reach the same place.
"""

import time
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from sim.host.device import Device
from sim.host.selftest.checks import Check, CheckFailed, Tell

RATE_BYTES = 1 << 28  #: most bytes whose rate is measured
BLOCK = 1 << 22  #: bytes that one operation reads or writes
WORD = 8  #: bytes that have their own address as data
EVEN, ODD = 0x5555_5555_5555_5555, 0xAAAA_AAAA_AAAA_AAAA  #: words of the checkerboard
#: what is read, what is written then (None: nothing), and whether addresses rise
MARCH = (
    (None, 0, True),
    (0, 1, True),
    (1, 0, True),
    (0, 1, False),
    (1, 0, False),
    (0, None, True),
)


def memory_checks(device: Device, size: int) -> dict[str, Check]:
    """Return the checks of the memory that the host reaches by DMA: its bits, and its rate."""
    return {
        "memory": partial(exercise_memory, device, 0, size),
        "dma": lambda tell: rates(device, 0, min(size, RATE_BYTES)),
    }


def exercise_memory(device: Device, start: int, size: int, tell: Tell) -> str:
    """Test ``size`` bytes from ``start`` on, both multiples of a word; their content is lost.

    Raises CheckFailed, which names the first bit that reads wrong.
    """
    for number, (read, write, rises) in enumerate(MARCH, start=1):
        tell(f"march {number} of {len(MARCH)} over {size:,} bytes from {start:#x}")
        for address, length in blocks(start, size, rises):
            if read is not None:
                compare(device, address, checkerboard(length, read))
            if write is not None:
                device.write_memory(address, checkerboard(length, write))
    for inverted in (0, 1):
        tell(f"addresses {inverted + 1} of 2")
        for address, length in blocks(start, size):
            device.write_memory(address, own_addresses(address, length, inverted))
        for address, length in blocks(start, size):
            compare(device, address, own_addresses(address, length, inverted))
    return f"{size:,} bytes are right"


def rates(device: Device, start: int, size: int) -> str:
    """Return the rates at which ``size`` bytes are written and read back, by this computer's clock.

    Raises CheckFailed if other bytes come back.
    """
    data = own_addresses(start, size, 0)
    began = time.perf_counter()
    device.write_memory(start, data)
    written = time.perf_counter()
    result = device.read_memory(start, size)
    ended = time.perf_counter()
    if result != data:
        compare(device, start, data)
        raise CheckFailed(f"memory from {start:#x} on read wrong once, then right")
    rate = [size / 1e9 / seconds for seconds in (written - began, ended - written)]
    return f"{size:,} bytes at {rate[0]:.3f} GB/s to the card, {rate[1]:.3f} GB/s from it"


def blocks(start: int, size: int, rises: bool = True) -> Iterator[tuple[int, int]]:
    """Yield address and bytes of each block, in rising or in falling order."""
    places = range(start, start + size, BLOCK)
    for address in places if rises else reversed(places):
        yield address, min(BLOCK, start + size - address)


@cache
def checkerboard(size: int, inverted: int) -> bytes:
    """Return ``size`` bytes of a checkerboard, or of its complement."""
    pair = np.array([ODD, EVEN] if inverted else [EVEN, ODD], dtype="<u8")
    return np.resize(pair, size // WORD).tobytes()


def own_addresses(start: int, size: int, inverted: int) -> bytes:
    """Return ``size`` bytes: words with their own addresses, or the complements of these."""
    words = np.arange(start, start + size, WORD, dtype="<u8")
    return (~words if inverted else words).tobytes()


def compare(device: Device, address: int, required: bytes) -> None:
    """Raise CheckFailed unless memory from ``address`` on holds the bytes ``required``."""
    result = device.read_memory(address, len(required))
    if result == required:
        return
    wrong = np.frombuffer(result, np.uint8) ^ np.frombuffer(required, np.uint8)
    first = int(np.flatnonzero(wrong)[0])
    bits = int(wrong[first])
    bit = (bits & -bits).bit_length() - 1
    read = result[first] >> bit & 1
    raise CheckFailed(f"bit {bit} of memory at {address + first:#x} reads {read}, not {1 - read}")
