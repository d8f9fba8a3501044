"""Lists all that emission takes from Amaranth's private modules, in one place.

Amaranth promises nothing of them from one version to the next. Its version is therefore pinned
exactly, and :func:`changed` compares what is relied on with what it was when this was written:
before another version is pinned, each thing that it names must be read again.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from importlib import import_module
from typing import Any

from amaranth import tracer
from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]
from amaranth.hdl import Fragment, _ir, _nir
from amaranth.hdl._ast import (
    Assign,
    Concat,
    Operator,
    Part,
    Property,
    SignalDict,
    Slice,
    Statement,
    Switch,
    SwitchValue,
    SyntaxWarning,
    _MappedKeyDict,
)
from amaranth.hdl._ir import Design, PortDirection, build_netlist
from amaranth.hdl._nir import FlipFlop, ModuleNetFlow, Net, Netlist, Value
from amaranth.hdl._xfrm import DomainLowerer

MappedKeys = _MappedKeyDict
nir: Any = _nir  #: cells of netlists; it has no types

VERSION = "0.5.10"  #: version of Amaranth, that the digests below are of

__all__ = [
    "VERSION",
    "Assign",
    "Concat",
    "Design",
    "DomainLowerer",
    "FlipFlop",
    "Fragment",
    "MappedKeys",
    "ModuleNetFlow",
    "Net",
    "Netlist",
    "Operator",
    "Part",
    "PortDirection",
    "Property",
    "SignalDict",
    "Slice",
    "Statement",
    "Switch",
    "SwitchValue",
    "SyntaxWarning",
    "Value",
    "_ir",
    "build_netlist",
    "changed",
    "nir",
    "reliances",
    "rtlil",
    "tracer",
]

#: what is relied on, a digest of its source, and what emission does with it
TABLE = """\
hdl._ast:Operator 0de5c7831701 narrowing reads operator and operands
hdl._ast:Slice b0be8b95dfc2 narrowing reads value, start and stop
hdl._ast:Part dcf1a86d5735 narrowing reads value, offset, width and stride
hdl._ast:Concat e1d8aa507276 narrowing reads parts
hdl._ast:SwitchValue 17da5b2574a1 narrowing reads test and cases
hdl._ast:Const.__init__ ca33abd35396 narrowing replaces it, to find values that are cut
hdl._ast:Assign d42c704f6829 narrowing reads lhs and rhs, names the signals of lhs
hdl._ast:Switch dc82b0b1319e narrowing reads cases, names the signals assigned inside
hdl._ast:Property 38a1b9b74873 narrowing reads test
hdl._ast:_MappedKeyDict bde79ac7012d whether it has a key is looked up without an exception
hdl._ast:SignalKey 73dd57b46cd7 names are given in the order of signals' duid
hdl._ir:Fragment.__init__ b5ab96e0dd1e statements and subfragments are read
hdl._ir:Fragment._create_missing_domains e6f4375039ce its domains are sorted by name
hdl._ir:DesignFragmentInfo bbc06d4120ef signal_names and assigned_names are filled
hdl._ir:Design._assign_names 3dd0308f60d8 signals are named before it names the rest
hdl._ir:_add_name dfd5a471d873 replaced: numbers count what shares a name
hdl._ir:build_netlist b480efbce09d called with a fragment, its ports and a name
hdl._nir:Value.__new__ d07798c2470e replaced: nets are not asserted to be nets
hdl._nir:Net df6f77d2aef1 a net is the number that it is
hdl._nir:Value.from_const bc9417dc4cc3 replaced: bits are not asserted to be nets
hdl._nir:Netlist.add_value_cell 9edcebe036a9 replaced: nets of a cell are numbers in a row
hdl._nir:Netlist.alloc_late_value 2768131a0e44 replaced: late nets are numbers in a row
hdl._nir:Netlist.resolve_value a78884eb2daa replaced: most values have nothing to resolve
hdl._nir:Netlist.check_comb_cycles 3896dd1aabb3 replaced: Verilator's lint does that
hdl._nir:FlipFlop.__init__ 56cb39e2cc32 cells of that class are registers, written as processes
hdl._nir:Operator 961879115261 the writer of Verilog reads operator and inputs
hdl._nir:Part 4df5f3a7406b the writer of Verilog reads value, offset, width and stride
hdl._nir:Matches 35e7f00aa72c the writer of Verilog reads value and patterns
hdl._nir:PriorityMatch 9dc911a1caa3 the writer of Verilog reads en and inputs
hdl._nir:Assignment 8e0f2e910903 the writer of Verilog reads cond, start and value
hdl._nir:AssignmentList df91e6f8ac30 the writer of Verilog reads default and assignments
hdl._nir:Memory 2f83bc6d0f10 the writer of Verilog declares it
hdl._nir:SyncWritePort 7df0de150bfa the writer of Verilog writes it as a process
hdl._nir:AsyncReadPort dcae67c19c12 the writer of Verilog reads memory and address
hdl._nir:SyncReadPort 6461860c18e7 the writer of Verilog writes it as a process
hdl._nir:AsyncProperty 5c24387b5c5a the writer of Verilog writes it as an assertion
hdl._nir:SyncProperty 0271d070bb02 the writer of Verilog writes it as an assertion
hdl._nir:Instance 0ce839a256c0 the writer of Verilog places it
hdl._nir:SignalField ce660b62e259 the writer of Verilog names fields
hdl._nir:Module 5c0ff638dad8 the writer of Verilog reads signal_names, ports and cells
hdl._xfrm:ValueVisitor.on_value 108a0d6eb8a5 replaced: what it returned is returned again
hdl._xfrm:DomainLowerer 02b5931fef2f on_value depends on nothing else but domains
tracer:get_var_name 1fcc41f31bf2 replaced: calls in tuples have their variables' names
back.rtlil:Design 3314f506cf91 made here, module by module
back.rtlil:EmptyModuleChecker f9b5e2dc7e29 empty modules are left out
back.rtlil:ModuleEmitter.__init__ a3f6675873ab made here; its tables of wires are filled
back.rtlil:ModuleEmitter.emit 4a033bc3b7a0 the order of its steps
back.rtlil:ModuleEmitter.emit_cell_wires 647cc163fcbb parts of registers are named first
back.rtlil:ModuleEmitter.emit_driven_wire 42a6514a6a51 takes a wire that is there
back.rtlil:ModuleEmitter.emit_memory 181b0bb8f5d5 contents that are zero are left out
back.rtlil:ModuleEmitter.sigspec bf378027a97b replaced: a net is the number that it is
back.rtlil:convert_fragment 93b0e787a7c6 written out again in lean_rtlil.to_rtlil
"""


@dataclass(frozen=True)
class Reliance:
    """Describes something private of Amaranth, as it was in :data:`VERSION`."""

    module: str
    name: str  #: name inside the module, ``Class.method``
    digest: str
    purpose: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name} (here: {self.purpose})"

    def find(self) -> Any:
        """Return the class or function; raise ImportError or AttributeError if it is gone."""
        return reduce(getattr, self.name.split("."), import_module(self.module))


def reliances() -> Iterator[Reliance]:
    """Yield everything of Amaranth's private modules that emission relies on."""
    for line in TABLE.splitlines():
        path, digest, purpose = line.split(" ", 2)
        module, _, name = path.partition(":")
        yield Reliance(f"amaranth.{module}", name, digest, purpose)


def changed() -> Iterator[str]:
    """Yield a line for each thing that is gone or that differs from :data:`VERSION`."""
    for reliance in reliances():
        try:
            digest = digest_of_source(reliance.find())
        except (ImportError, AttributeError):
            yield f"is gone: {reliance}"
            continue
        if digest != reliance.digest:
            yield f"reads otherwise than in Amaranth {VERSION}: {reliance}"


def digest_of_source(thing: Any) -> str:
    """Return a short hash of the text of a class or a function."""
    return sha256(inspect.getsource(thing).encode()).hexdigest()[:12]
