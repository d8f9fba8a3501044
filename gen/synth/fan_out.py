"""Counts fan-out: the inputs of primitives that a wire drives, through all modules it passes.

A wire that a flip-flop drives is no trouble: when a design is placed, the flip-flop is copied. What
logic or a hard block drives stays one wire, however many inputs it has, and is slower for them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gen.synth.arcs import clocks_of, is_output, live
from gen.synth.cells import FLIP_FLOP
from gen.synth.graph import bit_names
from gen.synth.limits import MAX_FAN_OUT, load_levels
from gen.synth.mapping import Bit, MappedModule

RESETS = frozenset(("R", "S", "CLR", "PRE"))  #: ports of flip-flops


@dataclass(frozen=True, kw_only=True)
class Net:
    """Describes a wire: its driver, and how many inputs of primitives it reaches, except clocks."""

    driver: str = ""  #: its name where it is driven: ``child.grandchild.wire``
    registered: bool = False  #: whether a flip-flop drives it
    loads: int = 0
    resets: int = 0  #: those of the loads that are resets of registers
    ports: tuple[Bit, ...] = ()  #: port bits by which it leaves the module

    @property
    def crowded(self) -> bool:
        """Return whether it has too many loads and no flip-flop that could be copied for them."""
        return bool(self.driver) and not self.registered and self.loads > MAX_FAN_OUT

    def describe(self) -> dict[str, Any]:
        """Describe it as an object of JSON."""
        return {name: value for name, value in asdict(self).items() if name != "ports"}


@dataclass(frozen=True, kw_only=True)
class ModuleNets:
    """Holds the wires that leave a module, and those inside it that have too many loads."""

    leaving: tuple[Net, ...] = ()
    crowded: tuple[Net, ...] = ()
    #: of the wires that do not leave the module, the one that resets most registers
    reset: Net = field(default_factory=Net)


def nets_of(
    module: MappedModule, children: Mapping[str, ModuleNets]
) -> tuple[ModuleNets, dict[int, int]]:
    """Count the loads of every wire of ``module``; ``children`` are results of its submodules.

    The second result has, for each bit that something else than a flip-flop drives, the levels that
    its loads take as far as the module knows them.
    """
    roots, names = Roots(), bit_names(module)
    observed: list[tuple[list[int], Net]] = []  # bits of this module, and what a cell adds to them
    for name, cell in module.cells.items():
        if (child := children.get(cell["type"])) is not None:
            observed += child_nets(name, cell["connections"], child)
        else:
            observed += primitive_nets(cell, names)
    ports: dict[int, list[Bit]] = defaultdict(list)
    for bits, _ in observed:
        roots.join(bits)
    for bit, at in module.port_bits("input", "output", "inout").items():
        ports[roots.of(bit)] += at
    nets = dict.fromkeys(ports, Net())
    unconnected = []
    for bits, more in observed:
        if bits:
            wire = roots.of(bits[0])
            nets[wire] = together(nets.get(wire, Net()), more)
        else:
            unconnected.append(more)
    inside = [net for wire, net in nets.items() if wire not in ports]
    levels = {
        bit: load_levels(nets[roots.of(bit)].loads)
        for bits, more in observed
        if more.driver and not more.registered
        for bit in bits
    }
    result = ModuleNets(
        leaving=tuple(
            replace(net, ports=tuple(at))
            for wire, at in ports.items()
            if (net := nets[wire]).loads or net.driver or len(at) > 1
        ),
        crowded=tuple(net for net in (*inside, *unconnected) if net.crowded),
        reset=max(inside, key=lambda net: net.resets, default=Net()),
    )
    return result, levels


def together(first: Net, second: Net) -> Net:
    """Return two parts of the same wire as one."""
    source = first if first.driver else second
    loads, resets = first.loads + second.loads, first.resets + second.resets
    return replace(source, loads=loads, resets=resets)


def primitive_nets(
    cell: Mapping[str, Any], names: Mapping[int, str]
) -> Iterator[tuple[list[int], Net]]:
    """Yield each pin of a primitive: the bit of its wire, and a load or the driver of it."""
    kind = cell["type"]
    registered, clocks = bool(FLIP_FLOP.fullmatch(kind)), clocks_of(kind)
    for port, bits in cell["connections"].items():
        if port in clocks:
            continue
        drives = is_output(port, cell)
        for bit in live(bits):
            name = names.get(bit, f"an unnamed {kind}")
            load = Net(loads=1, resets=int(registered and port in RESETS))
            yield [bit], Net(driver=name, registered=registered) if drives else load


def child_nets(
    name: str, wires: Mapping[str, list[Any]], child: ModuleNets
) -> Iterator[tuple[list[int], Net]]:
    """Yield what an instance of a submodule adds to the wires that it is connected to."""
    for net in child.leaving:
        bits = [bit for port, index in net.ports for bit in live(wires[port][index : index + 1])]
        driver = net.driver and f"{name}.{net.driver}"
        yield bits, replace(net, driver=driver, ports=())


class Roots:
    """Groups the bits of a netlist that submodules connect with each other: a group is one wire."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def of(self, bit: int) -> int:
        """Return the bit that represents the group of ``bit``."""
        while (parent := self._parent.get(bit, bit)) != bit:
            bit = parent
        return bit

    def join(self, bits: list[int]) -> None:
        """Put all ``bits`` into one group."""
        for bit in bits[1:]:
            first, second = sorted((self.of(bits[0]), self.of(bit)))
            self._parent[second] = first
