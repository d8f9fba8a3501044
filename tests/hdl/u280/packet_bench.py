"""Sends and takes packets on 512-bit AXI4-Stream, beat by beat."""

import random

from cocotb.triggers import RisingEdge

from sim.harness.streams import never

BEAT = 64


def beats_of(packet):
    """Return data, keep and last of each beat."""
    for at in range(0, len(packet), BEAT):
        part = packet[at : at + BEAT]
        yield int.from_bytes(part, "little"), (1 << len(part)) - 1, at + BEAT >= len(packet)


async def send(side, prefix, packets, stall=never, *, broken=(), waits=True, gap=never):
    """Send ``packets``; those numbered in ``broken`` end with tuser.

    A receiver of a MAC's does not wait for tready. ``stall`` pauses anywhere, ``gap`` between
    packets. A reset of ``side`` ends a packet, as who sends it is reset with it.
    """

    def drive(name, value):
        getattr(side, f"{prefix}_{name}").value = value

    ready = getattr(side, f"{prefix}_tready")
    for number, packet in enumerate(packets):
        while gap():
            drive("tvalid", 0)
            await RisingEdge(side.clk)
        for data, keep, last in beats_of(packet):
            while stall():
                drive("tvalid", 0)
                await RisingEdge(side.clk)
            # What is behind a packet's end may be anything.
            noise = random.getrandbits(512) & ~((1 << (8 * keep.bit_length())) - 1)
            drive("tdata", data | noise)
            drive("tkeep", keep)
            drive("tlast", last)
            drive("tuser", last and number in broken)
            drive("tvalid", 1)
            await RisingEdge(side.clk)
            while waits and not ready.value and not side.rst.value:
                await RisingEdge(side.clk)
            if side.rst.value:
                break
        while side.rst.value:
            drive("tvalid", 0)
            await RisingEdge(side.clk)
    drive("tvalid", 0)


async def take(side, prefix, packets, stall=never, *, whole=False, cut=None):
    """Append what comes to ``packets``; with ``whole``, a pause within one is an error.

    The parts of packets that a reset of the other side has cut go to ``cut``, if it is a list;
    those that one of ``side`` has cut, nowhere.
    """

    def read(name):
        return getattr(side, f"{prefix}_{name}").value

    parts = []
    while True:
        getattr(side, f"{prefix}_tready").value = not stall()
        await RisingEdge(side.clk)
        if side.rst.value:
            parts = []
            continue
        assert read("tvalid") or not (whole and parts), "a packet has a gap"
        if read("tvalid") and read("tready"):
            keep, data = int(read("tkeep")), int(read("tdata"))
            if cut is not None and read("tlast") and not keep & 1:
                cut.append(b"".join(parts))
                parts = []
                continue
            assert keep in (2**n - 1 for n in range(1, 65)), "bytes are missing inside a packet"
            parts.append(data.to_bytes(BEAT, "little")[: keep.bit_length()])
            if whole:
                assert not data >> (8 * keep.bit_length()), "there is something behind the end"
            if read("tlast"):
                packets.append(b"".join(parts))
                parts = []
            else:
                assert keep.bit_length() == BEAT, "only a last beat has fewer bytes"


async def until(side, condition, cycles=4000):
    """Wait for ``condition`` at edges of the clock, but not forever."""
    for _ in range(cycles):
        if condition():
            return
        await RisingEdge(side.clk)
    raise AssertionError("it did not happen in time")


async def reset_now_and_then(sides, count, pause):
    """Reset any of ``sides`` again and again, up to ``pause`` cycles apart."""
    for _ in range(count):
        side = random.choice(sides)
        await side.edges(random.randrange(1, pause))
        await side.reset(random.choice([1, 2, 5, 20]))


def numbered(count, sizes):
    """Return packets that differ in their first bytes."""
    return [
        number.to_bytes(4, "big") + random.randbytes(random.choice(sizes) - 4)
        for number in range(count)
    ]


def check_after_resets(sent, taken, padded):
    """What came is whole packets in order, and all of them that were sent after the last reset."""
    numbers = [int.from_bytes(packet[:4], "big") for packet in taken]
    assert numbers == sorted(set(numbers))
    assert all(
        packet == padded(sent[number]) for number, packet in zip(numbers, taken, strict=True)
    )
    assert numbers[-20:] == list(range(len(sent) - 20, len(sent)))
