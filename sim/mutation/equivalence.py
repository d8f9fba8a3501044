"""Proves that a mutant changes nothing, whatever surrounds its module.

The first attempt cuts out every register, memory and child: if all their inputs, and the module's
outputs, are the same functions of the module's inputs and of their outputs, both modules are equal.
The second attempt is induction over time with the registers in place, since some states are never
reached.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from gen.base.emission.yosys import Yosys, apart, native_yosys
from sim.mutation.mutants import BITS, CONTROL, Mutant

SECONDS = 2  #: time for one proof
STEPS = 4  #: most steps of the induction
MAX_REGISTER_BITS = 200  #: most bits of registers of a module that induction is tried on
PROVEN = "SAT proof finished - no model found: SUCCESS"
INDUCED = "Induction step proven: SUCCESS"


def changes_nothing(rtlil: str, mutant: Mutant) -> str:
    """Return how it is proven that ``mutant`` changes nothing at all; empty if it is not.

    ``rtlil`` is the module with its mutants. The proof is "combinational" or "induction".
    """
    return apart(proof, rtlil, mutant)


def proof(rtlil: str, mutant: Mutant) -> str:
    """Return what :func:`changes_nothing` returns."""
    name, number = mutant.module, mutant.number
    if PROVEN in compare(rtlil, name, number, is_state, f"-timeout {SECONDS}"):
        return "combinational"
    if inductive(rtlil, name):
        options = f"-tempinduct -seq 1 -maxsteps {STEPS} -timeout {SECONDS}"
        for shown in (is_register, partial(is_other, mutant)):
            if INDUCED in compare(rtlil, name, number, is_box, options, shown):
                return "induction"
    return ""


def compare(
    rtlil: str,
    name: str,
    number: int,
    cut: Callable[[Any], bool],
    options: str,
    shown: Callable[[Any], bool] = lambda cell: False,
) -> str:
    """Return what Yosys's ``sat`` says of the whole module against its mutant.

    ``cut`` cells are out. What is in ``shown`` cells has to be the same, too: a stronger claim,
    which is easier to prove by induction.
    """
    yosys = Yosys()
    yosys.read(rtlil)
    cut_out(yosys.design.module(yosys.native.IdString(f"\\{name}")), cut, shown)
    for copy, value in (("whole", 0), ("mutant", number)):
        yosys.run(
            f"copy {name} {copy}",
            f"delete -input {copy}/{CONTROL}",
            f"cd {copy}",
            f"connect -set {CONTROL} {BITS}'d{value}",
            "cd",
        )
    yosys.run("setundef -zero", "pmuxtree", "miter -equiv -flatten whole mutant miter")
    yosys.run("hierarchy -top miter", "opt -full -fast")
    return yosys.run(f"sat -prove trigger 0 {options} miter")


def cut_out(module: Any, cut: Callable[[Any], bool], shown: Callable[[Any], bool]) -> None:
    """Make outputs of what goes into the cells that ``cut`` takes, and inputs of what comes out.

    What comes out of ``shown`` cells becomes an output, and they stay.
    """
    ys = native_yosys()
    for cell in list(module.cells_.values()):
        if not cut(cell) and not shown(cell):
            continue
        for port, signal in dict(cell.connections_).items():
            out = cell.output(port)
            if not signal.size() or (not cut(cell) and not out):
                continue
            label = f"\\{cell.name.str()[1:]}.{port.str()[1:]}"
            wire = module.addWire(ys.IdString(label), signal.size())
            if cut(cell) and out:
                wire.port_input = True
                module.connect(signal, ys.SigSpec(wire))
            else:
                wire.port_output = True
                module.connect(ys.SigSpec(wire), signal)
        if cut(cell):
            module.remove(cell)
    module.fixup_ports()


def is_register(cell: Any) -> bool:
    """Return whether a cell is a register."""
    return bool(cell.is_builtin_ff())


def is_other(mutant: Mutant, cell: Any) -> bool:
    """Return whether a cell is a register that the mutant neither is nor drives."""
    if not is_register(cell) or cell.name.str().removeprefix("\\") == mutant.cell:
        return False
    signal = cell.getPort(native_yosys().IdString("\\Q"))
    return not signal.is_wire() or signal.as_wire().name.str() != f"\\{mutant.drives}"


def is_state(cell: Any) -> bool:
    """Return whether a cell is a register, a memory or a module."""
    return is_register(cell) or is_box(cell)


def is_box(cell: Any) -> bool:
    """Return whether a cell is a memory or a module."""
    kind = cell.type.str()
    return not kind.startswith("$") or kind.startswith("$mem")


def inductive(rtlil: str, name: str) -> bool:
    """Return whether the module is small, and has one clock and no asynchronous resets."""
    yosys = Yosys()
    yosys.read(rtlil)
    ys, design = yosys.native, yosys.design
    cells = design.module(ys.IdString(f"\\{name}")).cells_.values()
    registers = [cell for cell in cells if is_register(cell)]
    clocks = {
        cell.getPort(ys.IdString("\\CLK")).as_wire().name.str() for cell in registers if plain(cell)
    }
    bits = sum(cell.getPort(ys.IdString("\\Q")).size() for cell in registers)
    return all(map(plain, registers)) and len(clocks) == 1 and bits <= MAX_REGISTER_BITS


def plain(register: Any) -> bool:
    """Return whether a register changes at its clock only."""
    return register.type.str() in ("$dff", "$dffe", "$sdff", "$sdffe", "$sdffce")
