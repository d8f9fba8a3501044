"""Writes a save file for GTKWave: the streams of the top, the one with the wrong beat first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vcd.gtkw import GTKWColor, GTKWSave

SAVE = "view.gtkw"
__all__ = ["SAVE", "moment", "write_save"]

BEFORE_CYCLES, SHOWN_CYCLES = 12, 40
PIXELS = 1000  #: width of the window, for waves
PORTS = "$rootio"  #: the scope in which Verilator lists the ports of the top
PARTS = ("_valid", "_ready", "_payload")
NANOSECONDS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0, "ps": 1e-3, "fs": 1e-6}


def moment(cycle: int) -> float:
    """Return the time, in ns, at which waves show how ``cycle`` ends: half-way to its edge."""
    from sim.harness.clock import PERIOD_NS

    return max(0.0, (cycle - 1.5) * PERIOD_NS)


def write_save(
    waves: Path, wrong: Mapping[str, Any] | None = None, streams: Sequence[str] = ()
) -> Path:
    """Write ``view.gtkw`` beside ``waves``; return its path.

    ``wrong`` is the first wrong beat, where the marker goes. ``streams`` are those that the test
    used, which come next; what else the top has stands in groups that are closed.
    """
    from vcd.gtkw import GTKWColor, GTKWSave

    path = waves.with_name(SAVE)
    header = header_of(waves)
    mark = None if wrong is None else wrong["stream"]
    groups = grouped(header.widths)
    with path.open("w") as file:
        save = GTKWSave(file)
        save.dumpfile(waves.name, abspath=False)
        if wrong is not None and wrong["cycle"] is not None:
            go_to(save, wrong["cycle"], header.unit_ns)
        save.size(1400, 800)
        save.treeopen(f"{header.top}.")
        for name in ("clk", "rst", *([mark] if mark not in groups else [])):
            show(save, header, name, GTKWColor.red if name == mark else None)
        for name in dict.fromkeys([mark, *streams, *groups]):
            if name in groups:
                with save.group(name, closed=name != mark and name not in streams):
                    for signal in groups.pop(name):
                        show(save, header, signal, GTKWColor.red if name == mark else None)
        others = [name for name in header.widths if not name.endswith((*PARTS, "clk", "rst"))]
        with save.group("other ports", closed=True):
            for name in others:
                show(save, header, name, None)
    return path


def go_to(save: "GTKWSave", cycle: int, unit_ns: float) -> None:
    """Put the marker into ``cycle``, and show some cycles around it."""
    save.timestart(round(moment(max(1, cycle - BEFORE_CYCLES)) / unit_ns))
    # GTKWave's zoom is minus the logarithm of the time that a pixel stands for.
    from sim.harness.clock import PERIOD_NS

    zoom = -log2(SHOWN_CYCLES * PERIOD_NS / unit_ns / PIXELS)
    save.zoom_markers(zoom, round(moment(cycle) / unit_ns))


def show(save: "GTKWSave", header: "Header", name: str | None, color: "GTKWColor | None") -> None:
    """Show a signal of the top if it has it, in hexadecimal if it has several bits."""
    width = header.widths.get(name or "")
    if width is not None:
        suffix = f"[{width - 1}:0]" if width > 1 else ""
        datafmt = "hex" if width > 1 else "bin"
        save.trace(f"{header.top}.{name}{suffix}", datafmt=datafmt, color=color)


def grouped(widths: Iterable[str]) -> dict[str, list[str]]:
    """Return the signals of each stream among ``widths``: valid, ready, payload."""
    names = set(widths)
    streams = [name.removesuffix("_valid") for name in widths if name.endswith("_valid")]
    return {
        stream: [f"{stream}{part}" for part in PARTS if f"{stream}{part}" in names]
        for stream in streams
    }


@dataclass(frozen=True)
class Header:
    """Holds what a waveform says of itself."""

    unit_ns: float  #: unit of the waveform's times
    top: str  #: the module that is simulated
    widths: dict[str, int]  #: widths of the top's ports


def header_of(waves: Path) -> Header:
    """Read the head of a VCD file as Verilator writes it, a declaration a line, up to the ports."""
    unit_ns, top, ports = 1.0, "", {}
    scopes: list[str] = []
    with waves.open() as file:
        for line in file:
            match line.split():
                case ["$timescale", scale, "$end"]:
                    unit = scale.lstrip("0123456789")
                    unit_ns = int(scale.removesuffix(unit)) * NANOSECONDS[unit]
                case ["$scope", _, name, "$end"]:
                    scopes.append(name)
                    top = top or (name if name != PORTS else "")
                case ["$upscope", _]:
                    scopes.pop()
                case ["$var", _, bits, _, name, *_] if scopes == [PORTS]:
                    ports[name] = int(bits)
                case ["$enddefinitions", _]:
                    break
            if top and ports:
                break
    return Header(unit_ns, top, ports)
