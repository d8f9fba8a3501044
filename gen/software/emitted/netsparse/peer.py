"""Plays the other node of a small cluster in a simulation: it answers a SNIC's reads."""

from collections.abc import Callable
from typing import Any

from gen.software.emitted.packet_ports import answer_packets

HEADER_BYTES, PR_BYTES = 64, 18
PR_FIELDS = ((0, 4), (4, 6), (6, 14), (14, 18))  #: src, tid, idx, id
RESPONSE = 2  #: kind of a packet
ETHERNET_BYTES, UDP_OFFSET = 14, 34


def answers(packet: bytes, node: int, mtu: int, row_of: Callable[[int], bytes]) -> list[bytes]:
    """Return the packets by which ``node`` answers a packet of reads with the rows asked for."""
    row_bytes = int.from_bytes(packet[56:60], "big")
    count = int.from_bytes(packet[60:64], "big")
    bodies: dict[bytes, list[bytes]] = {}  # PRs with their rows, by the node that asked
    for at in range(HEADER_BYTES, HEADER_BYTES + count * PR_BYTES, PR_BYTES):
        source, unit, idx, name = (packet[at + a : at + b] for a, b in PR_FIELDS)
        row = row_of(int.from_bytes(idx, "big"))
        assert len(row) == row_bytes
        bodies.setdefault(source, []).append(node.to_bytes(4, "big") + unit + idx + name + row)
    most = (mtu - HEADER_BYTES) // (PR_BYTES + row_bytes)
    return [
        response(packet, dest, prs[k : k + most])
        for dest, prs in bodies.items()
        for k in range(0, len(prs), most)
    ]


def response(read: bytes, dest: bytes, prs: list[bytes]) -> bytes:
    """Return a packet of responses: the header of the read's with what a SNIC looks at changed."""
    size = HEADER_BYTES + sum(map(len, prs))
    header = bytearray(read[:HEADER_BYTES])
    header[16:18] = (size - ETHERNET_BYTES).to_bytes(2, "big")
    header[38:40] = (size - UDP_OFFSET).to_bytes(2, "big")
    header[50:52] = RESPONSE.to_bytes(2, "big")
    header[52:56] = dest
    header[60:64] = len(prs).to_bytes(4, "big")
    return bytes(header) + b"".join(prs)


async def answer_reads(dut: Any, node: int, mtu: int, row_of: Callable[[int], bytes]) -> None:
    """Answer all reads that leave the SNIC, for ever."""
    dut.m_axis_reads_tready.value = 1
    await answer_packets(
        dut, "m_axis_reads", "s_axis_responses", lambda read: answers(read, node, mtu, row_of)
    )
