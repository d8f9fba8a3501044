"""Reads the logic of a module from Amaranth's netlist (NIR)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gen.base.emission.amaranth_internals import ModuleNetFlow, SignalDict, nir
from gen.base.emission.verilog.choices import Bodies, Body, Write, path_to, value_of
from gen.base.emission.verilog.logic import NODE_SHIFT, ONE, ZERO, Bits, number_of
from gen.base.emission.verilog.operators import Operators
from gen.base.errors import UserError

#: what the module does in a cycle; what else of NIR is known
OPERATIONS = (nir.Operator, nir.Part, nir.AssignmentList, nir.AsyncReadPort, nir.Initial)

KNOWN = (*OPERATIONS, nir.Top, nir.Matches, nir.PriorityMatch, nir.Memory, nir.AnyValue)


@dataclass
class Register:
    """Holds a register: ``body`` is what a clock edge does to it."""

    bits: Bits
    body: Body
    cell: Any
    inputs: dict[str, Bits] = field(default_factory=dict)  #: its clock and asynchronous reset
    name: str = ""
    source: Any = None  #: the line of its first assignment


@dataclass
class Placed:
    """Holds what is connected to a module that is placed, to a port of a memory, to a property."""

    cell: Any
    inputs: dict[str, Bits]
    outputs: dict[str, Bits]
    name: str  #: that of the instance, of the memory, or the kind of property


@dataclass
class ModuleLogic:
    """Holds what a module consists of."""

    logic: Operators
    inputs: dict[str, Bits] = field(default_factory=dict)
    outputs: dict[str, Bits] = field(default_factory=dict)
    signals: dict[str, Bits] = field(default_factory=dict)  #: by name, those that win first
    nameless: dict[Bits, str] = field(default_factory=dict)  #: signals that Python did not name
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)  #: of signals
    fields: dict[str, dict[str, Bits]] = field(default_factory=dict)  #: of signals that have some
    registers: list[Register] = field(default_factory=list)
    #: names and cells of NIR by the cells' numbers
    memories: dict[int, tuple[str, Any]] = field(default_factory=dict)
    reads: list[Placed] = field(default_factory=list)  #: reads at a clock edge
    writes: list[Placed] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)
    properties: list[Placed] = field(default_factory=list)


class Reader:
    """Reads one module; values that depend on each other in a circle get a node in between."""

    def __init__(self, netlist: Any, name: str) -> None:
        self.name, self.cells, self.ports = name, netlist.cells, netlist.modules[0].ports
        self.own: list[tuple[int, Any]] = []
        self.signals = SignalDict()
        self.names: dict[int, str] = {}  #: of memories and of what is placed
        self.flatten(netlist.modules)
        self.logic = Operators()
        self.nets: dict[int, int] = {ZERO: ZERO, ONE: ONE}
        self.bodies = Bodies(self.logic, self.cells, self.bits)
        self.result = ModuleLogic(self.logic)
        self.netlist = netlist
        self.registers: dict[int, Register] = {}
        self.placed: dict[int, Placed] = {}  #: instances and reads
        self.loops: dict[int, Bits] = {}  #: outputs of operations that depend on themselves
        self.done: set[int] = set()  #: operations whose nodes are made
        #: assignments that only say what a register becomes
        self.folded = set(self.find_folded())

    def read(self) -> ModuleLogic:
        """Return the logic of the module."""
        result = self.result
        for name, (value, flow) in self.ports.items():
            if flow is ModuleNetFlow.Input:
                result.inputs[name] = self.source("input", value, name)
        for number, cell in self.own:
            self.begin(number, cell)
        for number, cell in self.own:
            if isinstance(cell, OPERATIONS) and number not in self.folded:
                self.translate(number)
        for number, cell in self.own:
            self.end(number, cell)
        result.registers = list(self.registers.values())
        for item in self.placed.values():
            (result.placed if isinstance(item.cell, nir.Instance) else result.reads).append(item)
        for name, (value, flow) in self.ports.items():
            if flow is not ModuleNetFlow.Input:
                result.outputs[name] = self.bits(value)
        for signal, name in self.signals.items():
            value = self.netlist.signals[signal]
            if not all(net in self.nets for net in value):
                continue
            if name.startswith("$"):
                result.nameless[self.bits(value)] = name
            else:
                result.signals[name] = self.bits(value)
                if signal.attrs:
                    result.attributes[name] = signal.attrs
                result.fields[name] = {
                    "_".join(map(str, path)): self.bits(item.value)
                    for path, item in self.netlist.signal_fields[signal].items()
                    if path and not any(isinstance(step, int) for step in path)
                }
        return result

    def flatten(self, modules: Iterable[Any]) -> None:
        """Take all parts that are no components into the module, with their names before others."""
        for module in modules:
            part = "".join(f"{step}_" for step in module.name[1:])
            self.own += [(number, self.cells[number]) for number in module.cells]
            for number in module.cells:
                if isinstance(self.cells[number], (nir.Instance, nir.Memory)):
                    self.names[number] = self.unlike(part + self.cells[number].name)
            for signal, name in module.signal_names.items():
                if signal not in self.signals:
                    self.signals[signal] = self.unlike(part + name) if part else name

    def unlike(self, name: str) -> str:
        """Return ``name``, longer if something is called so."""
        while name in (*self.names.values(), *self.signals.values()):
            name += "_"
        return name

    def source(self, kind: str, value: Iterable[int], extra: Any = None) -> Bits:
        """Add a node whose output no other node decides in the same cycle."""
        nets = tuple(value)
        bits = self.logic.add(kind, (), len(nets), extra)
        self.nets.update(zip(nets, bits, strict=True))
        return bits

    def bits(self, value: Iterable[int]) -> Bits:
        """Return the nets of a value of NIR."""
        return tuple(self.nets[net] for net in value)

    def begin(self, number: int, cell: Any) -> None:
        """Add the outputs of what holds values, and of what is placed."""
        if isinstance(cell, nir.FlipFlop):
            bits = self.source("register", outputs(number, len(cell.data)))
            self.registers[number] = Register(bits, [], cell)
        elif isinstance(cell, nir.SyncReadPort):
            bits = self.source("read", outputs(number, cell.width))
            self.placed[number] = Placed(cell, {}, {"data": bits}, self.names[cell.memory])
        elif isinstance(cell, nir.Instance):
            built = {
                port: self.source("placed", outputs(number, width, first))
                for port, (first, width) in cell.ports_o.items()
            }
            self.placed[number] = Placed(cell, {}, built, self.names[number])
        elif isinstance(cell, nir.AnyValue):
            self.source(cell.kind, outputs(number, cell.width))
        elif isinstance(cell, nir.Memory):
            self.result.memories[number] = self.names[number], cell

    def find_folded(self) -> Iterator[int]:
        """Yield the number of each list of assignments that nothing but one register takes."""
        data: dict[int, int] = {}  # list of assignments -> register
        elsewhere: set[int] = set()
        for number, cell in self.own:
            nets = cell.input_nets()
            if isinstance(cell, nir.FlipFlop) and cell.data and cell.data[0] > ONE:
                built = cell.data[0] >> NODE_SHIFT
                whole = tuple(cell.data) == outputs(built, len(cell.data))
                if whole and isinstance(self.cells[built], nir.AssignmentList):
                    elsewhere |= {built} & data.keys()
                    data[built] = number
                    nets = {cell.clk, cell.arst}
            elsewhere.update(net >> NODE_SHIFT for net in nets)
        yield from data.keys() - elsewhere

    def translate(self, number: int) -> None:
        """Make the nodes of an operation, and before it those of what it depends on."""
        path, opened = [number], set()
        while path:
            near = path[-1]
            if near in self.done:
                path.pop()
            elif near in opened:
                self.finish(near)
                path.pop()
            else:
                opened.add(near)
                for before in self.before(near):
                    if before in opened and before not in self.done:
                        self.close(before)
                    else:
                        path.append(before)

    def before(self, number: int) -> list[int]:
        """Return the numbers of operations that this one depends on and that are not done."""
        result: dict[int, None] = {}
        for net in self.needed(self.cells[number]):
            item = net >> NODE_SHIFT
            if net > ONE and item not in self.done and net not in self.nets:
                result[item] = None
        return list(result)

    def needed(self, cell: Any) -> Iterator[int]:
        """Yield the nets that an operation depends on."""
        if not isinstance(cell, nir.AssignmentList):
            yield from cell.input_nets()
            return
        yield from cell.default
        passed: dict[int, int] = {}  # arms of each switch that were looked at
        for assignment in cell.assignments:
            yield from assignment.value
            for switch, taken in path_to(assignment.cond, self.cells):
                first = passed.get(switch, 0)
                passed[switch] = max(first, taken + 1)
                for condition in self.cells[switch].inputs[first : taken + 1]:
                    if condition > ONE:
                        yield from self.cells[condition >> NODE_SHIFT].value

    def close(self, number: int) -> None:
        """Give an operation that depends on itself, bit by bit, a node to depend on."""
        width = cell_width(self.cells[number])
        if number not in self.loops:
            self.loops[number] = self.source("loop", outputs(number, width))

    def finish(self, number: int) -> None:
        """Make the nodes of an operation."""
        cell = self.cells[number]
        self.logic.source = cell.src_loc
        value = self.value_of(cell)
        if number in self.loops:
            node = self.logic.nodes[self.loops[number][0] >> NODE_SHIFT]
            node.operands = (value,)
        else:
            self.nets.update(zip(outputs(number, len(value)), value, strict=True))
        self.done.add(number)

    def value_of(self, cell: Any) -> Bits:
        """Return what an operation gives."""
        if isinstance(cell, nir.Operator):
            return self.logic.operator(cell.operator, [self.bits(item) for item in cell.inputs])
        if isinstance(cell, nir.AssignmentList):
            return value_of(self.logic, self.bodies.of(cell.assignments), self.bits(cell.default))
        if isinstance(cell, nir.AsyncReadPort):
            return self.logic.once("memory", (self.bits(cell.addr),), cell.width, cell.memory)
        if isinstance(cell, nir.Initial):
            return self.logic.once("initial", (), 1)
        return self.part_of(cell)

    def part_of(self, cell: Any) -> Bits:
        """Return a part of a value at a place that varies; behind its end come zeros or signs."""
        value, offset = self.bits(cell.value), self.bits(cell.offset)
        sign = value[-1] if cell.value_signed and value else ZERO
        number = number_of(offset)
        last = (1 << len(offset)) - 1 if number is None else number
        whole = last * cell.stride + cell.width
        value = (value + (sign,) * max(0, whole - len(value)))[:whole]
        if number is not None:
            return value[number * cell.stride :]
        return self.logic.once("element", (value, offset), cell.width, cell.stride)

    def end(self, number: int, cell: Any) -> None:
        """Read the inputs of what holds values, and of what is placed."""
        result = self.result
        self.logic.source = cell.src_loc
        if isinstance(cell, nir.FlipFlop):
            register = self.registers[number]
            register.source = cell.src_loc
            built = cell.data[0] >> NODE_SHIFT if cell.data else 0
            if built in self.folded:
                assigned = self.cells[built]
                register.source = assigned.assignments[0].src_loc
                register.body = self.bodies.of(assigned.assignments)
                if (default := self.bits(assigned.default)) != register.bits:
                    register.body.insert(0, Write(0, default))
            else:
                register.body = [Write(0, self.bits(cell.data))]
            register.inputs |= {"clk": self.bits([cell.clk]), "arst": self.bits([cell.arst])}
        elif isinstance(cell, nir.SyncReadPort):
            names = ("addr", "en", "clk")
            inputs = self.placed[number].inputs
            inputs |= {name: self.port(cell, name) for name in names}
            if cell.transparent_for:
                inputs["word"] = self.transparent(cell, inputs["addr"])
        elif isinstance(cell, nir.SyncWritePort):
            names = ("data", "addr", "en", "clk")
            inputs = {name: self.port(cell, name) for name in names}
            result.writes.append(Placed(cell, inputs, {}, self.names[cell.memory]))
        elif isinstance(cell, nir.Instance):
            inputs = {port: self.bits(value) for port, value in cell.ports_i.items()}
            self.placed[number].inputs |= inputs
        elif isinstance(cell, (nir.AsyncProperty, nir.SyncProperty)):
            names = ("test", "en", *["clk"] * isinstance(cell, nir.SyncProperty))
            inputs = {name: self.port(cell, name) for name in names}
            result.properties.append(Placed(cell, inputs, {}, cell.kind))
        elif not isinstance(cell, KNOWN):
            raise UserError(f"{self.name}: Verilog of {type(cell).__name__} is not written")

    def transparent(self, cell: Any, address: Bits) -> Bits:
        """Return the word at an address, with what writes at the same clock edge make of it."""
        word = list(self.logic.once("memory", (address,), cell.width, cell.memory))
        for number in cell.transparent_for:
            data, at, enables = (self.port(self.cells[number], n) for n in ("data", "addr", "en"))
            near = self.logic.comparison("==", at, address)
            for first, last in lanes(enables):
                written = self.logic.bitwise("&", enables[first : first + 1], near)
                piece = self.logic.choice([(written[0], data[first:last])], tuple(word[first:last]))
                word[first:last] = piece
        return tuple(word)

    def port(self, cell: Any, name: str) -> Bits:
        """Return the nets at a port of a cell, which NIR has as a net or as a value."""
        nets = getattr(cell, name)
        return self.bits([nets] if isinstance(nets, nir.Net) else nets)


def outputs(number: int, width: int, first: int = 0) -> tuple[int, ...]:
    """Return the nets of a cell of NIR."""
    begin = (number << NODE_SHIFT) + first
    return tuple(range(begin, begin + width))


def lanes(enables: Bits) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each row of bits that are written together."""
    first = 0
    for place in range(1, len(enables) + 1):
        if place == len(enables) or enables[place] != enables[first]:
            yield first, place
            first = place


def cell_width(cell: Any) -> int:
    """Return how many bits an operation gives."""
    return len(cell.default) if isinstance(cell, nir.AssignmentList) else cell.width
