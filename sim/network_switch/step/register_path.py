"""Sends a host's accesses to registers as packets of AMD's block for PCI Express (PG213)."""

from typing import Any

from cocotb.triggers import Lock
from cocotbext.axi import AxiResp

from hdl.pcie.axis import cq_user
from hdl.pcie.descriptors import ANSWER, COMPLETION_DWORDS, HOST_REQUEST, RequestType, Status
from sim.harness.axi_master import Answer
from sim.harness.axi_streams import AxiSink, AxiSource
from sim.harness.payloads import pack, unpack

DWORD_BYTES = 4
APERTURE = 12  #: bits of an address behind the BAR


class RegisterPath:
    """Reads and writes dwords behind BAR 0 of the card ``number``, by its ports CQ and CC.

    A write ends when the card has taken it, as it is posted; a read when its completion has come.
    """

    def __init__(self, dut: Any, number: int) -> None:
        self.requests, self.answers = AxiSource(dut, f"cq_{number}"), AxiSink(dut, f"cc_{number}")
        self.user, self.lock = cq_user(len(dut.cq_0_tdata)), Lock()

    async def write(self, address: int, data: bytes) -> Answer:
        """Write a dword."""
        async with self.lock:
            await self.send(address, RequestType.MEMORY_WRITE, data)
        return Answer(AxiResp.OKAY, b"")

    async def read(self, address: int, length: int) -> Answer:
        """Read a dword; SLVERR if its completion has another status than SUCCESS."""
        async with self.lock:
            await self.send(address, RequestType.MEMORY_READ)
            await self.answers.wait_for(1)
            (completion,) = self.answers.take().values()
        word = completion["tdata"]
        status = unpack(ANSWER, word & (1 << ANSWER.size) - 1)["status"]
        octets = (word >> 32 * COMPLETION_DWORDS & 0xFFFFFFFF).to_bytes(length, "little")
        return Answer(AxiResp.OKAY if status == Status.SUCCESS else AxiResp.SLVERR, octets)

    async def send(self, address: int, kind: RequestType, data: bytes = b"") -> None:
        """Send a request of one dword, and the dword if it is written."""
        request = {"address": address // DWORD_BYTES, "dwords": 1, "kind": kind.value}
        word = pack(HOST_REQUEST, request | {"aperture": APERTURE})
        dwords = HOST_REQUEST.size // 32 + len(data) // DWORD_BYTES
        user = {"first_enable": [0b1111, 0], "starts": 1, "ends": 1, "end_dword": [dwords - 1, 0]}
        beat = {
            "tdata": word | int.from_bytes(data, "little") << HOST_REQUEST.size,
            "tkeep": (1 << dwords) - 1,
            "tlast": 1,
            "tuser": pack(self.user, user),
        }
        await self.requests.send_all([beat])
