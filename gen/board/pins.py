"""Reads the table of a card's package pins, and finds those that a top uses."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gen.base.emission.emit import Port

#: properties of a port's pin beside place and standard
PROPERTIES = {
    "pcie_reset_n": ("PULLUP", "TRUE"),
    "hbm_cattrip": ("PULLDOWN", "TRUE"),  # high takes the card's power away
    "clk_100mhz_0_p": ("DQS_BIAS", "TRUE"),  # the oscillator comes through capacitors
}


@dataclass(frozen=True, kw_only=True)
class Pin:
    """A package pin of the card and the port that it is called."""

    port: str  #: name of the port, with an index where the port has several bits
    pin: str
    iostandard: str  #: its I/O standard; none for a pin of a transceiver
    site: str  #: the transceiver's, where it is one

    @property
    def properties(self) -> tuple[str, ...]:
        """Return names and values of the pin's other properties, beside place and standard."""
        return PROPERTIES.get(self.port, ())


def read_pins(path: Path) -> dict[str, Pin]:
    """Read the table of a card, by port; raise ValueError if it has a port or a pin twice."""
    with path.open(newline="") as file:
        pins = [Pin(**row) for row in csv.DictReader(file)]
    for kind in ("port", "pin"):
        names = [getattr(pin, kind) for pin in pins]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{path.name}: {kind} {twice[0]} stands in it twice")
    return {pin.port: pin for pin in pins}


def bits_of(port: Port, table: Mapping[str, Pin]) -> list[str]:
    """Return the names of a port's bits, as constraints call them."""
    if port.bits == 1 and f"{port.name}[0]" not in table:
        return [port.name]
    return [f"{port.name}[{bit}]" for bit in range(port.bits)]


def pins_of(ports: Iterable[Port], table: Mapping[str, Pin]) -> list[Pin]:
    """Return the pins of all bits of ``ports``, in order; raise ValueError if one has none."""
    names = [name for port in ports for name in bits_of(port, table)]
    if strangers := [name for name in names if name not in table]:
        raise ValueError(f"the card has no pin called {strangers[0]}")
    return [table[name] for name in names]
