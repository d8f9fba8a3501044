"""Makes frames of up to three beats, and says by their bytes what a receiver makes of a packet."""

import random
from dataclasses import dataclass

from amaranth.lib import data

from hdl.switch.frame_format import FrameFormat

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
    most_bytes=MOST,
    data_bits=8 * BEAT_BYTES,
)


@dataclass
class Packet:
    """A packet as beats (data, keep, last, user): those of ``octets``, or others of a test."""

    octets: bytes
    corrupt: bool = False

    def __post_init__(self):
        self.beats = []
        for at in range(0, len(self.octets), BEAT_BYTES):
            part, last = self.octets[at : at + BEAT_BYTES], at + BEAT_BYTES >= len(self.octets)
            whole = part + random.randbytes(BEAT_BYTES - len(part))
            user = int(self.corrupt) if last else random.getrandbits(1)
            self.beats.append(
                (int.from_bytes(whole, "little"), (1 << len(part)) - 1, int(last), user)
            )


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
        word, keep, last, user = packet.beats[at]
        kept = [k for k in range(BEAT_BYTES) if keep >> k & 1]
        keep &= ~(1 << random.choice(kept[:-1] or kept) if last else 1 << kept[-1])
        packet.beats[at] = word, keep, last, user
    return packet


def judge(beats, address):
    """Judge ``beats`` by the first cause below that applies; return it and a good frame's bytes."""
    octets, holes = b"", False
    for word, keep, last, _ in beats:
        count = keep.bit_count()
        holes |= keep != (1 << count) - 1 or count == 0 or (not last and count < BEAT_BYTES)
        octets += word.to_bytes(BEAT_BYTES, "little")[:count]
    first, keep, *_ = beats[0]
    head = first.to_bytes(BEAT_BYTES, "little")[:16]
    if beats[-1][3]:
        return "CORRUPT", None
    ours = head[:6] == address and head[12:15] == bytes([0x88, 0xB5, VERSION])
    if keep >> 14 & 1 and not ours:
        return "FOREIGN", None
    if holes or not LEAST <= len(octets) <= MOST or head[15]:
        return "MALFORMED", None
    return "GOOD", octets
