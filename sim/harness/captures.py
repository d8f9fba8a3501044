"""Captures the frames on the links of a simulated design: taps in the design, then a pcapng file.

A component that is a link has ``taps``, one for each of its ends. A simulator that is built while
:data:`CAPTURES` is set has a probe at each, by SystemVerilog's ``bind``; all others are the same as
without this module.
"""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from gen.base.emission.emit import Emission, EmittedModule
from sim.harness.clock import PERIOD_NS
from sim.harness.pcapng import CaptureWriter
from sim.harness.tap import Tap

CAPTURES = "INGATHER_CAPTURES"  #: environment: not empty for simulators that capture frames
PROBE = Path(__file__).with_name("frame_tap.sv")
FOLDER = "frames"  #: of the probes' files, in that of a run
LAST, BROKEN = 1, 2  # bits of a beat's ends


def taps_of(emission: Emission | None) -> dict[str, str]:
    """Return Verilog that adds the probes of each module with taps, by the module's name.

    It is empty unless :data:`CAPTURES` is set.
    """
    if emission is None or not os.environ.get(CAPTURES):
        return {}
    modules = emission.modules.values()
    return {m.name: bound(m, taps) for m in modules if (taps := getattr(m.kind, "taps", ()))}


def bound(module: EmittedModule, taps: Sequence[Tap]) -> str:
    """Return Verilog that adds a probe at each tap of a module."""
    widths = {port.name: port.bits for port in module.ports}
    lines = []
    for tap in taps:
        sizes = f".BYTES({widths[f'{tap.stream}_tkeep']}), .INBOUND({int(tap.inbound)})"
        ports = {name: f"{tap.stream}_{name}" for name in ("tdata", "tkeep", "tlast", "tuser")}
        ports |= {"clk": "clk", "rst": "rst", "dropped": tap.dropped, "corrupted": tap.corrupted}
        ports["valid"] = f"{tap.stream}_tvalid & {tap.stream}_tready"
        connections = ", ".join(f".{name}({value})" for name, value in ports.items())
        lines.append(f"bind {module.name} frame_tap #({sizes}) {tap.stream} ({connections});\n")
    return "".join(lines)


def argument(scratch: Path) -> str:
    """Make the folder of a run's probes; return the argument that names it to the simulator."""
    (scratch / FOLDER).mkdir(exist_ok=True)
    return f"+frame_taps={scratch / FOLDER}"


def capture_of(scratch: Path) -> bytes | None:
    """Return the capture of a run in ``scratch``, also of one that was cut; None if it has none.

    Each end of a link is an interface, called as the link is in the design; times are those of
    cycles, in ns. Frames that a link drops or corrupts have a comment that says so.
    """
    files = sorted((scratch / FOLDER).glob("*"))
    if not files:
        return None
    writer = CaptureWriter(result := io.BytesIO())
    frames = []
    for file in files:
        number = writer.add_interface(name_of(file))
        frames += [(time_ns, number, *other) for time_ns, *other in frames_of(file)]
    inbound = [bool(np.fromfile(file, "<u4", 1).sum() >> 16) for file in files]
    for time_ns, k, octets, broken, comment in sorted(frames, key=lambda frame: frame[:2]):
        writer.write(k, time_ns, octets, inbound=inbound[k], broken=broken, comment=comment)
    return result.getvalue()


def name_of(file: Path) -> str:
    """Return the name of a link's end: its path below the top, without the probe's function."""
    return ".".join(file.name.split(".")[1:-1])


def frames_of(file: Path) -> Iterator[tuple[int, bytes, bool, str]]:
    """Yield the whole frames in the file of a probe, in their order.

    Each is the time of its first beat in ns, its bytes, whether its checksum is wrong, and what the
    link does to it.
    """
    words = np.fromfile(file, "<u4")
    width = int(words[0]) & 0xFFFF if len(words) else 64
    fields: Mapping[str, str] = {"cycle": "<u8", "dropped": "<u4", "corrupted": "<u4"}
    fields = {**fields, "ends": "<u4", "keep": "<u8", "data": f"V{width}"}
    beat = np.dtype([*fields.items()])
    beats = np.frombuffer(words.tobytes()[4:], beat, len(words[1:]) * 4 // beat.itemsize)
    begin, before = 0, {"dropped": 0, "corrupted": 0}
    for end in map(int, np.flatnonzero(beats["ends"] & LAST)):
        last = beats[end]
        size = (end - begin) * width + int(last["keep"]).bit_count()
        after = {name: int(last[name]) for name in before}
        fates = [f"{name} by the link" for name in before if after[name] != before[name]]
        octets = beats["data"][begin : end + 1].tobytes()[:size]
        time_ns = int(beats["cycle"][begin]) * PERIOD_NS
        yield time_ns, octets, bool(last["ends"] & BROKEN), ", ".join(fates)
        begin, before = end + 1, after
