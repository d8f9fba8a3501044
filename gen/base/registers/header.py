"""Writes a register map as a C header: a structure of the map, masks of fields, values of enums.

``NAME_t`` lies over the registers; ``NAME__REGISTER__FIELD_bm``, ``_bp``, ``_bw`` and ``_reset``
are a field's mask, lowest bit, width and value after reset, ``NAME__REGISTER_address`` is a byte
address. What the map says of a register or a field stands above its definitions. The bus is 32 bits
wide: a register of two words is to be read as two, the low one first.
"""

import re
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from gen.base.registers.enums import enumerations
from gen.base.registers.system_rdl import board_tool, compiled
from gen.base.templates import render
from hdl.common.registers import RegisterMap

HERE = Path(__file__).parent

if TYPE_CHECKING:
    from systemrdl.node import AddrmapNode

ENDS = "\n#ifdef __cplusplus\n}\n#endif\n"  #: what ends the declarations
#: lines that begin a register's definitions, by its name, and a field's, by the name of its mask
BEGINS = re.compile(r"^// reg - \w+\.(\w+)$|^#define (\w+_bm) .*$", re.MULTILINE)
SIZE_CHECK = re.compile(r"^(static_assert\(sizeof\((\w+)\) == (\w+), .*\);)$", re.MULTILINE)
#: the same check of a size, which C99 has no word for
CHECKED = r"""#if defined(__cplusplus) || __STDC_VERSION__ >= 201112L
\1
#else
typedef char \2_has_its_size[sizeof(\2) == \3 ? 1 : -1];
#endif"""


def c_header(map: RegisterMap, tree: "AddrmapNode | None" = None) -> str:
    """Return the text of ``NAME.h``, for C from C99 and for C++; ``tree`` is ``map`` compiled.

    UserError if the tools of register documentation are not installed.
    """
    exporter = board_tool("peakrdl_cheader.exporter").CHeaderExporter()
    standards = board_tool("peakrdl_cheader.c_standards").CStandard
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{map.name}.h")
        exporter.export(tree or compiled(map), str(path), std=standards.gnu11, reuse_typedefs=False)
        text = path.read_text()
    declarations, end, rest = text.rpartition(ENDS)
    assert end, "the exporter's header ends differently"
    declarations = SIZE_CHECK.sub(CHECKED, explained(declarations, map))
    return declarations + addresses(map) + end + rest


def explained(declarations: str, map: RegisterMap) -> str:
    """Return the declarations with what ``map`` says of each register and field above it."""
    docs = {register.name: register.doc for register in map.registers}
    for register in map.registers:
        for field in register.fields:
            mask = f"{map.name}__{register.name}__{field.name}".upper()
            docs[f"{mask}_bm"] = field.doc

    def explain(result: re.Match[str]) -> str:
        if result[1]:
            return f"{result[0]}\n{comment(docs[result[1]])}"
        return f"{comment(docs[result[2]])}\n{result[0]}"

    return BEGINS.sub(explain, declarations)


def comment(text: str) -> str:
    """Return a text as lines of a comment in C."""
    return textwrap.fill(text, 100, initial_indent="// ", subsequent_indent="// ")


def addresses(map: RegisterMap) -> str:
    """Return the lines for the byte addresses of registers and the values of enumerations."""
    return render(
        HERE,
        "header.j2",
        prefix=map.name.upper(),
        map=map,
        enums={
            (enum_name(map, name), c_name(name)): enum.__members__
            for name, enum in enumerations(map).items()
        },
    )


def enum_name(map: RegisterMap, name: str) -> str:
    """Name an enumeration: ``Cause`` of map ``p4sgd_worker`` gives ``enum p4sgd_worker_cause``."""
    return f"{map.name}_{c_name(name).lower()}"


def c_name(name: str) -> str:
    """Return a name as C constants have it: ``UnitCounter`` gives ``UNIT_COUNTER``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
