"""Writes files of packets that a simulated far end and a simulated core send."""

from collections.abc import Sequence
from pathlib import Path

from sim.netsparse.golden.concatenation import (
    HEADER_BYTES,
    PR_BYTES,
    Addresses,
    Kind,
    Request,
    to_bytes,
)

BEAT_BYTES = 64
DENSEST_BYTES = BEAT_BYTES + 1  #: bytes of the packet that fills a buffer of beats the fastest


def densest(requests: Sequence[Request], node: int, addresses: Addresses) -> bytes:
    """Return the first 65 bytes of a packet, which a MAC takes for a packet and a core does not."""
    return to_bytes(requests, node, addresses)[:DENSEST_BYTES]


def traffic_files(folder: Path, packets: Sequence[bytes]) -> list[str]:
    """Write ``packets``; return the arguments by which a simulator finds them.

    Of each class, the first is the one that fills a buffer the fastest, the last the longest.
    """
    described = []
    for packet in packets:
        kind, length = int.from_bytes(packet[50:52], "big"), int.from_bytes(packet[56:60], "big")
        stride = PR_BYTES + (length if kind == Kind.RESPONSE else 0)
        prs = (len(packet) - HEADER_BYTES) // stride
        described.append((f"{int(kind != Kind.READ)} {prs} {stride}", packet))
    return write_files(folder, described)


def write_files(folder: Path, described: Sequence[tuple[str, bytes]]) -> list[str]:
    """Write packets, each with its class, its PRs and their bytes; return the arguments."""
    beats, lines, first = [], [], 0
    for numbers, packet in described:
        lines.append(f"{numbers} {len(packet)} {first}")
        for at in range(0, len(packet), BEAT_BYTES):
            beats.append(packet[at : at + BEAT_BYTES][::-1].hex().rjust(2 * BEAT_BYTES, "0"))
        first = len(beats)
    (folder / "beats.hex").write_text("\n".join(beats) + "\n")
    (folder / "packets.txt").write_text("\n".join(lines) + "\n")
    return [f"+beats={folder / 'beats.hex'}", f"+packets={folder / 'packets.txt'}"]
