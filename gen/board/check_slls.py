"""Checks wires between SLRs: each side of the edge needs a register that Vivado can place there.

What UG912 asks of a register with ``USER_SLL_REG``: it is a plain one, connected to another such
register and to nothing else on that side; exactly one of the wires at its D and Q passes the edge.
Otherwise Vivado ignores the property without a word.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from gen.board.check_constraints import Constraint, properties_of
from gen.board.hierarchy import Hierarchy
from gen.floorplan.netlist import Bit, netlists
from hdl.common.placed_delay import KEPT_APART

#: names a register: path of the instance that it is in, its signal, the bit
Register = tuple[str, str, int]


def check_slls(
    constraints: Sequence[Constraint], hierarchy: Hierarchy, rtl: Path, ways: Sequence[str]
) -> Iterator[str]:
    """Check against ``rtl`` the registers marked for an SLR's edge, and those held on both its
    sides.

    Each of ``ways``, paths of instances, runs between SLRs wherever there are pblocks.
    """
    blocks = slrs_of_blocks(constraints)
    yield from (
        f"pblock {name} is soft: registers at its edge may leave it"
        for name in blocks
        if not is_hard(constraints, name)
    )
    held: dict[Register, int] = {}
    marked: set[Register] = set()
    for constraint in constraints:
        command = constraint.command
        if command.name == "add_cells_to_pblock":
            for block in constraint.names("get_pblocks"):
                result = registers(constraint, hierarchy)
                held |= dict.fromkeys(result, blocks.get(block, -1))
        elif properties_of(command).get("USER_SLL_REG") == "TRUE":
            marked |= registers(constraint, hierarchy)
    with_marks = {path for path, *_ in marked}
    yield from (
        f"the way at {path} has no register that is marked USER_SLL_REG"
        for path in ways
        if blocks and path not in with_marks
    )
    plain = cache(lambda module: PlainRegisters(rtl / f"{module}.v"))
    modules: dict[str, str] = {}
    for path in {path for path, *_ in (*held, *marked)}:
        ((_, module),) = hierarchy.cells(path)
        modules[path] = str(module)
    wrong = {
        (path, signal, problem)
        for path, signal, bit in held.keys() | marked
        if (problem := judge((path, signal, bit), plain(modules[path]), held, marked))
    }
    yield from (f"register {path}/{signal} {problem}" for path, signal, problem in sorted(wrong))


def judge(
    register: Register,
    plain: "PlainRegisters",
    held: dict[Register, int],
    marked: set[Register],
) -> str:
    """Return what is wrong with a register that is held or marked; nothing if all is right."""
    path, signal, index = register
    near = held.get(register)
    before, after = (
        (path, *n) if (n := route(signal, index)) else None for route in (plain.before, plain.after)
    )
    edges = sum(near is not None and held.get(n, near) != near for n in (before, after) if n)
    if register not in marked:
        return "passes an edge and is not marked USER_SLL_REG" if edges else ""
    if near is None:
        return "is marked USER_SLL_REG, but in no pblock"
    if edges != 1:
        return f"is marked USER_SLL_REG, but {edges} of its wires pass an edge"
    other = next(n for n in (before, after) if n and held.get(n, near) != near)
    if abs(held[other] - near) != 1:
        return "passes two edges at once"
    return plain.lacks(signal, index)


def slrs_of_blocks(constraints: Sequence[Constraint]) -> dict[str, int]:
    """Map each pblock to the number of the SLR that it covers."""
    result: dict[str, int] = {}
    for constraint in constraints:
        slr = constraint.command.option("-add") or ""
        if constraint.command.name == "resize_pblock" and slr.startswith("SLR"):
            result |= {name: int(slr[3:]) for name in constraint.names("get_pblocks")}
    return result


def is_hard(constraints: Sequence[Constraint], block: str) -> bool:
    """Return whether a pblock keeps its cells inside; Vivado's are soft by default (UG912)."""
    return any(
        properties_of(c.command).get("IS_SOFT") == "FALSE" and block in c.names("get_pblocks")
        for c in constraints
    )


def registers(constraint: Constraint, hierarchy: Hierarchy) -> set[Register]:
    """Return the flip-flops that a constraint names one by one."""
    result: set[Register] = set()
    for name in constraint.names("get_cells"):
        for cell, module in hierarchy.cells(name):
            if module is None:
                path, _, flop = cell.rpartition("/")
                signal, _, bit = flop.rstrip("]").partition("[")
                result.add((path, signal.removesuffix("_reg"), int(bit or 0)))
    return result


class PlainRegisters:
    """Reads the registers of a module's Verilog, as Yosys sees them."""

    def __init__(self, path: Path) -> None:
        netlist = netlists(path.read_text(), "verilog")[path.stem]
        self.nets = netlist.nets
        self.attributes = {
            name: net["attributes"] for name, net in netlist.described["netnames"].items()
        }
        self.names: dict[Bit, tuple[str, int]] = {}
        # A wire may have several names: that of the register has attributes.
        for name, bits in sorted(self.nets.items(), key=lambda net: len(self.attributes[net[0]])):
            self.names |= {bit: (name, k) for k, bit in enumerate(bits)}
        self.inputs: dict[Bit, tuple[str, Bit]] = {}  #: for each bit Q: the cell's type, and D
        self.loads: dict[
            Bit, list[Bit | None]
        ] = {}  #: for each wire: Q of each register whose D it is; None for other loads
        for cell in netlist.cells:
            data, out = cell.wires.get("D", ()), cell.wires.get("Q", ())
            if cell.type.startswith("$") and "dff" in cell.type:
                self.inputs |= {q: (cell.type, d) for d, q in zip(data, out, strict=True)}
            for port, bits in cell.wires.items():
                if cell.directions.get(port) != "output":
                    for k, bit in enumerate(bits):
                        self.loads.setdefault(bit, []).append(
                            out[k] if port == "D" and out else None
                        )

    def bit(self, signal: str, index: int) -> Bit | None:
        """Return the net of one bit of ``signal``, None if there is no such signal."""
        bits = self.nets.get(signal, ())
        return bits[index] if index < len(bits) else None

    def before(self, signal: str, index: int) -> tuple[str, int] | None:
        """Return the register whose output is this one's input, without logic between."""
        _, source = self.inputs.get(self.bit(signal, index) or "", ("", ""))
        return self.names.get(source) if source in self.inputs else None

    def after(self, signal: str, index: int) -> tuple[str, int] | None:
        """Return the only register that takes this one's output, without logic between."""
        loads = self.loads.get(self.bit(signal, index) or "", [])
        return self.names.get(loads[0]) if len(loads) == 1 and loads[0] is not None else None

    def lacks(self, signal: str, index: int) -> str:
        """Return why a register cannot lie at an SLR's edge; empty if it can."""
        kind, _ = self.inputs.get(self.bit(signal, index) or "", ("none", ""))
        if kind != "$dff":
            return f"is marked USER_SLL_REG, but is no plain register ({kind})"
        missing = KEPT_APART.items() - self.attributes[signal].items()
        if missing:
            return f"is marked USER_SLL_REG, but has no {' '.join(sorted(missing)[0])}"
        return ""
