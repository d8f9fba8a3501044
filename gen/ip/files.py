"""Makes the files by which Vivado, FuseSoC and Amaranth take a generated design as a part."""

import json
from collections.abc import Collection
from pathlib import Path

from gen.base.emission.emit import Emission
from gen.base.heads import own_version
from gen.base.templates import render
from gen.ip.amaranth_wrapper import wrapper
from gen.ip.ipxact import component_xml
from hdl.common.registers import RegisterMap

HERE = Path(__file__).parent


def ip_files(
    emission: Emission, design: str, about: str, map: RegisterMap | None, files: Collection[str]
) -> dict[str, str]:
    """Return the files by name, for a folder that holds ``files``.

    ``component.xml`` is for Vivado's catalogue of IP, ``NAME.core`` for FuseSoC, and
    ``NAME_amaranth.py`` has a class for Amaranth designs. ``about`` says what ``design`` is.
    """
    name, top = design.replace("-", "_"), emission.top
    rtl = [f"rtl/{module}.v" for module in emission.modules]
    models = [file for file in files if file.startswith("bench/") and file.endswith((".v", ".sv"))]
    core = render(
        HERE,
        "core.j2",
        name=name,
        version=own_version(),
        about=json.dumps(about),
        top=top.name,
        rtl=rtl,
        models=models,
    )
    return {
        "component.xml": component_xml(top, rtl, about=about, map=map),
        f"{name}.core": core,
        f"{name}_amaranth.py": wrapper(top, name, about),
    }
