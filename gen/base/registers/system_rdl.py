"""Writes a register map as SystemRDL 2.0, from which other tools make what they need.

Register and field names are those of the map; a name that is a word of SystemRDL's is escaped.
A register of two words is one of 64 bits that is accessed 32 bits at a time, low word first.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gen.base.errors import UserError
from gen.base.registers.enums import enumeration_bits, enumerations
from gen.base.templates import render
from hdl.common.registers import WORD_BITS, Field, RegisterMap

if TYPE_CHECKING:
    from systemrdl.node import AddrmapNode

HERE = Path(__file__).parent
MEND = "pip install ingather"  #: brings the tools of register documentation

#: identifiers must be escaped to be one of these
RESERVED = """
abstract accesstype addressingtype addrmap alias all alternate bit boolean bothedge byte
compact component componentwidth constraint default encode enum external false field fullalign
hw inside int internal level longint mem na negedge nonsticky number onreadtype onwritetype
posedge precedencetype property r rclr real ref reg regalign regfile rset ruser rw rw1 shortint
shortreal signal signed string struct sw this true type unsigned w w1 wclr with within woclr
woset wot wr wset wuser wzc wzs wzt
"""
WORDS = frozenset(RESERVED.split())

PROPERTIES = {"rw": "sw = rw; hw = r;", "ro": "sw = r; hw = w;", "pulse": "sw = w; hw = r;"}


def system_rdl(map: RegisterMap) -> str:
    """Return the text of ``map``'s SystemRDL file: one address map of its name."""
    enums = [
        (name, enumeration_bits(map, name), enum.__members__)
        for name, enum in enumerations(map).items()
    ]
    return render(
        HERE,
        "system_rdl.j2",
        map=map,
        enums=enums,
        word_bits=WORD_BITS,
        identifier=identifier,
        quoted=quoted,
        zip=zip,
        properties=properties,
    )


def identifier(name: str) -> str:
    """Return ``name`` as an identifier of SystemRDL, escaped if it is one of its words."""
    return f"\\{name}" if name in WORDS else name


def quoted(text: str) -> str:
    """Return ``text`` as a string of SystemRDL."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def properties(field: Field) -> str:
    """Return the properties that tell who reads and who writes ``field``."""
    text = PROPERTIES[field.access]
    # Only a single bit can be a singlepulse; a wider command is write-only all the same.
    return f"{text} singlepulse;" if field.access == "pulse" and field.bits == 1 else text


def compiled(map: RegisterMap) -> "AddrmapNode":
    """Compile ``map`` by systemrdl-compiler; raise UserError if that is not installed."""
    compiler = board_tool("systemrdl").RDLCompiler()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{map.name}.rdl")
        path.write_text(system_rdl(map))
        compiler.compile_file(str(path))
        return compiler.elaborate().top


def board_tool(name: str) -> Any:
    """Import a module of the extra ``board``; raise UserError if it is not installed."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise UserError(f"register documentation needs {name}: {MEND}") from error
