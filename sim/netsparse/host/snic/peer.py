"""Plays the other node of a small cluster in a simulation: it answers a SNIC's reads."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sim.host.packet_ports import answer_packets
from sim.netsparse.golden.concatenation import (
    HEADER_BYTES,
    PR_BYTES,
    Addresses,
    Kind,
    Request,
    from_bytes,
    to_bytes,
)


def answers(packet: bytes, node: int, mtu: int, row_of: Callable[[int], bytes]) -> list[bytes]:
    """Return the packets by which ``node`` answers a packet of reads with the rows asked for."""
    prs: dict[int, list[Request]] = {}  # responses, by the node that asked
    for read in from_bytes(packet):
        row = row_of(read.idx)
        response = replace(read, kind=Kind.RESPONSE, dest=read.src, src=node, data=row)
        prs.setdefault(read.src, []).append(response)
    return [
        to_bytes(each[k : k + most], node, Addresses())
        for each in prs.values()
        for most in [(mtu - HEADER_BYTES) // (PR_BYTES + each[0].length)]
        for k in range(0, len(each), most)
    ]


async def answer_reads(dut: Any, node: int, mtu: int, row_of: Callable[[int], bytes]) -> None:
    """Answer all reads that leave the SNIC, for ever."""
    dut.m_axis_reads_tready.value = 1
    await answer_packets(
        dut, "m_axis_reads", "s_axis_responses", lambda read: answers(read, node, mtu, row_of)
    )
