"""Keeps bytes at any addresses, as memories of many gigabytes that are mostly empty."""

PAGE = 1 << 12


class SparseMemory:
    """Holds bytes by address; those that were never written are 0."""

    def __init__(self) -> None:
        self.pages: dict[int, bytearray] = {}

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` from ``address`` on."""
        done = 0
        while done < len(data):
            page, offset = divmod(address + done, PAGE)
            part = data[done : done + PAGE - offset]
            kept = self.pages.setdefault(page, bytearray(PAGE))
            kept[offset : offset + len(part)] = part
            done += len(part)

    def read(self, address: int, size: int) -> bytes:
        """Return ``size`` bytes from ``address`` on."""
        found = bytearray()
        while len(found) < size:
            page, offset = divmod(address + len(found), PAGE)
            part = self.pages.get(page, bytes(PAGE))
            found += part[offset : offset + size - len(found)]
        return bytes(found)
