"""Makes frames of up to three beats, and says by their bytes what a receiver makes of a packet."""

import random
from dataclasses import dataclass

from amaranth.lib import data

from hdl.switch.frame_format import FrameFormat
from sim.harness.axi_streams import beats_of

ETHERTYPE, VERSION = 0x88B5, 3
LEAST, MOST = 28, 70
BEAT_BYTES = 32


class Head(data.Struct):
    """The fields at the start of a frame, byte 0 first."""

    destination: 48
    source: 48
    ethertype: 16  # as on the wire
    version: 8
    nothing: 8
    job: 16


FRAMES = FrameFormat(
    name="sample",
    first=Head,
    constants=(("ethertype", 0xB588), ("version", VERSION)),
    zero=("nothing",),
    least_bytes=LEAST,
    max_bytes=MOST,
    data_bits=8 * BEAT_BYTES,
)


@dataclass
class Packet:
    """A packet as beats: those of ``octets``, or others of a test."""

    octets: bytes
    corrupt: bool = False

    def __post_init__(self):
        self.beats = [*beats_of(self.octets, corrupt=self.corrupt, beat_bytes=BEAT_BYTES)]


def frame(address, length, source=None):
    """Return a good frame of ``length`` bytes."""
    head = address + (source or random.randbytes(6)) + ETHERTYPE.to_bytes(2, "big")
    head += bytes([VERSION, 0])
    return head + random.randbytes(length - len(head))


def some_packet(address):
    """Draw a packet that is good, or nearly."""
    kind, octets = random.random(), frame(address, random.choice((LEAST, 32, 33, 64, 65, MOST)))
    if kind < 0.3:
        octets = (octets + random.randbytes(99))[: random.choice((1, 14, 15, 27, 71, 96, 97, 150))]
    elif kind < 0.5:
        at = random.choice((0, 5, 12, 13, 14, 15))
        if at < len(octets):
            changed = octets[at] ^ 1 << random.randrange(8)
            octets = octets[:at] + bytes([changed]) + octets[at + 1 :]
    packet = Packet(octets, corrupt=random.random() < 0.1)
    if kind > 0.9:  # bytes are missing where there should be some
        at = random.randrange(len(packet.beats))
        beat = packet.beats[at]
        stored = [k for k in range(BEAT_BYTES) if beat["tkeep"] >> k & 1]
        lacks = random.choice(stored[:-1] or stored) if beat["tlast"] else stored[-1]
        beat["tkeep"] &= ~(1 << lacks)
    return packet


def judge(beats, address):
    """Judge ``beats`` by the first cause below that applies; return it and a good frame's bytes."""
    octets, holes = b"", False
    for beat in beats:
        keep, count = beat["tkeep"], beat["tkeep"].bit_count()
        short = not beat["tlast"] and count < BEAT_BYTES
        holes |= keep != (1 << count) - 1 or count == 0 or short
        octets += beat["tdata"].to_bytes(BEAT_BYTES, "little")[:count]
    keep, head = beats[0]["tkeep"], beats[0]["tdata"].to_bytes(BEAT_BYTES, "little")[:16]
    if beats[-1]["tuser"]:
        return "CORRUPT", None
    to_switch = head[:6] == address and head[12:15] == bytes([0x88, 0xB5, VERSION])
    if keep >> 14 & 1 and not to_switch:
        return "FOREIGN", None
    if holes or not LEAST <= len(octets) <= MOST or head[15]:
        return "MALFORMED", None
    return "GOOD", octets
