"""Makes mutants of a module, of three classes.

- ``control``: all selects stuck, and all one-bit terms of guards left out (:class:`~.cells.Cell`);
- ``data``: one other bit of one cell inverted, constant, or joined to its neighbour: a sample,
  which Yosys chooses evenly over the lines of the source;
- ``fault``: mistakes of the kinds in :mod:`sim.mutation.faults`, one for three of the data's.

A sample of all bits would be of data almost alone, and mistakes in control go unnoticed there.
Yosys writes all mutants into one module, which is the whole one until ``$INGATHER_MUTANT`` says
which of them it shall be. Mutant 0 is none.
"""

import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any
from unittest.mock import patch

from gen.base.emission.amaranth_internals import rtlil  # pyright: ignore[reportAttributeAccessIssue]
from gen.base.emission.branches import stable
from gen.base.emission.emit import Emission, EmittedModule, emit
from gen.base.emission.yosys import Yosys, apart
from hdl.common.component import Component
from sim.harness.assembly import assembled
from sim.harness.primitives import models_of
from sim.mutation.cells import INVENTED, Cell, cells_of, sources
from sim.mutation.faults import SHARE, Fault, exchange, faults_of
from sim.mutation.server import CHOICE

GROUPS = ("control", "data", "fault")
CONTROL = "mutant_in_force"
BITS = 16
ALL = 10_000_000  #: more mutants than any module has
SMALL = 12  #: multiple of the sample below which a module has few mutants
PASSES = ("proc -norom", "memory_collect", "opt_clean -purge")

#: warnings that a mutant may raise
LINT = (
    "CASEOVERLAP",
    "CMPCONST",
    "SELRANGE",
    "SYNCASYNCNET",
    "UNDRIVEN",
    "UNOPTFLAT",
    "UNSIGNED",
    "WIDTHEXPAND",
    "WIDTHTRUNC",
)

OPTION = re.compile(r"-(\w+) (\S+)")

#: names clocks, whose changes are no faults of the logic
CLOCKS = re.compile(r"(.*_)?(clk|CLK)|ARST|.*RD_[AS]RST|.*INIT.*")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """Describes a change of one bit, or a fault."""

    number: int  #: number of the mutant, from 1
    group: str = "data"  #: one of :data:`GROUPS`
    module: str
    mode: str  #: kind: inv, const0, const1, cnot0, cnot1, or that of a fault
    cell: str  #: its name, which for one without a name counts from the start of the module
    kind: str  #: its type: $add, $mux, a module
    port: str
    bit: int
    control: int | None = None  #: for cnot: the bit of the same port that inverts this one
    wire: str = ""  #: the signal with a name that is changed, if it is one
    drives: str = ""  #: the signal with a name that comes of the cell, if there is one
    sources: tuple[str, ...] = ()  #: file:line that the cell comes from
    about: str = ""  #: what a fault changes

    @property
    def text(self) -> str:
        """Return what is changed, in a line that stays the same while the hardware does."""
        if self.about:
            return f"{self.module}: {self.mode} {self.about}"
        other = "" if self.control is None else f" by bit {self.control}"
        wire = f" ({self.wire})" if self.wire else f" of {self.drives}" if self.drives else ""
        place = f"{self.kind} {self.cell}.{self.port}[{self.bit}]"
        return f"{self.module}: {self.mode} {place}{other}{wire}"


def emission_with_sources(component: Component) -> Emission:
    """Emit ``component`` with the lines of the source in its RTLIL, which Verilog is spared."""
    with patch.object(rtlil, "Design", lambda emit_src: Sourced()):
        return assembled(component, emit)


Sourced: Callable[[], Any] = partial(rtlil.Design, emit_src=True)


def lines_of(module: EmittedModule) -> frozenset[str]:
    """Return the lines of the source that ``module`` comes from: file:line."""
    result = re.findall(r'attribute \\src "([^"]*)"', module.rtlil)
    return frozenset(line for text in result for line in sources(text))


def mutate(
    emission: Emission, name: str, sample: int, seed: int, max_control: int = ALL
) -> tuple[Emission, tuple[Mutant, ...], str]:
    """Put mutants into module ``name`` of the emission, chosen by ``seed``.

    They are at most ``max_control`` of control, and ``sample`` of data and faults together.
    Returns the emission, the mutants, and the RTLIL of the module with its mutants, for proofs.
    """
    module = emission.modules[name]
    mutants, verilog, text = apart(mutated, emission, module, sample, seed, max_control)
    modules = {
        second: replace(first, verilog=f"/* verilator lint_off UNOPTFLAT */ {first.verilog}")
        for second, first in emission.modules.items()
    }  # a mutant may close a loop through any of them
    modules[name] = replace(module, verilog=verilog)
    return Emission(modules), mutants, text


def mutated(
    emission: Emission, module: EmittedModule, sample: int, seed: int, max_control: int
) -> tuple[tuple[Mutant, ...], str, str]:
    """Return the mutants of a module, and the module with them as Verilog and as RTLIL."""
    yosys, name = Yosys(), module.name
    read_module(yosys, emission, module)
    yosys.run(*PASSES)
    cells = cells_of(yosys.design, name)
    faults = faults_of(yosys.design, name, cells, seed)[: sample // SHARE]
    every, lines = candidates(yosys, name, sample - len(faults), seed)
    every.sort()  # all there are, whatever the seed; else some from all over the module
    if max_control < len(every):
        random.Random(seed).shuffle(every)
    chosen = choose(every, cells, max_control, "control")
    chosen += choose(lines, cells, sample - len(faults), "data", len(chosen))
    for mutant, line in chosen:
        options = line.removeprefix("mutate ")
        yosys.run(f"mutate -ctrl {CONTROL} {BITS} {mutant.number} {options}")
    mutants = [mutant for mutant, _ in chosen]
    for fault in faults:
        mutants.append(of_fault(fault, len(mutants) + 1, name, cells[fault.cell]))
        put(yosys, fault, name, mutants[-1].number)
    text = yosys.write("write_rtlil")
    for attributes in ("", "-modattr"):
        yosys.run(f"attrmap {attributes} -remove src -remove top -remove generator")
    return tuple(mutants), selectable(yosys.write(), name), text


def of_fault(fault: Fault, number: int, module: str, cell: Cell) -> Mutant:
    """Return a fault as a mutant."""
    return Mutant(
        number=number,
        group="fault",
        module=module,
        mode=fault.kind,
        cell=cell.name,
        kind=cell.kind,
        port="",
        bit=0,
        drives=cell.drives,
        sources=cell.sources,
        about=fault.about,
    )


def put(yosys: Yosys, fault: Fault, name: str, number: int) -> None:
    """Write ``fault`` into module ``name``, in force where the control is ``number``."""
    cell = fault.cell if fault.cell.startswith("$") else f"\\{fault.cell}"
    for mode, port, bit in fault.edits:
        place = f"-module {name} -cell {cell} -port \\{port} -portbit {bit}"
        yosys.run(f"mutate -ctrl {CONTROL} {BITS} {number} -mode {mode} {place}")
    if any(fault.ports):
        ys, design = yosys.native, yosys.design
        module = design.module(ys.IdString(f"\\{name}"))
        wire = module.wire(ys.IdString(f"\\{CONTROL}"))
        if wire is None:
            wire = module.addWire(ys.IdString(f"\\{CONTROL}"), BITS)
            wire.port_input = True
            module.fixup_ports()
        exchange(design, name, fault, ys.SigSpec(wire), number)


def read_module(yosys: Yosys, emission: Emission, module: EmittedModule) -> None:
    """Read ``module`` whole, and of the modules that it places only the ports."""
    known = (item for item in emission.modules.values() if item.ports)  # not those of the vendor
    yosys.read("\n".join(map(stub, known)))
    yosys.run(f"delete {module.name}")
    yosys.read(module.rtlil)
    for model in models_of(emission.verilog):
        yosys.read(model.read_text(), "read_verilog -sv -lib")
    of_vendor = (getattr(module.component, name, ()) for name in ("vendor_ips", "primitives"))
    for ip in chain.from_iterable(of_vendor):
        yosys.read(ip.stub, "read_verilog -sv -lib")


def stub(module: EmittedModule) -> str:
    """Return the RTLIL of a module that has ports and nothing inside."""
    lines = ["attribute \\blackbox 1", f"module \\{module.name}"]
    for number, port in enumerate(module.ports, 1):
        lines.append(f"  wire width {port.bits} {port.direction} {number} \\{port.name}")
    return "\n".join([*lines, "end\n"])


def candidates(yosys: Yosys, name: str, sample: int, seed: int) -> tuple[list[str], list[str]]:
    """Return all mutants in Yosys's words, and a choice of more than ``sample`` of them.

    Some of the choice will be of no use. In a small module it is all there are, at random: Yosys's
    own choice of most of them never ends.
    """
    every = yosys.write(f"mutate -list {ALL} -seed {seed} -o", name).splitlines()
    if len(every) < SMALL * sample:
        return every, random.Random(seed).sample(every, len(every))
    return every, yosys.write(f"mutate -list {4 * sample} -seed {seed} -o", name).splitlines()


def choose(
    lines: Iterable[str], cells: Mapping[str, Cell], most: int, group: str, before: int = 0
) -> list[tuple[Mutant, str]]:
    """Return the first ``most`` candidates that change logic of ``group``, with their lines.

    They are numbered from behind ``before``.
    """
    chosen: dict[str, tuple[Mutant, str]] = {}
    for line in lines:
        if len(chosen) == most:
            break
        # Behind its output, a register would not be what a simulation can set: in front of it.
        line = line.replace(" -port Q ", " -port D ")
        provided = {name: value.removeprefix("\\") for name, value in OPTION.findall(line)}
        cell = cells[provided["cell"]]
        ways = cell.control.get(provided["port"])
        expected = provided["mode"] in (ways or ()) if group == "control" else ways is None
        if CLOCKS.fullmatch(provided["port"]) or not expected:
            continue
        places = (place for value in re.findall(r"-src (\S+)", line) for place in sources(value))
        mutant = Mutant(
            number=before + len(chosen) + 1,
            group=group,
            module=provided["module"],
            mode=provided["mode"],
            cell=cell.name,
            kind=cell.kind,
            port=provided["port"],
            bit=int(provided["portbit"]),
            control=int(provided["ctrlbit"]) if "ctrlbit" in provided else None,
            wire=f"{provided['wire']}[{provided['wirebit']}]" if "wire" in provided else "",
            drives=cell.drives,
            sources=cell.sources or tuple(dict.fromkeys(places)),
        )
        chosen.setdefault(mutant.text, (mutant, line))
    return list(chosen.values())


def selectable(verilog: str, name: str) -> str:
    """Return the module with its control not a port, but a variable that the environment sets."""
    numbers: dict[str, int] = {}
    text = stable(verilog.split("\n", 1)[1].lstrip())
    text = INVENTED.sub(lambda n: f"$procmux${numbers.setdefault(n[1], len(numbers) + 1)}", text)
    header = re.search(rf"^module {name}\([^;]*\);", text, re.M)
    if header is not None:
        ports = re.sub(rf", {CONTROL}\b|\b{CONTROL}, ", "", header[0])
        text = text.replace(header[0], ports)
    declared = f"  input [{BITS - 1}:0] {CONTROL};\n  wire [{BITS - 1}:0] {CONTROL};\n"
    requested = f'std::getenv(\\"{CHOICE}\\")'
    value = f'$c32("({requested} ? std::atoi({requested}) : 0)")'
    chosen = f"  reg [{BITS - 1}:0] {CONTROL};\n  initial {CONTROL} = {BITS}'({value});\n"
    text = text.replace(declared, chosen)
    return "\n".join(
        [
            *(f"/* verilator lint_off {rule} */" for rule in LINT),
            text.rstrip(),
            *(f"/* verilator lint_on {rule} */" for rule in LINT),
            "",
        ]
    )
