"""Makes of a kernel's package the metadata of an xclbin, as ``v++`` does when it links.

Sections and their layouts are those of XRT's ``src/runtime_src/core/include/xclbin.h``, their
JSON that of ``xclbinutil``. There is no bitstream.
"""

import re
import struct
from xml.etree import ElementTree as ET

CHANNELS, CHANNEL_BITS = 32, 28  #: pseudo channels of a U280's HBM, and the bits of their bytes
BASE = 0x1800000  #: of the kernel's registers: the linker chooses it
MEM_HBM, IP_KERNEL, AP_CTRL_NONE = 6, 1, 2
NUMBERS = {"EMBEDDED_METADATA": 2, "MEM_TOPOLOGY": 6, "CONNECTIVITY": 7, "IP_LAYOUT": 8}
UUID = bytes(range(16))


def kernel_of(folder):
    """Return the element of kernel.xml, the instance's name, and the banks of its ports."""
    kernel = ET.parse(folder / "kernel.xml").getroot().find("kernel")
    text = (folder / "connectivity.cfg").read_text()
    (instance,) = re.findall(rf"^nk={kernel.get('name')}:1:(\w+)$", text, re.M)
    return kernel, instance, dict(re.findall(rf"^sp={instance}\.(\w+):(\S+)$", text, re.M))


def sections_of(folder):
    """Return the sections that have JSON, by name."""
    kernel, instance, banks = kernel_of(folder)
    numbers = {arg.get("port"): arg.get("id") for arg in kernel.iterfind("args/arg")}
    memories = [
        {
            "m_type": "MEM_HBM",
            "m_used": str(int(f"HBM[{k}]" in banks.values())),
            "m_sizeKB": f"{1 << CHANNEL_BITS - 10:#x}",
            "m_tag": f"HBM[{k}]",
            "m_base_address": f"{k << CHANNEL_BITS:#x}",
        }
        for k in range(CHANNELS)
    ]
    kernels = {
        "m_type": "IP_KERNEL",
        "m_int_enable": str(int(kernel.get("interrupt") == "true")),
        "m_interrupt_id": "0",
        "m_ip_control": "AP_CTRL_NONE",
        "m_base_address": f"{BASE:#x}",
        "m_name": f"{kernel.get('name')}:{instance}",
    }
    tags = [memory["m_tag"] for memory in memories]
    connections = [
        {
            "arg_index": numbers[port],
            "m_ip_layout_index": "0",
            "mem_data_index": str(tags.index(bank)),
        }
        for port, bank in banks.items()
    ]
    return {
        "MEM_TOPOLOGY": counted("mem_topology", "m_mem_data", memories),
        "IP_LAYOUT": counted("ip_layout", "m_ip_data", [kernels]),
        "CONNECTIVITY": counted("connectivity", "m_connection", connections),
    }


def counted(name, of, items):
    return {name: {"m_count": str(len(items)), of: items}}


def metadata_of(folder):
    """Return the section EMBEDDED_METADATA: the kernel of kernel.xml, and where it is."""
    kernel, instance, _ = kernel_of(folder)
    project = ET.Element("project")
    core = ET.SubElement(ET.SubElement(ET.SubElement(project, "platform"), "device"), "core")
    described = ET.SubElement(core, "kernel", kernel.attrib)
    described.extend([*kernel.iterfind("ports/port"), *kernel.iterfind("args/arg")])
    place = {"base": f"{BASE:#x}", "range": "0x10000", "port": "s_axi_control"}
    ET.SubElement(ET.SubElement(described, "instance", name=instance), "addrRemap", place)
    return ET.tostring(project)


def packed(name, section):
    """Return a section as bytes."""
    ((body),) = section.values()
    count, items = (*body.values(),)
    if name == "MEM_TOPOLOGY":
        rows = [
            struct.pack(
                "<BB6xQQ16s",
                MEM_HBM,
                int(item["m_used"]),
                int(item["m_sizeKB"], 0),
                int(item["m_base_address"], 0),
                item["m_tag"].encode(),
            )
            for item in items
        ]
        return struct.pack("<i4x", int(count)) + b"".join(rows)
    if name == "IP_LAYOUT":
        (item,) = items
        properties = int(item["m_int_enable"]) | AP_CTRL_NONE << 8
        base, label = int(item["m_base_address"], 0), item["m_name"].encode()
        return struct.pack("<i4xIIQ64s", 1, IP_KERNEL, properties, base, label)
    rows = [struct.pack("<3i", *map(int, item.values())) for item in items]
    return struct.pack("<i", int(count)) + b"".join(rows)


def write_xclbin(folder, path):
    """Write the xclbin of the kernel in ``folder``."""
    parts = {name: packed(name, section) for name, section in sections_of(folder).items()}
    parts["EMBEDDED_METADATA"] = metadata_of(folder)
    at = 456 + 40 * len(parts)
    heads, bodies = b"", b""
    for name, part in parts.items():
        heads += struct.pack("<I16s4xQQ", NUMBERS[name], b"", at + len(bodies), len(part))
        bodies += part + bytes(-len(part) % 8)
    head = struct.pack("<8si28s256sQ", b"xclbin2", -1, b"\xff" * 28, b"", 0)
    length = len(head) + 152 + len(heads) + len(bodies)
    numbers = length, 0, 0, 0, 2, 13, 0, 0
    texts = b"", b"", UUID, b""
    head += struct.pack("<QQQHBBHH16s64s16s16sI4x", *numbers, *texts, len(parts))
    path.write_bytes(head + heads + bodies)
    return path
