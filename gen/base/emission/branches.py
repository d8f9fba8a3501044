"""Makes Verilog by Yosys in which every choice is a branch, with a name for each field.

Coverage of lines counts branches, and mutants are made of Yosys' cells; so both are measured on
this text. It is the same hardware as the one that users get (:mod:`gen.base.emission.verilog`):
both are made from one netlist, and their equivalence is proven module by module.

Yosys orders cells by names with a number that grows through all of a process, and aliases by where
it stored their names. Here a register's cell is named after its wire, and aliases are sorted.
"""

import re
from dataclasses import replace

from gen.base.emission.emit import Emission, EmittedModule
from gen.base.emission.names import add_name
from gen.base.emission.yosys import Yosys, apart

ATTRIBUTES = ("generator", "top", "src", "amaranth.hierarchy", "amaranth.decoding")
REMOVE = " ".join(f"-remove {name}" for name in ATTRIBUTES)
#: a pass of Yosys that names the cells of registers after the wires that they drive
NAME_REGISTERS = "rename -wire t:$dff t:$adff"

MODULE = re.compile(r"^module .*?^endmodule$", re.M | re.S)
ALIAS = "  assign "  #: how such a line begins; those at a module's end may stand in any order
INVENTED = re.compile(r"\\\$auto\$\S+")
READ = re.compile(r"^ +_(\d+)_ <= \\?([^\s\[]+) *\[", re.M)  #: a register that a memory fills
READ_REGISTER = re.compile(r"(?<![\w$\\])_(\d+)_(?!\w)")
PASSES = (
    "proc -nomux -norom",
    "memory_collect",
    "opt_clean -purge",
    f"attrmap {REMOVE}",
    f"attrmap -modattr {REMOVE}",
    NAME_REGISTERS,
)


def with_branches(emission: Emission) -> Emission:
    """Return the same design with a branch in the text of each module for every choice."""
    modules = [module for module in emission.modules.values() if module.rtlil]
    texts = apart(lambda: [translated(module) for module in modules])
    built = {
        module.name: replace(module, verilog=text)
        for module, text in zip(modules, texts, strict=True)
    }
    return Emission(emission.modules | built)


def translated(module: EmittedModule) -> str:
    """Return a module as Verilog."""
    yosys = Yosys()
    yosys.read(module.rtlil)
    yosys.run(*PASSES)
    # The first line names the compiler that Yosys was built with. Yosys selects a word by a shift,
    # whose upper bits are cut off; the text that users get says what it selects.
    text = stable(yosys.write().split("\n", 1)[1].lstrip())
    return f"/* verilator lint_off WIDTHTRUNC */\n{text}/* verilator lint_on WIDTHTRUNC */\n"


def stable(verilog: str) -> str:
    """Return Yosys's ``verilog`` with names and order that depend on each module alone."""
    return MODULE.sub(lambda module: stable_module(module[0]), verilog)


def stable_module(verilog: str) -> str:
    """Return one module with its made-up names renumbered, its reads named, its aliases sorted."""
    numbers: dict[str, int] = {}
    verilog = INVENTED.sub(
        lambda name: rf"\$auto${numbers.setdefault(name[0], len(numbers) + 1)}", verilog
    )
    taken: set[str] = set()
    reads = {number: add_name(taken, f"{memory}$read") for number, memory in READ.findall(verilog)}
    verilog = READ_REGISTER.sub(
        lambda name: rf"\{reads[name[1]]} " if name[1] in reads else name[0], verilog
    )
    *lines, end = verilog.splitlines(keepends=True)
    first = len(lines)
    while lines[first - 1].startswith(ALIAS):
        first -= 1
    return "".join((*lines[:first], *sorted(lines[first:]), end))
