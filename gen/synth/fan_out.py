"""Fan-out: how many inputs of primitives hang at a wire, through all modules that it passes.

A wire that a flip-flop drives is no trouble: when a design is placed, the flip-flop is copied. What
logic or a hard block drives stays one wire, however many inputs it has.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gen.synth.arcs import clocks_of, is_output, live
from gen.synth.cells import FLIP_FLOP
from gen.synth.graph import bit_names
from gen.synth.limits import MOST_FAN_OUT
from gen.synth.mapping import MappedModule

Bit = tuple[str, int]  #: of a port: name, index


@dataclass(frozen=True, kw_only=True)
class Net:
    """A wire: what drives it, and how many inputs of primitives it reaches, clocks left out."""

    driver: str = ""  #: name of the wire where it begins, a dot after each module below
    registered: bool = False  #: a flip-flop drives it
    loads: int = 0
    ports: tuple[Bit, ...] = ()  #: of the module, at which it goes on outside

    @property
    def crowded(self) -> bool:
        """Whether it has too many loads, and no flip-flop that can be copied for them."""
        return bool(self.driver) and not self.registered and self.loads > MOST_FAN_OUT

    def describe(self) -> dict[str, Any]:
        """Describe it as an object of JSON."""
        return {name: value for name, value in asdict(self).items() if name != "ports"}


@dataclass(frozen=True, kw_only=True)
class ModuleNets:
    """The wires of a module that matter: those that leave it, and inside those that are crowded."""

    leaving: tuple[Net, ...] = ()
    crowded: tuple[Net, ...] = ()


def nets_of(module: MappedModule, children: Mapping[str, ModuleNets]) -> ModuleNets:
    """Count at every wire of ``module``; ``children`` by name have been counted before."""
    roots, names = Roots(), bit_names(module)
    found: list[tuple[list[int], Net]] = []  # bits of this module, and what a cell adds to them
    for name, cell in module.cells.items():
        if (child := children.get(cell["type"])) is not None:
            found += child_nets(name, cell["connections"], child)
        else:
            found += primitive_nets(cell, names)
    ports: dict[int, list[Bit]] = defaultdict(list)
    for bits, _ in found:
        roots.join(bits)
    for port, bit in port_bits(module):
        ports[roots.of(bit)].append(port)
    nets = dict.fromkeys(ports, Net())
    unconnected = []
    for bits, more in found:
        if bits:
            wire = roots.of(bits[0])
            nets[wire] = together(nets.get(wire, Net()), more)
        else:
            unconnected.append(more)
    inside = [net for wire, net in nets.items() if wire not in ports]
    return ModuleNets(
        leaving=tuple(
            Net(driver=net.driver, registered=net.registered, loads=net.loads, ports=tuple(at))
            for wire, at in ports.items()
            if (net := nets[wire]).loads or net.driver or len(at) > 1
        ),
        crowded=tuple(net for net in (*inside, *unconnected) if net.crowded),
    )


def together(one: Net, other: Net) -> Net:
    """What two parts of a wire are as one."""
    source = one if one.driver else other
    return Net(driver=source.driver, registered=source.registered, loads=one.loads + other.loads)


def primitive_nets(
    cell: Mapping[str, Any], names: Mapping[int, str]
) -> Iterator[tuple[list[int], Net]]:
    """An input that is a load of its wire, or an output that drives it, at a time."""
    kind = cell["type"]
    registered, clocks = bool(FLIP_FLOP.fullmatch(kind)), clocks_of(kind)
    for port, bits in cell["connections"].items():
        if port in clocks:
            continue
        drives = is_output(port, cell)
        for bit in live(bits):
            name = names.get(bit, f"an unnamed {kind}")
            yield [bit], Net(driver=name, registered=registered) if drives else Net(loads=1)


def child_nets(
    name: str, wires: Mapping[str, list[Any]], child: ModuleNets
) -> Iterator[tuple[list[int], Net]]:
    """What a module below adds to the wires that this instance is connected to."""
    for net in child.leaving:
        bits = [bit for port, index in net.ports for bit in live(wires[port][index : index + 1])]
        driver = net.driver and f"{name}.{net.driver}"
        yield bits, Net(driver=driver, registered=net.registered, loads=net.loads)


def port_bits(module: MappedModule) -> Iterator[tuple[Bit, int]]:
    """Every bit of a port that is a wire, and the wire."""
    for name, port in module.ports.items():
        for index, bit in enumerate(port["bits"]):
            if isinstance(bit, int):
                yield (name, index), bit


class Roots:
    """Bits of a netlist, of which those that a module below joins are one wire."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def of(self, bit: int) -> int:
        """The bit that stands for all that are joined with ``bit``."""
        while (parent := self._parent.get(bit, bit)) != bit:
            bit = parent
        return bit

    def join(self, bits: list[int]) -> None:
        """Make one wire of all ``bits``."""
        for bit in bits[1:]:
            one, other = sorted((self.of(bits[0]), self.of(bit)))
            self._parent[other] = one
