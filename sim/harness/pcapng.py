"""Writes captures of frames as pcapng, which Wireshark reads (draft-ietf-opsawg-pcapng)."""

import struct
from typing import BinaryIO

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6  # types of blocks
BYTE_ORDER, ETHERNET, NANOSECONDS = 0x1A2B3C4D, 1, b"\x09"
COMMENT, FLAGS, NAME, RESOLUTION = 1, 2, 2, 9  # codes of options; those of a packet, an interface
INBOUND, OUTBOUND, CRC_ERROR = 1, 2, 1 << 24  # flags of a packet


class CaptureWriter:
    """Writes Ethernet frames without checksum into ``file``, each at an interface.

    Times are in ns from 0 on, and should not go back. The file is a whole capture after each call.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.interfaces = file, 0
        self.block(SECTION, struct.pack("<IHHq", BYTE_ORDER, 1, 0, -1))

    def add_interface(self, name: str) -> int:
        """Describe one more interface; return its number."""
        options = option(NAME, name.encode()) + option(RESOLUTION, NANOSECONDS)
        self.block(INTERFACE, struct.pack("<HHI", ETHERNET, 0, 0) + options)
        self.interfaces += 1
        return self.interfaces - 1

    def write(
        self,
        interface: int,
        time_ns: int,
        octets: bytes,
        *,
        inbound: bool,
        broken: bool = False,
        comment: str = "",
    ) -> None:
        """Write a frame; ``broken``: its checksum is wrong."""
        flags = (INBOUND if inbound else OUTBOUND) | CRC_ERROR * broken
        time = divmod(time_ns, 1 << 32)
        head = struct.pack("<5I", interface, *time, len(octets), len(octets))
        options = option(COMMENT, comment.encode()) if comment else b""
        options += option(FLAGS, struct.pack("<I", flags))
        self.block(PACKET, head + padded(octets) + options)

    def block(self, kind: int, body: bytes) -> None:
        """Write a block: its type and its length stand around it."""
        length = struct.pack("<I", len(body) + 12)
        self.file.write(struct.pack("<I", kind) + length + body + length)


def option(code: int, value: bytes) -> bytes:
    """Return an option of a block."""
    return struct.pack("<HH", code, len(value)) + padded(value)


def padded(value: bytes) -> bytes:
    """Return a value with zeros up to a whole word."""
    return value + bytes(-len(value) % 4)
