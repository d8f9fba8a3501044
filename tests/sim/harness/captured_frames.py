"""Reads captures by scapy."""

import io

from scapy.utils import RawPcapNgReader

IN, OUT = "inbound", "outbound"


def read(content):
    """Return the frames of a capture as scapy reads it: end, ns, bytes, direction, comments."""
    result = []
    with RawPcapNgReader(io.BytesIO(content)) as reader:
        for octets, about in reader:
            ns = ((about.tshigh << 32) + about.tslow) * 10**9 // about.tsresol
            comments = [each.decode() for each in about.comments or ()]
            direction = {1: IN, 2: OUT}[about.direction & 3]
            result.append((about.ifname.decode(), ns, octets, direction, comments))
    return result
