"""Declares the vendor's IP as black boxes, for tools that must know every module that is placed."""

import re
from collections.abc import Iterator
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


def instances_below(
    emission: Emission, name: str, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """Yield path and module of all instances below module ``name``, its own and the vendor's."""
    for kind, instance in re.findall(
        r"^  \\?(\w+) +\\?(\w+) +\($", emission.modules[name].verilog, re.M
    ):
        near = (*path, instance)
        yield "/".join(near), kind
        if kind in emission.modules:
            yield from instances_below(emission, kind, near)
