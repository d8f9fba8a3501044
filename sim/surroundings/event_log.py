"""Lets a simulated design write its events to files by itself, so that no Python slows it down."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, Value, ValueLike

EVENT_LOG = Path(__file__).with_name("event_log.sv")  #: Verilog that simulations with logs need
WORD_BITS = 32


@dataclass(frozen=True)
class EventLog:
    """Describes a file of events; ``fields`` are the names and widths in bits of an event's values.

    In the file the cycle of the event, modulo 2**32, comes before its values.
    """

    index: int  #: number of the file in its simulation
    fields: tuple[tuple[str, int], ...]

    @property
    def dtype(self) -> np.dtype:
        """Return NumPy's type of an event; values wider than 64 bits are arrays of words."""
        kinds = {1: "<u4", 2: "<u8"}
        result: list[tuple] = [("cycle", "<u4")]
        for name, bits in self.fields:
            words = -(-bits // WORD_BITS)
            result.append((name, kinds[words]) if words in kinds else (name, "<u4", (words,)))
        return np.dtype(result)

    def argument(self, path: Path) -> str:
        """Return the argument of the simulation that names the file."""
        return f"+event_log_{self.index}={path}"

    def read(self, path: Path) -> np.ndarray:
        """Return the events of a file."""
        return np.fromfile(path, self.dtype)

    def add(
        self, m: Module, now: Signal, ends: Value, valid: ValueLike, values: Mapping[str, Value]
    ) -> None:
        """Log ``values`` at cycle ``now`` while ``valid`` is high; ``ends`` completes the file."""
        parts: list[Value] = [now]
        for name, bits in self.fields:
            value = Value.cast(values[name])
            if len(value) != bits:
                raise ValueError(f"{name} has {len(value)} bits, not {bits}")
            parts.append(Cat(value, Const(0, -bits % WORD_BITS)))
        words = Cat(parts)
        m.submodules[f"log_{self.index}"] = Instance(
            "event_log",
            p_INDEX=self.index,
            p_WORDS=len(words) // WORD_BITS,
            i_clk=ClockSignal(),
            i_valid=valid,
            i_words=words,
            i_ends=ends,
        )
