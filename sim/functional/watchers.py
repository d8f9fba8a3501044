"""Looks at a port in every cycle of a simulation, and samples its bins, those of bursts too."""

from collections.abc import Callable
from typing import Any

from hdl.common.axi import FOUR_KB
from sim.functional.groups import group
from sim.functional.ports import Part, Plain, Stream
from sim.functional.values import Values

BURSTS = ("one beat", "several beats", "ends at 4 KiB")


class Bursts:
    """Samples a channel of bursts: ``names`` of its bins, and those that the ports hit now."""

    names = BURSTS

    def __init__(self, address: Any, length: Any, size: Any) -> None:
        self.ports = address, length, size

    def hit(self) -> frozenset[str]:
        """Return the bins that the burst of this cycle hits."""
        address, length, size = (int(port.value) for port in self.ports)
        hit = {"several beats" if length else "one beat"}
        first = address >> size << size
        if (first + (length + 1 << size)) % FOUR_KB == 0:
            hit.add("ends at 4 KiB")
        return frozenset(hit)


PAUSES = ("0", "1..3", "4+")  #: cycles


def pause(cycles: int) -> str:
    """Name the bin of a pause of this many cycles."""
    return PAUSES[(cycles > 0) + (cycles > 3)]


class StreamWatcher:
    """Samples how beats of a stream wait and pause, and what they carry."""

    def __init__(self, dut: Any, unit: str, port: Stream) -> None:
        self.valid: Any = getattr(dut, port.valid, None) if port.valid else None
        self.ready: Any = getattr(dut, port.ready, None) if port.ready else None
        bins = self.handshake_bins()
        self.demands: list[Callable[[], frozenset[str]]] = []
        handles = {part.label: getattr(dut, part.port, None) for part in port.parts}
        for part in port.parts:
            if (handle := handles[part.label]) is not None:
                bins += self.look_at(handle, part)
        for prefix in ("ar", "aw"):
            fields = [handles.get(f"{prefix}{name}") for name in ("addr", "len", "size")]
            if None not in fields:
                bursts = Bursts(*fields)
                bins += bursts.names
                self.demands.append(bursts.hit)
        self.sample = group(unit, port.name, dict.fromkeys(bins))
        self.waited = 0
        self.paused: int | None = None  # None before the first beat: that is no pause
        self.early = False

    def handshake_bins(self) -> list[str]:
        """Return the bins of how long a beat waits, and how long there is none."""
        bins: list[str] = []
        if self.valid is not None:
            bins += [f"pauses {length}" for length in PAUSES]
        if self.ready is not None:
            bins += [f"waits {length}" for length in PAUSES]
        if self.valid is not None and self.ready is not None:
            bins.append("ready before valid")
        return bins

    def look_at(self, handle: Any, part: Part) -> tuple[str, ...]:
        """Look at the values of a part of the payload from now on; return their bins."""
        values = Values(part.shape, part.label)
        if values.names:
            self.demands.append(lambda: values.hit(int(handle.value)))
        return values.names

    def look(self) -> None:
        """Sample the stream in a cycle."""
        if self.valid is not None and not self.valid.value:
            if self.paused is not None:
                self.paused += 1
            if not self.early and self.ready is not None and self.ready.value:
                self.early = True
            return
        if self.ready is not None and not self.ready.value:
            self.waited += 1
            return
        hit = {f"waits {pause(self.waited)}"}
        if self.paused is not None:
            hit.add(f"pauses {pause(self.paused)}")
        if self.early:
            hit.add("ready before valid")
        self.waited, self.paused, self.early = 0, 0, False
        self.sample(frozenset(hit.union(*(issue() for issue in self.demands))))


class PlainWatcher:
    """Samples a port by itself in the first cycle of each value that means something."""

    def __init__(self, dut: Any, unit: str, port: Plain) -> None:
        self.handle: Any = getattr(dut, port.part.port, None)
        self.valid = getattr(dut, port.valid, None) if port.valid else None
        provided = not port.driven and port.valid is None
        self.values = Values(port.part.shape, level=True, provided=provided)
        self.before: int | None = None
        self.watches = self.handle is not None and bool(self.values.names)
        if self.watches:
            self.sample = group(unit, port.name, self.values.names)

    def look(self) -> None:
        """Sample the port in a cycle."""
        if self.valid is not None and not self.valid.value:
            return
        bits = int(self.handle.value)
        if bits != self.before:
            self.before = bits
            self.sample(self.values.hit(bits))
