"""Finds what the guides of NetSparse say of packets, and makes those that they show."""

from collections.abc import Iterator, Mapping
from typing import Any

from amaranth.lib import data

from gen.guides.guide import byte_span, number_of
from gen.guides.netsparse_snic_uses import COUNTED, LAYER_USES, PR_USES, UPPER_USES
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.protocol import (
    CONCATENATION_LAYER,
    DO_NOT_FRAGMENT,
    IP_OFFSET,
    PACKET_CONSTANTS,
    PACKET_HEADER,
    PACKET_HEADER_BYTES,
    PR_BYTES,
    PR_LAYER,
    PRIORITIES,
    UDP_OFFSET,
    UPPER_BYTES,
    UPPER_LAYERS,
    Kind,
    dscp_ecn,
)
from hdl.netsparse.snic_counters import CLASSES

#: of the known answers
MAC_BASE, IP_BASE = 0x0200_0000_0000, 0x0A00_0000

Prs = list[tuple[dict[str, int], bytes]]  #: fields of PRs, and their properties


def packet_values(mtu: int) -> dict[str, Any]:
    """Return what the part of a guide that describes packets names."""
    return {
        "mtu": mtu,
        "header_bytes": PACKET_HEADER_BYTES,
        "pr_bytes": PR_BYTES,
        "beat_bytes": BEAT_BYTES,
        "upper": list(wire_rows(UPPER_LAYERS, UPPER_USES, 0)),
        "layer": list(wire_rows(CONCATENATION_LAYER, LAYER_USES, UPPER_BYTES)),
        "pr": list(wire_rows(PR_LAYER, PR_USES, 0)),
        "most_reads": (mtu - PACKET_HEADER_BYTES) // PR_BYTES,
        "kinds": {kind.name: kind.value for kind in Kind},
        "dscp": [dscp_ecn(priority) for priority in PRIORITIES],
        "priorities": PRIORITIES,
    }


def wire_rows(
    layout: data.StructLayout, uses: Mapping[str, str], start: int
) -> Iterator[dict[str, str]]:
    """Yield bytes and use of each field of a header, in the order of the wire, from ``start``."""
    for name, field in reversed(list(layout)):
        first = start + (layout.size - field.offset - field.width) // 8
        constant = PACKET_CONSTANTS.get(name)
        use = uses[name] if constant is None else f"0x{constant:X}"
        yield {"bytes": byte_span(first, first + field.width // 8 - 1), "field": name, "use": use}


def meaning(name: str) -> str:
    """Return what a counter of the SNIC counts; those of both classes have one text."""
    for kind in CLASSES:
        rest = name.removeprefix(f"{kind}_")
        if rest == name:
            continue
        for start, text in (
            (
                "sent_prs_",
                "packets sent with at least this many PRs, and fewer than the next counter's",
            ),
            ("dropped_", "packets dropped with this verdict"),
        ):
            if rest.startswith(start):
                return text
        return COUNTED[rest]
    return COUNTED[name]


def property_of(idx: int) -> bytes:
    """Return the property of an idx in a known answer: the idx, and its double, as words."""
    return idx.to_bytes(4, "little") + (2 * idx).to_bytes(4, "little")


def packet(kind: Kind, source: int, dest: int, length: int, prs: Prs) -> bytes:
    """Return the packet that node ``source`` sends, each PR with its property behind it."""
    body = b"".join(number_of(PR_LAYER, pr).to_bytes(PR_BYTES, "big") + own for pr, own in prs)
    size = PACKET_HEADER_BYTES + len(body)
    upper = PACKET_CONSTANTS | {
        "destination_mac": MAC_BASE + dest,
        "source_mac": MAC_BASE + source,
        "dscp_ecn": dscp_ecn(PRIORITIES[kind is not Kind.READ]),
        "total_length": size - IP_OFFSET,
        "flags_fragment": DO_NOT_FRAGMENT,
        "source_ip": IP_BASE + source,
        "destination_ip": IP_BASE + dest,
        "udp_length": size - UDP_OFFSET,
    }
    layer = {"type": kind.value, "dest": dest, "len": length, "prs": len(prs)}

    def header(checksum: int) -> bytes:
        fields = {"upper": upper | {"ip_checksum": checksum}, "concatenation": layer}
        return number_of(PACKET_HEADER, fields).to_bytes(PACKET_HEADER_BYTES, "big")

    words = memoryview(header(0)[IP_OFFSET:UDP_OFFSET])
    total = sum(int.from_bytes(words[k : k + 2], "big") for k in range(0, len(words), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header(total ^ 0xFFFF) + body
