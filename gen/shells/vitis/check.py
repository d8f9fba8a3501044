"""Checks a kernel's package against its own Verilog, and reports what does not fit."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from gen.board.check import compare
from gen.board.hierarchy import read_verilog
from gen.output.folder import MANIFEST
from gen.shells.vitis.platforms import PLATFORMS, Platform
from hdl.vitis.kernel import HOST

CLOCKING = {"ap_clk": "input", "ap_rst_n": "input"}
INTERRUPT = {"interrupt": "output"}
MOST_REGISTERS = 1 << 16  #: bytes of a kernel's registers that XRT maps
Ports = Mapping[str, tuple[str, int]]


def problems(folder: Path) -> list[str]:
    """Return what is wrong with the package of a kernel in ``folder``, a line each."""
    manifest = json.loads((folder / MANIFEST).read_text())
    top, name = manifest["top"], manifest["board"]["name"]
    platform = next(each for each in PLATFORMS.values() if each.platform == name)
    try:
        ports = read_verilog(sorted(folder.glob("rtl/*.v")))[top].ports
        kernel = ET.parse(folder / "kernel.xml").getroot().find("kernel")
    except (ValueError, KeyError, ET.ParseError) as error:
        return [f"the package cannot be read: {error}"]
    if kernel is None or kernel.get("name") != top:
        return [f"kernel.xml is not of {top}"]
    return [
        *check_kernel(kernel, ports),
        *check_connectivity(kernel, (folder / "connectivity.cfg").read_text(), platform),
    ]


def check_kernel(kernel: ET.Element, ports: Ports) -> Iterator[str]:
    """Report ports and arguments of kernel.xml that are not as in the Verilog."""
    names = [port.get("name", "") for port in kernel.iterfind("ports/port")]
    yield from (f"kernel.xml has port {n} twice" for n, k in Counter(names).items() if k > 1)
    single = CLOCKING | (INTERRUPT if kernel.get("interrupt") == "true" else {})
    for name, direction in single.items():
        if ports.get(name) != (direction, 1):
            yield f"the Verilog has no {direction} {name} of one bit"
    left = {name for name in ports if name not in single}
    for port in kernel.iterfind("ports/port"):
        own = {name for name in left if name.startswith(f"{port.get('name')}_")}
        left -= own
        yield from check_port(port, {name: ports[name] for name in own})
    yield from (f"kernel.xml has no port for {name}" for name in sorted(left))
    offsets: list[int] = []
    control = kernel.find("ports/port[@mode='slave']")
    reach = int(control.get("range", "0"), 0) if control is not None else 0
    for arg in kernel.iterfind("args/arg"):
        if arg.get("port") not in names:
            yield f"argument {arg.get('name')} is at {arg.get('port')}, which is no port"
        if arg.get("addressQualifier") == "1":
            offset = int(arg.get("offset", "0"), 0)
            if offset % 4 or offset + 8 > reach or any(abs(offset - k) < 8 for k in offsets):
                yield f"argument {arg.get('name')} cannot be at {offset:#x}"
            offsets.append(offset)
    pointed = Counter(a.get("port") for a in kernel.iterfind("args/arg"))
    for port in kernel.iterfind("ports/port"):
        if port.get("mode") != "slave" and pointed[port.get("name")] != 1:
            yield f"port {port.get('name')} has {pointed[port.get('name')]} arguments, not one"


def check_port(port: ET.Element, own: Ports) -> Iterator[str]:
    """Report in what an interface differs from its signals in the Verilog."""
    name, mode, bits = port.get("name"), port.get("mode"), int(port.get("dataWidth", "0"))
    stream, drives = port.get("portType") == "stream", mode in ("master", "write_only")
    address = {"slave": int(port.get("range") or "0", 0).bit_length() - 1}.get(mode or "", 64)
    widths = {"tdata": bits, "tkeep": bits // 8, "tlast": 1, "tvalid": 1, "tready": 1}
    if not stream:
        widths = {"rdata": bits, "araddr": address, "wdata": bits, "awaddr": address}
        writes, reads = (f"{name}_{channel}valid" in own for channel in ("aw", "ar"))
        kept = (*(["r", "a"] * reads), *(["w", "a"] * writes))
        widths = {
            k: v
            for k, v in widths.items()
            if k[0] in kept and (reads or k != "araddr") and (writes or k != "awaddr")
        }
        if mode == "slave" and int(port.get("range") or "0", 0) > MOST_REGISTERS:
            yield f"port {name} has more than {MOST_REGISTERS} bytes of registers"
    if not widths or not own:
        yield f"kernel.xml has port {name}, which is not in the Verilog"
        return
    if bits & bits - 1:
        yield f"port {name} has a width that is no power of two: {bits}"
    first = "output" if drives else "input"
    for signal, width in widths.items():
        back = signal in ("rdata", "tready")
        expected = ("input" if first == "output" else "output") if back else first
        if (actual := own.get(f"{name}_{signal}")) != (expected, width):
            yield f"port {name}: {signal} is {actual} in the Verilog, not {(expected, width)}"


def check_connectivity(kernel: ET.Element, text: str, platform: Platform) -> Iterator[str]:
    """Report what connectivity.cfg has of the kernel's ports, and does not have of them."""
    lines = re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE)
    kernels = dict(re.findall(r"^nk=(\w+):1:(\w+)$", text, re.MULTILINE))
    instance = kernels.get(kernel.get("name", ""), "")
    if not instance:
        yield f"connectivity.cfg has no kernel {kernel.get('name')}"
    used: dict[str, list[str]] = {"sp": [], "stream_connect": []}
    ends: list[str] = []  # of streams, at other kernels
    for option, value in lines:
        places = value.split(":")
        if option == "sp":
            used[option].append(places[0])
            bank = re.fullmatch(rf"{platform.memory}\[(\d+)\]", places[1])
            if places[1] != HOST and (not bank or int(bank[1]) >= platform.banks):
                yield f"connectivity.cfg: there is no memory {places[1]}"
        elif option == "stream_connect":
            used[option] += [place for place in places if place.startswith(f"{instance}.")]
            ends += [place for place in places if not place.startswith(f"{instance}.")]
    for option, kinds in (("sp", ("master",)), ("stream_connect", ("write_only", "read_only"))):
        ports = [p.get("name") for p in kernel.iterfind("ports/port") if p.get("mode") in kinds]
        yield from compare({f"{instance}.{p}" for p in ports}, set(used[option]), option)
        yield from (f"{option} has {p} twice" for p, k in Counter(used[option]).items() if k > 1)
    cmacs = {name for name in kernels.values() if name != instance}
    expected = {f"{cmac}.{name}" for cmac in cmacs for name in ("S_AXIS", "M_AXIS")}
    yield from compare(expected, set(ends), "stream_connect")
    yield from (f"stream_connect has {p} twice" for p, k in Counter(ends).items() if k > 1)
