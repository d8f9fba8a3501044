"""Makes the programming guide of a design: a template filled from the hardware's definitions."""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from gen.base.comments import meanings
from hdl.common.core_clock import CORE_MHZ
from hdl.common.event_counters import CountersParams
from hdl.common.registers import Field, RegisterMap
from hdl.u280.registers import BASE, BoardRegistersParams, board_registers

HERE = Path(__file__).parent


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Return the template of that name, in Markdown, with ``values`` put in."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(values)


def as_html(guide: str) -> Markup:
    """Return a guide's text below its title as HTML."""
    body = guide.partition("\n")[2].replace("\n## ", "\n### ")  # below a section of the page
    html = MarkdownIt("commonmark").enable("table").render(body)
    wide = html.replace("<table>", '<div class="wide"><table>')  # scrolls on a narrow page
    return Markup(wide.replace("</table>", "</table></div>"))


def rows(map: RegisterMap, uses: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield where each field of ``uses`` is, and its use, in the order of addresses."""
    for address, register in map.placed:
        for offset, field in zip(register.offsets, register.fields, strict=True):
            if field.name in uses:
                yield {
                    "address": f"0x{address:03X}",
                    "register": register.name,
                    "field": field.name,
                    "bits": span(offset, offset + field.bits - 1),
                    "use": uses[field.name],
                }


def tables(
    map: RegisterMap, parts: Mapping[str, str], also: Mapping[str, str]
) -> dict[str, list[dict[str, str]]]:
    """Return tables of registers by name, with what the register map says that each field does.

    ``parts`` has the names of a table's registers, with blanks between, as many of them as there
    are; a number that has two registers has one name. ``also`` are texts that follow what the map
    says of a field. Registers that are in no table are left out.
    """
    result: dict[str, dict[str, str]] = {part: {} for part in parts}
    home = {name: part for part, names in parts.items() for name in names.split()}
    for register in map.registers:
        if part := home.get(re.sub("_(low|high)$", "", register.name)):
            result[part] |= {field.name: said(field, also) for field in register.fields}
    return {part: list(rows(map, uses)) for part, uses in result.items()}


def numbers(map: RegisterMap) -> dict[str, str]:
    """Return what a register map says of each field, and of each number that has two registers."""
    wide = {item.name.removesuffix("_low"): marked(item.doc) for item in map.registers}
    return wide | {field.name: said(field) for item in map.registers for field in item.fields}


def said(field: Field, also: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return what a register map says of a field, and ``also`` after a colon."""
    pulse = "write 1: " if field.access == "pulse" else ""
    more = f": {also[field.name]}" if field.name in also else ""
    return f"{pulse}{marked(field.doc)}{more}"


def marked(text: str) -> str:
    """Return a text of a register map with names marked as such, and a small first letter."""
    return re.sub(r"\b[a-z]+(_[a-z]+)+\b", r"`\g<0>`", text[:1].lower() + text[1:])


def resets(map: RegisterMap) -> str:
    """Return which settings are not 0 after a reset, and their values, in a line."""
    fields = (field for _, register in map.placed for field in register.fields)
    return ", ".join(f"`{field.name}` {field.init}" for field in fields if field.init)


def facts(map: RegisterMap, fixed: Mapping[str, int]) -> dict[str, Any]:
    """Return what every template names of a design with these registers and ``fixed`` fields."""
    return {
        "identity": f"0x{fixed['identity']:08X}",
        "version": fixed["version"],
        "resets": resets(map),
        "mhz": CORE_MHZ,
    }


def board_facts(names: str, **sizes: Any) -> dict[str, Any]:
    """Return what a template names of a board's registers, which ``sizes`` are parameters of.

    ``names`` are the fields that the guide has of them, with blanks between.
    """
    board = board_registers(BoardRegistersParams(**sizes))
    fields = (field for register in board.registers for field in register.fields)
    uses = {field.name: said(field) for field in fields if field.name in names.split()}
    return {"board": list(rows(board, uses)), "board_base": f"0x{BASE:X}"}


def counted(counters: CountersParams, uses: Mapping[str, Any]) -> list[tuple[int, str, str]]:
    """Return number, name and use of each of the counters; a use may have a width before it."""
    texts = {name: use if isinstance(use, str) else use[1] for name, use in uses.items()}
    return [(k, name, texts[name]) for k, (name, _) in enumerate(counters.counters)]


def reported(enum: type[Enum]) -> list[tuple[int, str, str]]:
    """Return number, name and meaning of each member of an enumeration that has a meaning."""
    return [(item.value, item.name, text) for item, text in meanings(enum).items()]


def span(first: int, last: int) -> str:
    """Return a range of bits as text, the highest first: one number where it is one bit."""
    return f"{last}:{first}" if last > first else f"{first}"


def byte_span(first: int, last: int) -> str:
    """Return a range of bytes as text: one number where it is one byte."""
    return f"{first} to {last}" if last > first else f"{first}"


def little_rows(layout: Any, uses: Mapping[str, str], start: int = 0) -> Iterator[dict[str, str]]:
    """Yield bytes, field and use of each field of a struct in whose bytes the lowest bit is bit 0.

    Its first byte is number ``start``. A field that does not begin or end with a byte has its bits
    named.
    """
    for name, field in layout:
        first = 8 * start + field.offset
        last = first + field.width - 1
        if first % 8 == 0 and last % 8 == 7:
            place = byte_span(first // 8, last // 8)
        elif first // 8 == last // 8:
            several = "s" if last > first else ""
            place = f"{first // 8}, bit{several} {span(first % 8, last % 8)}"
        elif last % 8 == 7:
            behind = byte_span(first // 8 + 1, last // 8)
            place = f"{first // 8}, bits 7:{first % 8}, and {behind}"
        else:
            place = f"{byte_span(first // 8, last // 8 - 1)}, and {last // 8}, bits {last % 8}:0"
        yield {"bytes": place, "field": name, "use": uses[name]}


def number_of(layout: Any, values: Mapping[str, Any]) -> int:
    """Return the number that a struct of ``layout`` is; fields that are left out are zero."""
    return layout.const(values).as_bits()


def spaced(octets: bytes) -> str:
    """Return bytes in hexadecimal, the first one first, with a space between each two."""
    return octets.hex(" ")


def lines(octets: bytes, each: int = 16) -> list[str]:
    """Return bytes in hexadecimal, this many to a line, each line with the number of its first."""
    return [f"{k:4}: {spaced(octets[k : k + each])}" for k in range(0, len(octets), each)]
