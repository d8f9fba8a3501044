"""Writes all files that describe a register map, for people and for programs."""

import json
from collections.abc import Callable
from typing import Any

from gen.base.heads import HTML_FOLDER, version_of
from gen.base.registers.header import c_header
from gen.base.registers.html import html
from gen.base.registers.python_driver import python_driver
from gen.base.registers.system_rdl import compiled, system_rdl
from hdl.common.registers import RegisterMap

TOOLS = ("systemrdl-compiler", "peakrdl-html", "peakrdl-cheader", "jinja2", "markdown")


def register_documents(
    map: RegisterMap, stored: Callable[..., Any] | None = None
) -> dict[str, str | bytes]:
    """Return the files of a register map by their paths; equal maps give equal bytes.

    They are ``registers.json``, ``NAME.rdl``, ``NAME.h``, ``NAME_driver.py`` and the pages of
    ``registers_html/``. ``stored`` (sim.reproduce.outcomes) keeps what tools make, most of the
    work. UserError if the tools of register documentation are not installed.
    """
    parts = (system_rdl(map), *(version_of(tool) for tool in TOOLS))
    return {
        "registers.json": json.dumps(map.describe(), indent=2) + "\n",
        f"{map.name}.rdl": parts[0],
        f"{map.name}_driver.py": python_driver(map),
        **(stored(by_tools, map, *parts) if stored else by_tools(map)),
    }


def by_tools(map: RegisterMap) -> dict[str, str | bytes]:
    """Return the C header and the pages, which tools make of the SystemRDL of ``map``."""
    tree = compiled(map)
    pages = {f"{HTML_FOLDER}/{name}": text for name, text in html(map, tree).items()}
    return {f"{map.name}.h": c_header(map, tree), **pages}
