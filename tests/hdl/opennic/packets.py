"""Makes packets as OpenNIC's shell gives them, well formed or not, and checks those that it gets.

The rules are those of the README of Xilinx/open-nic-shell, "User Plugin Integration".
"""

import random

from cocotb.triggers import RisingEdge

from sim.harness.streams import edges

BEAT = 64
OWN = 0x88B5
FAULTS = ["stated", "restated", "gap", "empty", "short beat"]


def frame(size, ethertype=0x0800):
    """Return a random frame with an EtherType, if it is long enough."""
    octets = bytearray(random.randbytes(size))
    octets[12:14] = ethertype.to_bytes(2, "big")[: max(0, size - 12)]
    return bytes(octets[:size])


def is_own(octets):
    """Return whether a packet has the EtherType of the switches, but for NetSparse's."""
    return octets[12:14] == OWN.to_bytes(2, "big")


def box_beats(octets, *, fault="", src=0, dst=0):
    """Return the beats of a packet; a ``fault`` of FAULTS breaks the shell's rules."""
    beats = []
    for at in range(0, len(octets), BEAT):
        part = octets[at : at + BEAT]
        word = part + random.randbytes(BEAT - len(part))
        beat = {"tdata": int.from_bytes(word, "little"), "tkeep": (1 << len(part)) - 1}
        beat |= {"tlast": 0, "tuser_size": len(octets), "tuser_src": src, "tuser_dst": dst}
        beats.append(beat)
    beats[-1]["tlast"] = 1
    if fault == "stated":
        wrong = len(octets) + random.choice([-1, 1, BEAT, -BEAT])
        for beat in beats:
            beat["tuser_size"] = wrong & 0xFFFF
    elif fault == "restated":
        random.choice(beats)["tuser_size"] ^= 1 << random.randrange(16)
    elif fault == "gap":
        beat = random.choice([beat for beat in beats if beat["tkeep"] > 1])
        beat["tkeep"] &= ~(1 << random.randrange(beat["tkeep"].bit_length() - 1))
    elif fault == "empty":
        beats[-1]["tkeep"] = 0
    elif fault == "short beat":
        beats[0]["tkeep"] >>= random.randrange(1, 60)
    return beats


def possible(octets):
    """Return the faults that a packet can have."""
    return FAULTS if len(octets) > 2 * BEAT else ["stated", "empty"]


async def reset_at_once(dut, *sources):
    """Reset the component for a cycle, in which beats come, and return in the next one.

    What ``sources`` have not sent is given up then.
    """
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    for source in sources:
        source.abandon()
    dut.rst.value = 0
    await edges(dut.clk, 1)


def packets_of(beats, src=None, dst=None):
    """Return the packets in ``beats`` that went to the shell, by its rules.

    Size, source and destination are constant; the size is that of the bytes. ``src`` says which
    sources there may be.
    """
    packets, octets, first = [], b"", None
    for beat in beats:
        side = tuple(beat[name] for name in ("tuser_size", "tuser_src", "tuser_dst"))
        first = first or side
        assert side == first, "size, source or destination changes inside a packet"
        count = beat["tkeep"].bit_count()
        assert beat["tkeep"] == (1 << count) - 1 > 0
        assert beat["tlast"] or count == BEAT
        octets += beat["tdata"].to_bytes(BEAT, "little")[:count]
        if beat["tlast"]:
            assert first[0] == len(octets), "the size is not that of the packet"
            assert src is None or first[1] in src
            assert dst is None or first[2] == dst
            packets.append(octets)
            octets, first = b"", None
    assert not octets, "a packet has no end"
    return packets
