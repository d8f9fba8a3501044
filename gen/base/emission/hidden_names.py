"""Refuses parts that are called as a signal inside them is: linters do, as it hides the part."""

import re
from collections.abc import Iterable

DECLARATION = r"^[ \t]*(?:(?:input|output) )?(?:wire|reg)\b[^;,=]*?\b"


def refuse_hidden(verilog: str, parts: Iterable[tuple[str, str]]) -> None:
    """Raise ValueError if a part has a name in ``verilog`` that a signal of its own has, too.

    ``parts`` are the modules that are placed there, each with its own Verilog.
    """
    for part, text in parts:
        placed = re.findall(rf"^[ \t]*{re.escape(part)}\s+(\w+)\s*\(", verilog, re.M)
        names = "|".join(placed) or r"\Z"
        if hidden := re.search(rf"{DECLARATION}({names})\b", text, re.M):
            name = hidden[1]
            raise ValueError(
                f"a part is called {name}, and {part} has a signal {name} itself, which hides it"
                " (Verilator: VARHIDDEN); give one of them another name"
            )
