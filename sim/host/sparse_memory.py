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
            stored = self.pages.setdefault(page, bytearray(PAGE))
            stored[offset : offset + len(part)] = part
            done += len(part)

    def read(self, address: int, size: int) -> bytes:
        """Return ``size`` bytes from ``address`` on."""
        result = bytearray()
        while len(result) < size:
            page, offset = divmod(address + len(result), PAGE)
            part = self.pages.get(page, bytes(PAGE))
            result += part[offset : offset + size - len(result)]
        return bytes(result)
