"""Makes the programming guide of a design: a template filled from the hardware's definitions."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from hdl.common.core_clock import CORE_MHZ
from hdl.common.event_counters import CountersParams
from hdl.common.registers import RegisterMap
from hdl.u280.registers import BASE, BoardRegistersParams, board_registers

HERE = Path(__file__).parent
LOW, HIGH = "bits 0 to 31", "bits 32 to 63"


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


def halves(name: str, what: str) -> dict[str, str]:
    """Return the uses of the two registers of a number of more than 32 bits."""
    return {f"{name}_low": f"{LOW} of {what}", f"{name}_high": f"{HIGH} of it"}


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


def board_facts(uses: Mapping[str, str], **sizes: Any) -> dict[str, Any]:
    """Return what a template names of a board's registers, which ``sizes`` are parameters of."""
    board = board_registers(BoardRegistersParams(**sizes))
    return {"board": list(rows(board, uses)), "board_base": f"0x{BASE:X}"}


def counted(counters: CountersParams, uses: Mapping[str, str]) -> list[tuple[int, str, str]]:
    """Return number, name and use of each of the counters."""
    return [(k, name, uses[name]) for k, (name, _) in enumerate(counters.counters)]


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
