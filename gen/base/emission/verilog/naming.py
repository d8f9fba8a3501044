"""Decides what of a module's logic has a wire, and what its name is.

A node has the wire of the first signal that it is all of, or a part of; ports come first, then
registers, then other signals in the order of the source (:mod:`gen.base.emission.names`). A node
without a signal has a wire if it is used in pieces or often, or would make an expression long.
"""

from dataclasses import dataclass
from itertools import count
from typing import Any

from gen.base.emission.verilog.logic import BIT, NODE_SHIFT, ONE, Bits
from gen.base.emission.verilog.reading import ModuleLogic
from gen.base.emission.verilog.uses import Uses, ends

MAX_OPERATORS = 8  #: most operators of an assignment
#: what may be written again at each use, if it is one operator
SHORT = {"~", "&", "|", "^", "==", "!=", "any", "all"}
#: what a node is, in the name of its wire
WORDS = {
    "~": "inverse",
    "&": "and",
    "|": "or",
    "^": "xor",
    "+": "sum",
    "-": "difference",
    "*": "product",
    "/": "quotient",
    "%": "remainder",
    "negate": "negative",
    "any": "any",
    "all": "all",
    "odd": "parity",
    "==": "equal",
    "!=": "unequal",
    "<": "less",
    "<=": "at_most",
    ">": "more",
    ">=": "at_least",
    "<<": "shifted",
    ">>": "shifted",
    ">>>": "shifted",
    "choice": "choice",
    "element": "element",
    "memory": "word",
    "loop": "bits",
    "initial": "initial",
}
ANY = {"anyconst", "anyseq"}  #: nodes that a proof chooses
SOURCES = {"input", "register", "read", "placed", *ANY}  #: nodes that have a wire always


@dataclass
class Wire:
    """Describes a wire or a register of the Verilog."""

    width: int
    is_register: bool = False
    mark: str = ""  #: an attribute that a proof needs


class Names:
    """Finds the wire of each node that has one: ``home`` gives wire and bit of a net."""

    def __init__(self, module: ModuleLogic, uses: Uses, taken: set[str]) -> None:
        self.module, self.logic, self.uses = module, module.logic, uses
        self.taken = {*taken, *module.inputs, *module.outputs}
        self.signals = frozenset(module.signals)  #: names that nothing else may have
        self.home: dict[int, tuple[str, int]] = {}
        self.wires: dict[str, Wire] = {}
        self.inlined: dict[int, int] = {}  #: node -> operators of it, and of those inside it
        #: signals of several nodes, by their bits, and those of them that are used
        self.vectors: dict[Bits, str] = {}
        self.used_vectors: list[str] = []
        self.steps: dict[str, int] = {}  #: bits of a constant in them that are written as one
        self.gathered: set[Bits] = set()  #: operands that become such a signal
        #: fields of structures by the wire that they are a part of, and where those used are
        self.parts: dict[str, list[tuple[int, int, str]]] = {}
        self.used_fields: dict[str, tuple[str, int]] = {}
        for name, bits in module.inputs.items():
            self.settle(bits, name)
        self.name_registers()
        self.name_reads()
        self.name_outputs()
        self.rename_interfaces()
        self.name_by_signals()
        self.name_placed()
        self.name_any()
        self.choose()
        self.find_fields()

    def settle(self, bits: Bits, name: str) -> None:
        """Give the output of a node a wire."""
        assert name not in self.wires, name
        wire = self.wires[name] = Wire(len(bits))
        kind = self.logic.nodes[bits[0] >> NODE_SHIFT].kind
        wire.is_register, wire.mark = kind in ("register", "read"), kind * (kind in ANY)
        self.home.update((net, (name, place)) for place, net in enumerate(bits))

    def add(self, name: str) -> str:
        """Return ``name``, or one like it that is not taken, and take it."""
        names = (name if k == 1 else f"{name}_{k}" for k in count(1))
        new = next(new for new in names if new not in self.taken and new not in self.signals)
        self.taken.add(new)
        return new

    def name_registers(self) -> None:
        """Give each register its signal's name, and the bits if it is not all of the signal."""
        whole: dict[Bits, str] = {}
        places: dict[int, tuple[str, int]] = {}
        for name, bits in self.module.signals.items():
            whole.setdefault(bits, name)
            for place, net in enumerate(bits):
                places.setdefault(net, (name, place))
        for register in self.module.registers:
            bits = register.bits
            if not bits:
                continue
            name = whole.get(bits)
            if name is None:
                signal, place = places.get(bits[0], ("", 0))
                part = f"{signal}${place + len(bits) - 1}_{place}"
                name = part if signal else self.module.nameless.get(bits, "register")
                name = self.add(name.removeprefix("$"))
            self.taken.add(name)
            register.name = name
            self.settle(bits, name)

    def name_outputs(self) -> None:
        """Give what is all of an output its port's name."""
        for name, bits in self.module.outputs.items():
            if name not in self.wires and [len(bits)] == [
                len(piece) for _, piece in self.pieces(bits)
            ]:
                self.settle(bits, name)

    def name_by_signals(self) -> None:
        """Give other nodes the names of signals that they are all of, or a part of."""
        for name, bits in self.module.signals.items():
            if name in self.wires:
                continue
            while bits and not self.is_used(bits[-1]):  # nobody needs its highest bits
                bits = bits[:-1]
            self.taken.add(name)
            if not bits:
                continue
            pieces = self.pieces(bits)
            for first, piece in pieces:
                number = piece[0] >> NODE_SHIFT
                once = self.uses.times[number] == 1 and number not in self.uses.cut
                source = self.logic.nodes[number].kind in SOURCES
                if len(piece) == len(bits):
                    self.settle(piece, name)
                elif source or not once:  # else it is written where the signal is put together
                    self.settle(piece, self.add(self.part(name, first, piece)))
            if not pieces or len(pieces[0][1]) < len(bits):
                self.vectors.setdefault(bits, name)

    def rename_interfaces(self) -> None:
        """Call signals that only placed modules' ports name after a module and its port."""
        module = self.module
        of_ports: dict[Bits, dict[str, set[str]]] = {}  # by a full name: what the signal may be
        for side in ("outputs", "inputs"):  # what gives a value names it rather than what takes it
            for placed in module.placed:
                for port, bits in getattr(placed, side).items():
                    known = of_ports.setdefault(bits, {})
                    # Amaranth joins a member to its interface by two lines.
                    known[f"{placed.name}_{port}"] = {
                        port,
                        *(f"{port[:k]}_{port[k:]}" for k, c in enumerate(port) if c == "_"),
                    }
        called: dict[Bits, list[str]] = {}
        for name, bits in module.signals.items():
            called.setdefault(bits, []).append(name)
        for bits, known in of_ports.items():
            names, may = called.get(bits, ()), set().union(*known.values())
            if names and all(name.partition("$")[0] in may for name in names):
                new = self.add(next(iter(known)))
                tables: list[dict[str, Any]] = [module.signals, module.fields, module.attributes]
                for table in tables:
                    if names[0] in table:
                        table[new] = table.pop(names[0])

    def part(self, name: str, first: int, piece: Bits) -> str:
        """Return the name of a part of a signal: of the field that it is, or of its place."""
        for path, field in self.module.fields[name].items():
            if field == piece:
                return f"{name}_{path}"
        last = first + len(piece) - 1
        return f"{name}_{first}" if first == last else f"{name}_{last}_{first}"

    def find_fields(self) -> None:
        """Find where in a wire the fields of its signal are."""
        for name, fields in self.module.fields.items():
            if name not in self.wires:
                continue
            parts = []
            for path, bits in fields.items():
                wire, first = self.home.get(bits[0], ("", 0)) if bits else ("", 0)
                inside = all(self.home.get(net) == (name, first + k) for k, net in enumerate(bits))
                if wire == name and inside and len(bits) < self.wires[name].width:
                    parts.append((first, len(bits), f"{name}_{path}"))
            self.parts[name] = sorted(parts, key=lambda part: part[1])

    def field(self, wire: str, first: int, width: int) -> tuple[str, int]:
        """Return the smallest field that holds bits of a wire, and where: the wire if none does."""
        for place, size, name in self.parts.get(wire, ()):
            if place <= first and first + width <= place + size:
                if name not in self.used_fields:
                    if name in self.taken or name in self.signals:  # something else is called so
                        continue
                    self.taken.add(name)
                    self.wires[name] = Wire(size)
                    self.used_fields[name] = wire, place
                return name, first - place
        return wire, first

    def is_used(self, net: int) -> bool:
        """Return whether a net is constant, or one that something needs."""
        number = net >> NODE_SHIFT
        in_node = net & BIT < self.logic.nodes[number].width
        return net <= ONE or (number in self.uses.times and in_node)

    def pieces(self, bits: Bits) -> list[tuple[int, Bits]]:
        """Return the nodes without a home that lie whole in ``bits``, and where."""
        result: list[tuple[int, Bits]] = []
        place, met = 0, set()
        while place < len(bits):
            net, step = bits[place], 1
            number = net >> NODE_SHIFT
            if net > ONE and net & BIT == 0 and net not in self.home and number not in met:
                whole = self.logic.output(number)
                # A memory's word is written at a clock edge, other parts of a signal are not.
                alone = self.logic.nodes[number].kind == "read" and len(whole) < len(bits)
                if (
                    number in self.uses.times
                    and not alone
                    and bits[place : place + len(whole)] == whole
                ):
                    result.append((place, whole))
                    met.add(number)
                    step = len(whole)
            place += step
        return result

    def name_reads(self) -> None:
        """Name what memories give at a clock edge after the memory."""
        for read in self.module.reads:
            if data := read.outputs["data"]:
                self.settle(data, self.add(f"{read.name}$read"))

    def name_placed(self) -> None:
        """Name what placed modules give, where no signal does."""
        for placed in self.module.placed:
            for port, bits in placed.outputs.items():
                if bits and bits[0] not in self.home:
                    self.settle(bits, self.add(f"{placed.name}_{port}"))

    def name_any(self) -> None:
        """Name what a proof chooses, where no signal does."""
        for number, node in enumerate(self.logic.nodes):
            if node.kind in ANY and (bits := self.logic.output(number))[0] not in self.home:
                self.settle(bits, self.add(node.kind))

    def choose(self) -> None:
        """Decide which nodes without a signal have a wire, and name these after what uses them."""
        nodes, times = self.logic.nodes, self.uses.times
        chosen = set()
        for number in range(1, len(nodes)):
            node = nodes[number]
            if not times[number] or node.kind in SOURCES:
                continue
            if node.kind == "loop":  # what it stands for comes after it
                self.inlined[number] = 1
                chosen.add(number)
                continue
            operands = [bits for bits in node.operands if bits not in self.vectors]
            inside = {item for bits in operands for item in self.inside(bits)} - chosen
            operators = 1 + sum(self.inlined[item] for item in inside)
            for item in sorted(inside, key=self.inlined.__getitem__, reverse=True):
                if operators <= MAX_OPERATORS or self.inlined[item] == 1:
                    break
                chosen.add(item)
                operators -= self.inlined[item]
            if operators > MAX_OPERATORS:
                operators -= self.gather(number, chosen)
            self.inlined[number] = operators
            often = times[number] > 1 and (operators > 1 or node.kind not in SHORT)
            if number in self.uses.cut or often:
                chosen.add(number)
        self.inlined = {item: n for item, n in self.inlined.items() if item not in chosen}
        hints: dict[int, str] = {}
        for name, bits in ends(self.module):
            for item in self.inside(bits):
                hints.setdefault(item, name)
        for number in range(len(nodes) - 1, 0, -1):
            node = nodes[number]
            if not times[number] or node.kind in SOURCES:
                continue
            output = self.logic.output(number)
            hint = hints.get(number, "")
            if output[0] in self.home:
                hint = self.home[output[0]][0]
            elif number in chosen:
                word = WORDS[node.kind.removeprefix("s")]
                self.settle(output, self.add(f"{hint or 'value'}_{word}"))
            for bits in node.operands:
                for item in self.inside(bits):
                    hints.setdefault(item, hint)

    def gather(self, number: int, chosen: set[int]) -> int:
        """Make operands that are put together of much wires, and return how many operators less."""
        saved = 0
        for bits in self.logic.nodes[number].operands:
            inside = self.inside(bits) - chosen
            if len(inside) > MAX_OPERATORS // 2:
                self.gathered.add(bits)
                saved += sum(self.inlined[item] for item in inside)
        return saved

    def inside(self, bits: Bits) -> set[int]:
        """Return the nodes without a home in ``bits``."""
        return {net >> NODE_SHIFT for net in bits if net > ONE and net not in self.home}

    def short_rows(self, bits: Bits) -> list[tuple[int, int]]:
        """Return begin and end of parts of ``bits`` that are as few operators as one may write."""
        rows, begin, place, operators = [], 0, 0, 0
        while place < len(bits):
            number = bits[place] >> NODE_SHIFT
            inline = bits[place] > ONE and bits[place] not in self.home
            step = self.logic.nodes[number].width if inline else 1
            more = self.inlined[number] if inline else 0
            if begin < place and operators + more > MAX_OPERATORS:
                rows.append((begin, place))
                begin, operators = place, 0
            place, operators = place + step, operators + more
        return [*rows, (begin, place)]

    def vector(self, bits: Bits, hint: str, step: int = 0) -> str:
        """Return a wire that is ``bits``, for a part of them, every ``step`` bits, to be chosen."""
        if bits not in self.vectors:
            self.vectors[bits] = self.add(f"{hint}_elements")
        name = self.vectors[bits]
        if name not in self.used_vectors:
            self.used_vectors.append(name)
            self.wires.setdefault(name, Wire(len(bits)))
            if step > 1:
                self.steps[name] = step
        return name
