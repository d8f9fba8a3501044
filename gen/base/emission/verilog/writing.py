"""Writes a module as Verilog, from Amaranth's netlist (NIR).

The text means the same in Verilog (IEEE 1364-2005) and SystemVerilog (IEEE 1800-2017): what is
combinational is an assignment, so that no process has to wake at the start of a simulation.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from amaranth.hdl import Const

from gen.base.emission.verilog.expressions import LOWEST, Expressions, identifier, literal
from gen.base.emission.verilog.logic import ONE, ZERO, Bits
from gen.base.emission.verilog.naming import SOURCES, Names, Wire
from gen.base.emission.verilog.processes import INDENT, Processes, indented, process
from gen.base.emission.verilog.reading import ModuleLogic, Placed, Reader, lanes
from gen.base.emission.verilog.sources import COLUMNS, MARK, marked
from gen.base.emission.verilog.uses import find_uses

BREAK = re.compile(r"(?<=, )|(?<= [&|^+:] )|(?<= \? )|(?<= <= )|(?<= = )")


def written(netlist: Any, name: str, keep_boundary: bool = False) -> tuple[str, dict[int, str]]:
    """Return the Verilog of a netlist of one module, and comments by line: where it is from.

    ``keep_boundary`` tells Vivado to keep the module.
    """
    module = Reader(netlist, name).read()
    return Writer(module, name, keep_boundary).text()


class Writer:
    """Writes one module."""

    def __init__(self, module: ModuleLogic, name: str, keep_boundary: bool) -> None:
        self.module, self.name, self.keep_boundary = module, name, keep_boundary
        self.uses = find_uses(module)
        memories = {number: called for number, (called, _) in module.memories.items()}
        taken = {*(item.name for item in module.placed), *memories.values()}
        self.names = Names(module, self.uses, taken)
        self.registers = {item.name: item for item in module.registers}
        self.expressions = Expressions(self.names, memories)

    def text(self) -> tuple[str, dict[int, str]]:
        """Return the module, and comments by line."""
        body = [*self.assignments(), *Processes(self.expressions).lines(self.module.registers)]
        body += [line for write in self.module.writes for line in self.write(write)]
        body += [line for read in self.module.reads for line in self.read(read)]
        body += [line for item in self.module.properties for line in self.check(item)]
        for placed in self.module.placed:
            body += self.instance(placed)
        body += self.vectors()  # which were found to be needed above, as fields are
        lines = [*self.head(), *indented([*self.declarations(), "", *body]), "endmodule", ""]
        text, comments = [], {}
        for line in lines:
            line, _, comment = line.partition(MARK)
            if comment:
                comments[len(text)] = comment
            text += wrapped(line)
        return "\n".join(text), comments

    def head(self) -> list[str]:
        """Return the line of the module, and its ports."""
        ports = []
        for name, bits in (*self.module.inputs.items(), *self.module.outputs.items()):
            kind = "input wire"
            if name in self.module.outputs:
                wire = self.names.wires.get(name)
                kind = "output reg" if wire and wire.is_register else "output wire"
            ports.append(self.declared(name, kind, len(bits)))
        keep = ['(* keep_hierarchy = "yes" *)'] if self.keep_boundary else []
        return [*keep, f"module {identifier(self.name)} (", *commas(ports), ");"]

    def ranged(self, width: int) -> str:
        """Return the range in a declaration."""
        return f"[{width - 1}:0] " if width > 1 else ""

    def declared(self, name: str, kind: str, width: int) -> str:
        """Return a declaration: attributes, range, name, and a register's value at power-up."""
        register = self.registers.get(name)
        provided = self.module.attributes.get(name, {}) | (
            register.cell.attributes if register else {}
        )
        text = f"{attributes(provided)}{kind} {self.ranged(width)}{identifier(name)}"
        return text + (f" = {literal(register.cell.init, width)}" if register else "")

    def declarations(self) -> Iterator[str]:
        """Yield the declarations of wires, registers and memories."""
        for name, wire in self.names.wires.items():
            if name in {**self.module.inputs, **self.module.outputs, **self.names.used_fields}:
                continue
            kind = f"(* {wire.mark} *) wire" if wire.mark else "reg" if wire.is_register else "wire"
            yield self.declared(name, kind, wire.width) + ";"
        for name, (wire, first) in self.names.used_fields.items():
            width = self.names.wires[name].width
            part = self.expressions.place(wire, first, width)
            yield f"wire {self.ranged(width)}{identifier(name)} = {part};"
        for called, cell in self.module.memories.values():
            size = f"[{cell.width - 1}:0] {identifier(called)} [0:{cell.depth - 1}]"
            yield f"{attributes(cell.attributes)}reg {size};"
        for called, cell in self.module.memories.values():
            if any(cell.init):
                yield "initial begin"
                for place, word in enumerate(cell.init):
                    value = literal(word, cell.width)
                    yield f"{INDENT}{identifier(called)}[{place}] = {value};"
                yield "end"

    def assignments(self) -> Iterator[str]:
        """Yield an assignment for each node that has a wire of its own, and for the outputs."""
        logic, home = self.module.logic, self.names.home
        last = None
        for number, node in enumerate(logic.nodes):
            output = logic.output(number)
            if not number or not output or node.kind in SOURCES or output[0] not in home:
                continue
            name, first = home[output[0]]
            self.expressions.target = name
            lines = assigned(
                self.expressions.place(name, first, node.width), *self.expressions.operation(node)
            )
            yield from marked(lines, node.source if node.source != last else None)
            last = node.source
        for name, bits in self.module.outputs.items():
            yield from self.rest(name, bits)

    def rest(self, name: str, bits: Bits) -> Iterator[str]:
        """Yield assignments of the bits of a wire that are no node's home."""
        home = self.names.home
        if bits and name not in self.names.wires:
            self.names.wires[name] = Wire(len(bits))
        place = 0
        self.expressions.target = name
        while place < len(bits):
            last = place
            while last < len(bits) and home.get(bits[last]) != (name, last):
                last += 1
            if last > place:
                for first, end in self.names.short_rows(bits[place:last]):
                    row = bits[place + first : place + end]
                    target = self.expressions.place(name, place + first, len(row))
                    yield from assigned(target, *self.expressions.value(row))
            place = last + 1

    def vectors(self) -> Iterator[str]:
        """Yield assignments of signals that are put together, where something uses them."""
        of = {name: bits for bits, name in self.names.vectors.items()}
        done = 0
        while done < len(self.names.used_vectors):
            name = self.names.used_vectors[done]
            if name not in self.module.outputs:
                yield from self.rest(name, of[name])
            done += 1

    def write(self, port: Placed) -> Iterator[str]:
        """Yield a write of a memory; each row of lanes with one enable is written by itself."""
        data, enables = port.inputs["data"], port.inputs["en"]
        text = self.expressions.text
        word = f"{identifier(port.name)}[{text(port.inputs['addr'])}]"
        lines = []
        for first, last in lanes(enables):
            part = "" if last - first == len(data) else f"[{last - 1}:{first}]"
            part = f"[{first}]" if part and last - first == 1 else part
            line = f"{word}{part} <= {text(data[first:last])};"
            if enables[first] != ZERO:
                enable = (enables[first],)
                lines.append(line if enable == (ONE,) else f"if ({text(enable)}) {line}")
        if lines:
            yield from marked(process(self.edge(port), lines), port.cell.src_loc)

    def read(self, port: Placed) -> Iterator[str]:
        """Yield a read of a memory at a clock edge."""
        data = port.outputs["data"]
        if not data:
            return
        name, first = self.names.home[data[0]]
        target = self.expressions.place(name, first, len(data))
        word = f"{identifier(port.name)}[{self.expressions.text(port.inputs['addr'])}]"
        if "word" in port.inputs:
            word = self.expressions.text(port.inputs["word"])
        line, enable = f"{target} <= {word};", port.inputs["en"]
        if enable == (ZERO,):
            return
        if enable != (ONE,):
            line = f"if ({self.expressions.text(enable)}) {line}"
        yield from marked(process(self.edge(port), [line]), port.cell.src_loc)

    def edge(self, port: Placed) -> str:
        """Return the head of a process at the clock edge of a port of a memory."""
        clock = self.expressions.text(port.inputs["clk"])
        return f"always @({port.cell.clk_edge}edge {clock})"

    def check(self, item: Placed) -> Iterator[str]:
        """Yield a property, and before it the message of one that does not hold."""
        enable, test = (self.expressions.text(item.inputs[name]) for name in ("en", "test"))
        check = f"{item.cell.kind} ({test});"
        if item.cell.format is not None:
            message = setting("".join(map(str, item.cell.format.chunks)) + "\n")
            lines = [f"if (!({test}))", f"{INDENT}$write({message});", check]
        else:
            lines = [check]
        head = self.edge(item) if "clk" in item.inputs else "always @*"
        block = [f"if ({enable}) begin", *indented(lines), "end"]
        yield f"{head} begin"
        yield from indented(block)
        yield "end"

    def instance(self, placed: Placed) -> list[str]:
        """Return a module that is placed."""
        cell, text = placed.cell, self.expressions.text
        ports = []
        for port, bits in placed.inputs.items():
            self.expressions.target = f"{placed.name}_{port}"
            ports.append((port, text(bits)))
        for port, bits in placed.outputs.items():
            if bits:
                wire, first = self.names.home[bits[0]]
                ports.append((port, self.expressions.place(wire, first, len(bits))))
        lines = commas(f".{identifier(port)}({value})" for port, value in ports)
        settings = ""
        if cell.parameters:
            provided = ", ".join(f".{k}({setting(v)})" for k, v in cell.parameters.items())
            settings = f" #({provided})"
        head = f"{attributes(cell.attributes)}{identifier(cell.type)}{settings}"
        return [f"{head} {identifier(placed.name)} (", *lines, ");"]


def assigned(target: str, value: str, binding: int) -> Iterator[str]:
    """Yield an assignment; the arms of a long choice have a line each."""
    line = f"assign {target} = {value};"
    if binding > LOWEST or len(line) <= COLUMNS - len(INDENT):
        yield line
        return
    yield f"assign {target} ="
    arms = split_choice(value)
    for place, arm in enumerate(arms):
        yield f"{INDENT}{arm}{' :' if place < len(arms) - 1 else ';'}"


def split_choice(value: str) -> list[str]:
    """Return the arms of a choice: what stands between its outermost colons."""
    arms, depth, begin = [], 0, 0
    for place, letter in enumerate(value):
        depth += (letter in "([{") - (letter in ")]}")
        if not depth and value[place : place + 3] == " : ":
            arms.append(value[begin:place])
            begin = place + 3
    return [*arms, value[begin:]]


def commas(lines: Iterable[str]) -> list[str]:
    """Return lines a step to the right, with a comma behind all but the last."""
    *most, last = [*indented(lines)] or [""]
    return [*(f"{line}," for line in most), last]


def attributes(provided: dict[str, Any]) -> str:
    """Return attributes as Verilog has them before what they belong to."""
    return "".join(f"(* {name} = {setting(value)} *) " for name, value in sorted(provided.items()))


def setting(value: Any) -> str:
    """Return the value of a parameter or an attribute."""
    if isinstance(value, Const):
        return literal(value.value & (1 << len(value)) - 1, len(value))
    if isinstance(value, int):
        return str(value)
    text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def wrapped(line: str) -> Iterator[str]:
    """Yield a line in pieces that fit, broken where parentheses are few; later ones stand in."""
    margin = " " * (len(line) - len(line.lstrip()))
    rest, start = line, ""
    while len(start + rest) > COLUMNS:
        cut = break_of(rest, COLUMNS - len(start))
        if not cut:
            break
        yield (start + rest[:cut]).rstrip()
        rest, start = rest[cut:].lstrip(), margin + 2 * INDENT
    yield start + rest


def break_of(text: str, room: int) -> int:
    """Return where to break a line: among places that fill a third of it, the least nested one."""
    depths = [0]
    for letter in text:
        depths.append(depths[-1] + (letter in "([{") - (letter in ")]}"))
    ends = [item.start() for item in BREAK.finditer(text) if text[: item.start()].strip()]
    fits = [end for end in ends if end <= room + 1]
    if not fits:
        return ends[0] if ends else 0
    full = [end for end in fits if end > room // 3] or fits
    return min(full, key=lambda end: (depths[end], -end))
