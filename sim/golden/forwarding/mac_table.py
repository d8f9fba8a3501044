"""Says what a forwarding switch knows of MAC addresses: a table of rows of four places."""

from dataclasses import dataclass
from functools import reduce
from operator import xor

WAYS = 4
MAC_BITS = 48


@dataclass
class Entry:
    """Holds the port of an address of a group."""

    mac: int
    group: int
    port: int
    static: bool = False
    fresh: bool = True  #: whether the address has sent since the last scan


class MacTable:
    """Holds the entries of addresses, at most four in a row; ``moved`` and ``full`` are counted."""

    def __init__(self, rows: int) -> None:
        self.rows: list[list[Entry]] = [[] for _ in range(rows)]
        self.moved = self.full = 0

    def row(self, mac: int) -> list[Entry]:
        """Return the row of an address: the exclusive or of its parts of log2(rows) bits."""
        bits = (len(self.rows) - 1).bit_length()
        parts = (mac >> k & len(self.rows) - 1 for k in range(0, MAC_BITS, bits))
        return self.rows[reduce(xor, parts)]

    def find(self, mac: int, group: int) -> Entry | None:
        """Return the entry of an address in a group, if there is one."""
        return next((e for e in self.row(mac) if (e.mac, e.group) == (mac, group)), None)

    def learn(self, mac: int, group: int, port: int) -> None:
        """Enter an address that has sent from ``port``, or move it there, unless it is static."""
        entry = self.find(mac, group)
        if entry is None:
            if not self._enter(Entry(mac, group, port)):
                self.full += 1
        elif not entry.static:
            self.moved += entry.port != port
            entry.port, entry.fresh = port, True

    def write(self, mac: int, group: int, port: int) -> bool:
        """Enter a static entry; return whether there was a place for it."""
        self.remove(mac, group)
        return self._enter(Entry(mac, group, port, static=True, fresh=False))

    def remove(self, mac: int, group: int) -> bool:
        """Remove the entry of an address; return whether there was one."""
        entry = self.find(mac, group)
        if entry is not None:
            self.row(mac).remove(entry)
        return entry is not None

    def forget(self, port: int) -> None:
        """Remove the entries of a port that is down, but for static ones."""
        for row in self.rows:
            row[:] = [entry for entry in row if entry.static or entry.port != port]

    def age(self) -> None:
        """Remove the entries of addresses that have not sent since the scan before."""
        for row in self.rows:
            row[:] = [entry for entry in row if entry.static or entry.fresh]
            for entry in row:
                entry.fresh = False

    def clear(self) -> None:
        """Remove all entries."""
        for row in self.rows:
            row.clear()

    def _enter(self, entry: Entry) -> bool:
        row = self.row(entry.mac)
        if len(row) == WAYS:
            return False
        row.append(entry)
        return True
