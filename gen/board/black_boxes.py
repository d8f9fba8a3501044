"""Declares the vendor's IP as black boxes, for tools that must know every module that is placed."""

from dataclasses import replace
from typing import Any

from gen.base.emission.emit import Emission
from gen.synth.mapping import black_box


def with_boxes(emission: Emission) -> Emission:
    """Return ``emission`` with the vendor's IP as black boxes in the RTLIL of modules that place
    it.

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
