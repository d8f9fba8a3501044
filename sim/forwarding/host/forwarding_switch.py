"""Sets a forwarding switch: MAC table, ports, groups, classes; reads its counters."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from sim.forwarding.host.build import Build
from sim.host.device import (
    DeviceError,
    Registers,
    check_design,
    chosen,
    wait_until,
    write_wide,
)

SECONDS = 10.0  #: the longest wait for the hardware unless told otherwise
WAYS = 4  #: entries of a row of the table
ADDRESS_BYTES = 6


class Entry(NamedTuple):
    """Holds an entry of the MAC table."""

    mac: bytes  #: in the order of the wire
    group: int
    port: int
    static: bool
    fresh: bool  #: whether the address has sent since the last scan for old entries


class Forwarding:
    """Drives one switch on ``device``.

    ``registers`` is an object of the generated driver's class on the same device. ``seconds`` is
    the longest that a command may take. Raises :class:`DeviceError` if the device holds another
    design than ``build``, or does not answer.
    """

    def __init__(self, device: Registers, registers: Any, build: Build) -> None:
        self.device, self.registers, self.build = device, registers, build
        self.seconds = SECONDS
        check_design(registers, build.fixed)

    def find(self, mac: bytes, group: int = 0) -> Entry | None:
        """Return the entry of an address in a group, if there is one."""
        return self._operate("FIND", mac, group)

    def write(self, mac: bytes, port: int, group: int = 0) -> None:
        """Enter an address that stays at ``port``; DeviceError if its row of the table is full."""
        self._operate("WRITE", mac, group, port)
        if self.registers.read("table_refused"):
            raise DeviceError(f"there is no place for {mac.hex(':')} in its row of the table")

    def remove(self, mac: bytes, group: int = 0) -> bool:
        """Remove the entry of an address; return whether there was one."""
        return self._operate("REMOVE", mac, group) is not None

    def table(self) -> Iterator[Entry]:
        """Yield all entries of the MAC table."""
        for place in range(WAYS * self.build.fixed["rows"]):
            self.registers.write(table_place=place)
            entry = self._operate("READ")
            if entry is not None:
                yield entry

    def clear_table(self) -> None:
        """Remove all entries, static ones too."""
        self.registers.write(table_clear=1)
        wait_until(
            self.device, lambda: self.registers.read("table_ready"), "table_clear", self.seconds
        )

    def set_port(self, port: int, own_group: int, groups: Collection[int]) -> None:
        """Set the group of a port's untagged packets, and the groups that it is a member of."""
        bits = sum(1 << group for group in set(groups))
        self._set("port", {"port": port}, own_group=own_group, groups=bits)

    def port(self, port: int) -> tuple[int, set[int]]:
        """Return the group of a port's untagged packets, and its groups."""
        own, bits = self._shown({"port": port}, "own_group", "groups")
        return own, {group for group in range(bits.bit_length()) if bits >> group & 1}

    def shut(self, ports: Collection[int]) -> None:
        """Shut ports, as if they had no link, and open all others."""
        self.registers.write(shut_ports=sum(1 << port for port in set(ports)))

    def down(self) -> set[int]:
        """Return the ports that have no link or are shut."""
        bits = int(self.registers.read("ports_down"))
        return {port for port in range(bits.bit_length()) if bits >> port & 1}

    def set_vlan(self, group: int, vid: int | None) -> None:
        """Set the VLAN id of a group, or that it has none."""
        self._set("vlan", {"group": group}, vid=vid or 0, vid_used=int(vid is not None))

    def set_code(self, code: int, class_: int) -> None:
        """Set the class of a DSCP, 0 to 63, or of a VLAN priority, 64 to 71."""
        self._set("code", {"code": code}, code_class=class_)

    def set_share(self, port: int, source: int, level: int, weight: int) -> None:
        """Set how a class, or an engine behind the classes, shares a port."""
        self._set("share", {"port": port, "source": source}, level=level, weight=weight)

    def set_lossless(self, classes: Collection[int]) -> None:
        """Set which classes pause their senders instead of losing packets."""
        self.registers.write(lossless=sum(1 << class_ for class_ in set(classes)))

    def set_flooding(self, rate: int, burst: int) -> None:
        """Let each port flood ``rate`` beats in 65,536 cycles, and save up ``burst`` of them."""
        self.registers.write(flood_rate=rate, flood_burst=burst)

    def set_learning(self, learning: bool) -> None:
        """Set whether addresses that send are learned."""
        self.registers.write(learning=int(learning))

    def counters(self, port: int) -> dict[str, int]:
        """Return the counters of a port by name, as RFC 2863 and RMON have them."""
        return chosen(self.registers, self.build.counters, "port", counter_part=port)

    def clear_counters(self) -> None:
        """Set all counters to 0."""
        self.registers.write(clear_counters=1)

    def _operate(
        self, operation: str, mac: bytes = bytes(ADDRESS_BYTES), group: int = 0, port: int = 0
    ) -> Entry | None:
        if len(mac) != ADDRESS_BYTES:
            raise ValueError(f"an address must be {ADDRESS_BYTES} bytes: {mac!r}")
        registers = self.registers
        write_wide(registers, table_mac=int.from_bytes(mac, "big"))
        number = self.build.operations[operation]
        registers.write(table_group=group, table_port=port, table_operation=number)
        registers.write(table_start=1)
        wait_until(
            self.device, lambda: not registers.read("table_busy"), "table_start", self.seconds
        )
        if not registers.read("table_hit"):
            return None
        names = ("group", "port", "static", "fresh")
        group, port, static, fresh = (int(registers.read(f"table_{n}_now")) for n in names)
        octets = int(registers.read("table_mac_now")).to_bytes(ADDRESS_BYTES, "big")
        return Entry(octets, group, port, bool(static), bool(fresh))

    def _set(self, table: str, place: dict[str, int], **values: int) -> None:
        self.registers.write(**{f"chosen_{name}": k for name, k in place.items()}, **values)
        self.registers.write(**{f"set_{table}": 1})

    def _shown(self, place: dict[str, int], *names: str) -> tuple[int, ...]:
        self.registers.write(**{f"chosen_{name}": k for name, k in place.items()})
        self.device.pause()
        return tuple(int(self.registers.read(f"{name}_now")) for name in names)
