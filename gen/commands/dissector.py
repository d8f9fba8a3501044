"""Implements ``ingather dissector``, which lets Wireshark show frames by their fields."""

from pathlib import Path
from typing import Annotated

import typer

from gen.output.consoles import Console
from gen.output.folder import check_file, write_file


def dissector(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Write the Lua into this file.")
    ],
) -> None:
    """Write a dissector of all frames for Wireshark, in Lua, made from their declarations.

    Wireshark loads it from the folder of personal Lua plugins, tshark also by -X lua_script:FILE.
    """
    from gen.commands.dissector_rows import dissector as text

    check_file(output)
    write_file(output, text())
    Console().print(f"wrote {output}; tshark -X lua_script:{output} -r CAPTURE")
