"""Samples what software writes to registers and reads from them, seen on AXI4-Lite."""

from collections import deque
from collections.abc import Callable
from typing import Any

from hdl.common.registers import WORD_BITS, WORD_BYTES, Field, RegisterMap
from sim.functional.groups import group

CHANNELS = {"aw": "addr", "w": "data", "ar": "addr", "r": "data"}


def field_bins(field: Field) -> tuple[str, ...]:
    """Return the bins of a field: its values where they have names, or that it was not zero."""
    if field.enum is not None:
        return tuple(f"{field.name} {name}" for name, _ in field.enum.members)
    return (f"{field.name} not zero",)


def hit_by(field: Field, value: int) -> set[str]:
    """Return the bins of a field that ``value`` hits."""
    if field.enum is None:
        return {f"{field.name} not zero"} if value else set()
    return {f"{field.name} {name}" for name, known in field.enum.members if known == value}


class RegisterWatcher:
    """Samples every read-only field as it is read, and every other one as it is written."""

    def __init__(self, dut: Any, unit: str, bus: str, map: RegisterMap) -> None:
        self.map = map
        self.words = {
            address + WORD_BYTES * word: (register, word)
            for address, register in map.placed
            for word in range(register.words)
        }
        fields = [field for register in map.registers for field in register.fields]
        self.written = [f for f in fields if f.access != "ro"]
        self.read = [f for f in fields if f.access == "ro"]
        self.sample_writes = group(
            unit, f"{bus} writes", [b for f in self.written for b in field_bins(f)]
        )
        self.sample_reads = group(
            unit, f"{bus} reads", [b for f in self.read for b in field_bins(f)]
        )
        self.moved: dict[str, deque[int]] = {channel: deque() for channel in CHANNELS}
        self.ports = [
            (
                getattr(dut, f"{bus}_{channel}valid"),
                getattr(dut, f"{bus}_{channel}ready"),
                getattr(dut, f"{bus}_{channel}{name}"),
                self.moved[channel],
            )
            for channel, name in CHANNELS.items()
        ]

    def look(self) -> None:
        """Sample the bus in a cycle."""
        changed = False
        for valid, ready, value, queue in self.ports:
            if valid.value and ready.value:
                queue.append(int(value.value))
                changed = True
        if changed:
            self.pair("aw", "w", self.sample_writes, "written")
            self.pair("ar", "r", self.sample_reads, "read")

    def pair(
        self, address: str, word: str, sample: Callable[[frozenset[str]], None], what: str
    ) -> None:
        """Sample accesses whose address and word have both moved."""
        addresses, words = self.moved[address], self.moved[word]
        while addresses and words:
            place = self.words.get(addresses.popleft())
            bits = words.popleft()
            if place is None:
                continue
            register, number = place
            hit: set[str] = set()
            for field, offset in zip(register.fields, register.offsets, strict=True):
                if (field.access == "ro") == (what == "read"):
                    at = offset - number * WORD_BITS
                    value = (bits >> at if at >= 0 else bits << -at) & ((1 << field.bits) - 1)
                    hit |= hit_by(field, value)
            sample(frozenset(hit))
