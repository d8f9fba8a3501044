"""The vendor's IP for tools that want to know every module that is placed."""

from dataclasses import replace
from typing import Any

from gen.emit import Emission
from hdl.u280.vendor import VendorIp


def with_boxes(emission: Emission) -> Emission:
    """``emission`` with the vendor's IP as black boxes in the RTLIL of modules that place it.

    The Verilog stays: what reads that finds the IP's own files.
    """
    top: Any = emission.top.component
    boxes = {f"cell \\{ip.name} ": black_box(ip) for ip in getattr(top, "vendor_ips", ())}
    return Emission(
        {
            name: replace(
                module,
                rtlil="".join(box for cell, box in boxes.items() if cell in module.rtlil)
                + module.rtlil,
            )
            for name, module in emission.modules.items()
        }
    )


def black_box(ip: VendorIp) -> str:
    """RTLIL of an IP: its ports, and nothing inside."""
    lines = ["attribute \\blackbox 1", f"module \\{ip.name}"]
    for index, port in enumerate(ip.ports, 1):
        lines.append(f"  wire width {port.bits} {port.direction} {index} \\{port.name}")
    return "\n".join([*lines, "end", ""])
