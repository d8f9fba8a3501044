"""Writes RTLIL as Amaranth does, but leaves out what nobody needs in the Verilog.

Amaranth initialises every memory. For a RAM that costs seconds and megabytes (a bit at a time),
and UltraRAM cannot be initialised at all; a ROM keeps its contents. It also gives every element
of an array a wire of its own beside the array; the fields of structs keep theirs.

Its search for combinational loops takes most of an emission and ends at the borders of a module.
Verilator's lint (UNOPTFLAT) finds such loops in the whole design and replaces that search.

It rewrites every expression at each of its uses, so that what is used twice is written twice, with
all that it is made of. Here an expression is written once.
"""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from gen.base.emission.amaranth_internals import (
    DomainLowerer,
    Fragment,
    Netlist,
    SignalDict,
    _ir,
    build_netlist,
    rtlil,  # pyright: ignore[reportAttributeAccessIssue]
)
from gen.base.emission.names import PartNames, add_name, assign_names
from gen.base.errors import UserError

MOST_INPUT_BITS = (1 << 16) - 2  #: of a module; the first two places are those of constants


class LeanModuleEmitter(rtlil.ModuleEmitter):
    """Emits a module as Amaranth does, but names registers and leaves memories empty."""

    def emit_cell_wires(self) -> None:
        """Name the parts of registers; a signal's own wire has the signal's name."""
        parts = PartNames(self.netlist, self.module)
        for value in self.value_attrs:
            if value not in self.value_names and (name := parts.find(value)):
                self.value_names[value] = name
                wire = self.builder.wire(len(value), name=name, attrs=self.value_attrs[value])
                self.sigport_wires[name] = (wire, value)
        super().emit_cell_wires()

    def emit_memory(self, cell_idx: Any, cell: Any) -> None:
        """Emit the contents of a memory unless they are all zero."""
        if any(cell.init):
            super().emit_memory(cell_idx, cell)


def sorted_domains(
    fragment: Any,
    *arguments: Any,
    create: Callable[..., Any] = Fragment._create_missing_domains,  # pyright: ignore[reportAttributeAccessIssue]
    **options: Any,
) -> Any:
    """Return clock domains sorted by name; Amaranth's order depends on their hashes."""
    return sorted(create(fragment, *arguments, **options), key=lambda domain: domain.name)


def lowered(lowerer: Any, value: Any, lower: Callable[..., Any] = DomainLowerer.on_value) -> Any:
    """Return ``value`` with its clock domains resolved: the same object whenever it is met.

    The netlist knows a value by its identity.
    """
    known = lowerer.__dict__.setdefault("known", {})
    key = id(value), id(lowerer.domains)
    if key not in known:
        # Both objects are held, so that no other object gets their identities.
        known[key] = lower(lowerer, value), value, lowerer.domains
    return known[key][0]


def netlist_of(fragment: Fragment, ports: dict[str, Any], name: str) -> Any:
    """Return the netlist of one module, with names that depend on its source alone.

    UserError for more bits of inputs than Amaranth tells apart: a bit has 16 bits of place.
    """
    with (
        patch.object(Netlist, "check_comb_cycles", lambda netlist: None),
        patch.object(DomainLowerer, "on_value", lowered),
        patch.object(Fragment, "_create_missing_domains", sorted_domains),
        patch.object(_ir.Design, "_assign_names", assign_names),
        patch.object(_ir, "_add_name", add_name),
    ):
        netlist = build_netlist(fragment, ports=ports, name=name)
    if (bits := sum(width for _, width in netlist.top.ports_i.values())) > MOST_INPUT_BITS:
        raise UserError(
            f"{name} has {bits:,} bits of inputs, a module at most {MOST_INPUT_BITS:,}: make it"
            " smaller, or let a simulated cluster be cut into parts (--processes 2)"
        )
    return netlist


def to_rtlil(netlist: Any) -> str:
    """Return the RTLIL of one module, as ``amaranth.back.rtlil.convert_fragment`` makes it."""
    for fields in netlist.signal_fields.values():
        for path in [path for path in fields if any(isinstance(step, int) for step in path)]:
            del fields[path]
    empty = rtlil.EmptyModuleChecker(netlist)
    builder = rtlil.Design(emit_src=False)
    for index, module in enumerate(netlist.modules):
        if empty.is_empty(index):
            continue
        text = builder.module(".".join(module.name), src_loc=module.src_loc)
        names = SignalDict()
        LeanModuleEmitter(text, netlist, module, names, empty_checker=empty).emit()
    return str(builder)
