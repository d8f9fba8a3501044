"""Says which packets write bytes to a host's memory over PCI Express.

After the PCI Express base specification 3.1, 2.2.5 (byte enables) and 2.2.7 (no request crosses a
multiple of 4 KB; no payload is larger than what the host allows). Addresses are of bytes.
"""

from dataclasses import dataclass
from itertools import groupby

from sim.golden.pcie_requester import DWORD, PAYLOAD_SIZES

Dword = dict[int, int]  #: of a dword, each byte that is written, by its place in it


@dataclass(frozen=True)
class Write:
    """Describes a write as it goes onto the link."""

    address: int  #: address of the first dword
    dwords: list[Dword]

    @property
    def byte_enables(self) -> tuple[int, int]:
        """Return those of the first and of the last dword; the last are 0 if there is one dword."""
        enables = [sum(1 << place for place in dword) for dword in self.dwords]
        return (enables[0], enables[-1] if len(enables) > 1 else 0)


def writes(address: int, payload: bytes, most: int) -> list[Write]:
    """Return the writes of at most ``most`` bytes that bring ``payload`` to ``address`` and on.

    They are cut where an address is a multiple of ``most``, so never across 4 KB.
    """
    if most not in PAYLOAD_SIZES:
        raise ValueError(f"the largest payload must be one of {PAYLOAD_SIZES}: {most}")
    result = []
    for _, block in groupby(enumerate(payload, address), lambda item: item[0] // most):
        dwords: dict[int, Dword] = {}
        for place, byte in block:
            dwords.setdefault(place // DWORD, {})[place % DWORD] = byte
        result.append(Write(DWORD * min(dwords), list(dwords.values())))
    return result
