"""Builds and runs programs with XRT, as Debian has it: ``libxrt-dev`` and ``libxrt1``.

An xclbin has the metadata that ``v++`` makes of a kernel's package when it links, in the layouts of
XRT's ``src/runtime_src/core/include/xclbin.h``, and no bitstream.
"""

import os
import re
import struct
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gen.commands.generating import Order, generate
from gen.designs.catalogue import find_design

INCLUDE = Path("/usr/include/xrt")
needs_xrt = pytest.mark.skipif(not INCLUDE.exists(), reason="libxrt-dev is missing (on Debian)")
CHANNELS, CHANNEL_BITS = 32, 28  #: pseudo channels of a U280's HBM, and the bits of their bytes
BASE = 0x1800000  #: of the kernel's registers: the linker chooses it
MEM_HBM, IP_KERNEL, AP_CTRL_NONE = 6, 1, 2
NUMBERS = {"EMBEDDED_METADATA": 2, "MEM_TOPOLOGY": 6, "CONNECTIVITY": 7, "IP_LAYOUT": 8}


def compiled(source, program, *options):
    """Build a program, or a library, with XRT's; return its path."""
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-isystem{INCLUDE}"]
    subprocess.run([*command, *options, source, "-o", program, "-lxrt_coreutil"], check=True)
    return program


def emulating(folder):
    """Return an environment in which XRT's library finds its no-op driver.

    It looks for it in ``lib`` of a folder, not where Debian has it.
    """
    machine = subprocess.run(["g++", "-print-multiarch"], capture_output=True, text=True).stdout
    (folder / "lib").symlink_to(Path("/usr/lib", machine.strip()))
    return os.environ | {"XILINX_XRT": str(folder), "XCL_EMULATION_MODE": "noop"}


def kernel_of(folder):
    """Return the element of kernel.xml, the name of its unit, and the banks of its ports."""
    kernel = ET.parse(folder / "kernel.xml").getroot().find("kernel")
    text = (folder / "connectivity.cfg").read_text()
    (unit,) = re.findall(rf"^nk={kernel.get('name')}:1:(\w+)$", text, re.M)
    return kernel, unit, dict(re.findall(rf"^sp={unit}\.(\w+):(\S+)$", text, re.M))


def metadata_of(kernel, unit):
    """Return the section EMBEDDED_METADATA: the kernel of kernel.xml, and where it is."""
    place = {"base": f"{BASE:#x}", "range": "0x10000", "port": "s_axi_control"}
    ET.SubElement(ET.SubElement(kernel, "instance", name=unit), "addrRemap", place)
    text = re.sub("</?(ports|args)>", "", ET.tostring(kernel, encoding="unicode"))
    outer = ("project", "platform", "device", "core")
    return "".join((*map("<{}>".format, outer), text, *map("</{}>".format, outer[::-1]))).encode()


def sections_of(folder):
    """Return the sections of the kernel in ``folder``, by name."""
    kernel, unit, banks = kernel_of(folder)
    tags = [f"HBM[{k}]" for k in range(CHANNELS)]
    numbers = {arg.get("port"): int(arg.get("id")) for arg in kernel.iterfind("args/arg")}
    properties = (kernel.get("interrupt") == "true") | AP_CTRL_NONE << 8
    used, size = banks.values(), 1 << CHANNEL_BITS - 10
    label = f"{kernel.get('name')}:{unit}".encode()
    return {
        "EMBEDDED_METADATA": metadata_of(kernel, unit),
        "MEM_TOPOLOGY": struct.pack("<i4x", CHANNELS)
        + b"".join(
            struct.pack("<BB6xQQ16s", MEM_HBM, tag in used, size, k << CHANNEL_BITS, tag.encode())
            for k, tag in enumerate(tags)
        ),
        "IP_LAYOUT": struct.pack("<i4xIIQ64s", 1, IP_KERNEL, properties, BASE, label),
        "CONNECTIVITY": struct.pack("<i", len(banks))
        + b"".join(
            struct.pack("<3i", numbers[port], 0, tags.index(bank)) for port, bank in banks.items()
        ),
    }


def packaged(folder):
    """Write the package of a small worker, and its xclbin, whose path this returns."""
    order = Order(design=find_design("p4sgd-worker"), board="vitis", preset="tiny", changes={})
    generate(order, folder)
    parts, path = sections_of(folder), folder / "kernel.xclbin"
    at, heads, bodies = 456 + 40 * len(parts), b"", b""
    for name, part in parts.items():
        heads += struct.pack("<I16s4xQQ", NUMBERS[name], b"", at + len(bodies), len(part))
        bodies += part + bytes(-len(part) % 8)
    head = struct.pack("<8si28s256sQ", b"xclbin2", -1, b"\xff" * 28, b"", 0)
    numbers = at + len(bodies), 0, 0, 0, 2, 13, 0, 0
    texts = b"", b"", bytes(range(16)), b""  # the third is its UUID
    head += struct.pack("<QQQHBBHH16s64s16s16sI4x", *numbers, *texts, len(parts))
    path.write_bytes(head + heads + bodies)
    return path
