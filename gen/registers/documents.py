"""Writes all files that describe a register map, for people and for programs."""

import json

from gen.output.heads import HTML_FOLDER
from gen.registers.header import c_header
from gen.registers.html import html
from gen.registers.python_driver import python_driver
from gen.registers.system_rdl import compiled, system_rdl
from hdl.common.registers import RegisterMap


def register_documents(map: RegisterMap) -> dict[str, str | bytes]:
    """Return the files of a register map by their paths; equal maps give equal bytes.

    They are ``registers.json``, ``NAME.rdl``, ``NAME.h``, ``NAME_driver.py`` and the pages of
    ``registers_html/``. UserError if the tools of register documentation are not installed.
    """
    tree = compiled(map)
    pages = html(map, tree)
    return {
        "registers.json": json.dumps(map.describe(), indent=2) + "\n",
        f"{map.name}.rdl": system_rdl(map),
        f"{map.name}.h": c_header(map, tree),
        f"{map.name}_driver.py": python_driver(map),
        **{f"{HTML_FOLDER}/{name}": text for name, text in pages.items()},
    }
