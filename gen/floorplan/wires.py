"""Finds which parts each wire of a design joins, and over how many registers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from gen.floorplan.hierarchy import Hierarchy, Leaf, Place, is_way, reach
from gen.floorplan.model import FloorplanError
from gen.floorplan.netlist import Bit, Cell
from gen.floorplan.plan import Path
from gen.synth.clocks import VENDOR_CLOCK

#: clock ports of components, which like those of IP are not counted as wires between SLRs
CLOCK = re.compile(r"(.+_)?clk")
RESET = re.compile(r"(.+_)?rst")


@dataclass
class Net:
    """Holds the ends of one wire."""

    drivers: list[str] = field(default_factory=list)  #: parts
    sinks: set[str] = field(default_factory=set)  #: parts
    unknown: list[str] = field(default_factory=list)  #: parts whose side has no known direction
    #: leads to wires at the other end of ways; with the boundaries that each way may pass
    onward: list[tuple[int, int]] = field(default_factory=list)
    ends_path: bool = False  #: is at the ``o`` of a way
    port: str = ""  #: name of the port of the instance that drives it, or where logic does
    is_clock: bool = False


@dataclass(frozen=True)
class Wire:
    """Describes a wire from one part to others, with or without registers between."""

    source: str
    sinks: tuple[tuple[str, int], ...]  #: part, and boundaries that registers allow between
    port: str = field(default="", compare=False)  #: name of the port that drives it


class Wires:
    """Collects all wires of a hierarchy."""

    def __init__(self, hierarchy: Hierarchy, vendor_outputs: dict[str, dict[str, bool]]) -> None:
        self.vendor_outputs = vendor_outputs
        self._numbers: dict[tuple[Path, Bit], int] = {}
        self._parent: list[int] = []
        self._nets: dict[int, Net] = {}
        places = {place.path: place for place in hierarchy.places}
        for place in hierarchy.places[1:]:
            self._join_ports(place, places[place.path[:-1]])
        for place in hierarchy.places:
            for cell in place.netlist.cells:
                if cell.type.startswith("$"):
                    self._add_logic(place, cell)
        for leaf in hierarchy.leaves:
            self._add_leaf(leaf)
        for leaf in hierarchy.leaves:
            if is_way(leaf.module):
                self._add_reset(leaf)

    def _number(self, path: Path, bit: Bit) -> int:
        """Return the number of the wire called ``bit`` in the place at ``path``."""
        key = path, bit
        if key not in self._numbers:
            self._numbers[key] = len(self._parent)
            self._parent.append(self._numbers[key])
        return self._root(self._numbers[key])

    def _root(self, number: int) -> int:
        """Return the number that represents all wires joined with ``number``."""
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number

    def _net(self, path: Path, bit: Bit) -> Net:
        return self._nets.setdefault(self._number(path, bit), Net())

    def _join_ports(self, place: Place, around: Place) -> None:
        """Join the wires on both sides of a place's ports."""
        cell = next(cell for cell in around.netlist.cells if cell.name == place.path[-1])
        for name, inside in place.netlist.ports.items():
            for bit, outer in zip(inside, cell.wires.get(name, ()), strict=False):
                if isinstance(bit, int) and isinstance(outer, int):
                    first, second = self._number(place.path, bit), self._number(around.path, outer)
                    self._parent[max(first, second)] = min(first, second)

    def _add_logic(self, place: Place, cell: Cell) -> None:
        """Add a cell of logic, which belongs to the place's part."""
        for port, bits in cell.wires.items():
            for bit in bits:
                if not isinstance(bit, int):
                    continue
                net = self._net(place.path, bit)
                if port == "CLK":
                    net.is_clock = True
                elif cell.directions[port] == "output":
                    net.drivers.append(place.owner)
                    net.port = f"that of logic in {'/'.join(place.path) or 'the top'}"
                else:
                    net.sinks.add(place.owner)

    def _add_leaf(self, leaf: Leaf) -> None:
        """Add an instance; a way leads on to the port of its other side."""
        outputs = self._outputs(leaf)
        clock = VENDOR_CLOCK if leaf.module is None else CLOCK
        untimed = getattr(leaf.module and leaf.module.component, "untimed", ())
        path = leaf.module if is_way(leaf.module) else None
        for port, bits in leaf.cell.wires.items():
            for index, bit in enumerate(bits):
                if not isinstance(bit, int):
                    continue
                net = self._net(leaf.path[:-1], bit)
                if port in untimed or (path is not None and RESET.fullmatch(port)):
                    continue
                if clock.fullmatch(port):
                    net.is_clock = True
                elif path is not None:
                    far = leaf.cell.wires.get(mirrored(port), ())
                    net.ends_path |= outputs[port]
                    if not outputs[port] and index < len(far) and isinstance(far[index], int):
                        present = self._number(leaf.path[:-1], far[index])
                        net.onward.append((present, reach(path)))
                elif port not in outputs:
                    net.unknown.append(leaf.owner)
                elif outputs[port]:
                    net.drivers.append(leaf.owner)
                    net.port = "/".join((*leaf.path, port))
                else:
                    net.sinks.add(leaf.owner)

    def _add_reset(self, path: Leaf) -> None:
        """Let the reset of a way end at the parts on the side that its component names, if any."""
        assert path.module is not None
        if (side := getattr(path.module.component, "reset_side", None)) is None:
            return
        for bit in path.cell.wires["rst"]:
            if isinstance(bit, int):
                self._net(path.path[:-1], bit).sinks |= self.parts_at(path, side)

    def _outputs(self, leaf: Leaf) -> dict[str, bool]:
        """Return whether each port is an output, as far as that is known."""
        if leaf.module is None:
            return self.vendor_outputs.get(leaf.cell.type, {})
        return {port.name: port.direction == "output" for port in leaf.module.ports}

    def __iter__(self) -> Iterator[Wire]:
        """Yield the wires that join several parts."""
        for net in self._nets.values():
            drivers = net.drivers or net.unknown[:1]
            if not drivers or net.is_clock:
                continue
            source = drivers[0]
            sinks = {part: far for part, far in self._reached(net).items() if part != source}
            if sinks:
                yield Wire(source, tuple(sorted(sinks.items())), net.port)

    def _reached(self, start: Net) -> dict[str, int]:
        """Return the parts at the ends of a wire, and the boundaries that ways allow up to each."""
        result: dict[str, int] = dict.fromkeys([*start.sinks, *start.drivers, *start.unknown], 0)
        seen: set[int] = set()
        waiting = sorted((far, number) for number, far in start.onward)
        while waiting:
            passed, number = heappop(waiting)
            number = self._root(number)
            if number not in seen and number in self._nets:
                seen.add(number)
                net = self._nets[number]
                for part in (*net.sinks, *net.unknown):
                    result.setdefault(part, passed)
                for present, far in net.onward:
                    heappush(waiting, (passed + far, present))
        return result

    def parts_at(self, path: Leaf, side: str) -> set[str]:
        """Return the parts at side ``i`` or ``o`` of a way; raise FloorplanError at another way's
        end.

        Parts on one wire lie in one SLR, so any of them tells where that side is.
        """
        nets = [
            self._net(path.path[:-1], bit)
            for port, bits in path.cell.wires.items()
            if port.partition("_")[0] == side
            for bit in bits
            if isinstance(bit, int)
        ]
        parts = {part for net in nets for part in (*net.drivers, *net.sinks, *net.unknown)}
        if not parts and any(net.ends_path and net.onward for net in nets):
            raise FloorplanError(f"{'/'.join(path.path)}: no part is between it and another way")
        return parts


def mirrored(port: str) -> str:
    """Return the other port of a way: ``i_payload`` gives ``o_payload``."""
    side, _, rest = port.partition("_")
    other = {"i": "o", "o": "i"}.get(side, side)
    return f"{other}_{rest}" if rest else other
