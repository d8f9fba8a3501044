"""Finds the streams and buses between the blocks of a design."""

import re
from collections import Counter
from dataclasses import dataclass

from gen.base.emission.emit import Emission
from gen.datasheet.interfaces import SIGNAL, Interface, interfaces
from gen.datasheet.netlist import OUTSIDE, Netlist, read_netlist


@dataclass(frozen=True, kw_only=True)
class Block:
    """Describes a part of the design, or several alike."""

    name: str  #: name of the group
    module: str
    count: int

    @property
    def title(self) -> str:
        """Return the name, with the numbers of the blocks that it stands for."""
        return f"{self.name}_0..{self.count - 1}" if self.count > 1 else self.name


@dataclass(frozen=True, kw_only=True)
class Link:
    """Describes an arrow of the diagram: a stream, a bus, or signals between two blocks."""

    source: str  #: the block that sends or manages; ``@NAME`` for a port of the design
    sink: str
    label: str  #: the stream's name at its source; empty for signals
    bits: int  #: width of the data; for signals, the sum of their widths
    count: int  #: how many such links there are

    @property
    def is_stream(self) -> bool:
        """Return whether the link is a stream or a bus; if not, it is plain signals."""
        return bool(self.label)


@dataclass(frozen=True)
class Structure:
    """Holds what a block diagram shows."""

    blocks: dict[str, Block]
    ports: list[Interface]  #: interfaces of the design, without plain signals
    links: list[Link]


def structure(emission: Emission) -> Structure:
    """Return the blocks directly below the top of ``emission``, and what joins them."""
    netlist = read_netlist(emission)
    of_block = group_of(netlist)
    known = {
        OUTSIDE: interfaces(emission.top.component),
        **{
            name: interfaces(emission.modules[module].component)
            for name, module in netlist.blocks.items()
        },
    }
    alike = Counter(of_block.values())
    blocks = {
        group: Block(name=group, module=netlist.blocks[name], count=alike[group])
        for name, group in of_block.items()
    }
    streams = stream_links(netlist, known, of_block)
    joined = {frozenset((link.source, link.sink)) for link in streams}
    signals = [
        link
        for link in signal_links(netlist, of_block)
        if frozenset((link.source, link.sink)) not in joined
    ]
    ports = [port for port in known[OUTSIDE] if port.kind != SIGNAL]
    return Structure(blocks, ports, streams + signals)


def group_of(netlist: Netlist) -> dict[str, str]:
    """Map each block to its group: blocks of one module whose names differ in a last number."""
    groups: dict[str, str] = {}
    stems = {name: re.sub(r"_\d+$", "", name) for name in netlist.blocks}
    for name, stem in stems.items():
        kinds = {netlist.blocks[other] for other in stems if stems[other] == stem}
        groups[name] = stem if len(kinds) == 1 else name
    return groups


@dataclass(frozen=True)
class End:
    """Identifies one interface of a block."""

    block: str
    name: str  #: name of the port, with its number in an array
    interface: Interface

    def group(self, of_block: dict[str, str]) -> str:
        """Return the name of this end's block in a :class:`Link`."""
        return f"@{self.interface.name}" if self.block == OUTSIDE else of_block[self.block]


def stream_links(
    netlist: Netlist, known: dict[str, list[Interface]], of_block: dict[str, str]
) -> list[Link]:
    """Return one link for each pair of interfaces between which data go.

    Only the port that carries data is followed: what makes ``valid`` is control.
    """
    ends = {
        (block, f"{name}_{port}"): End(block, name, interface)
        for block, all_of in known.items()
        for interface in all_of
        for name in interface.names
        for port in interface.forward
    }
    pairs = {
        (ends[source[:2]], ends[sink[:2]]): None
        for sink, net in netlist.inputs.items()
        if sink[:2] in ends
        for source in sorted(netlist.sources(net))
        if source[:2] in ends
    }
    links: Counter[tuple[str, str, str, int]] = Counter()
    for source, sink in pairs:
        inner = (sink if source.block == OUTSIDE else source).interface
        bits = source.interface.data_bits
        links[source.group(of_block), sink.group(of_block), inner.name, bits] += 1
    return [
        Link(source=source, sink=sink, label=label, bits=bits, count=count)
        for (source, sink, label, bits), count in links.items()
        if source != sink
    ]


def signal_links(netlist: Netlist, of_block: dict[str, str]) -> list[Link]:
    """Return how many bits go from block to block, streams or not; ports are left out."""
    bits: Counter[tuple[str, str]] = Counter()
    for (block, port, _), net in netlist.inputs.items():
        if block == OUTSIDE or port in ("clk", "rst"):
            continue
        for source, _, _ in netlist.sources(net):
            if source != OUTSIDE and of_block[source] != of_block[block]:
                bits[of_block[source], of_block[block]] += 1
    return [
        Link(source=source, sink=sink, label="", bits=count, count=1)
        for (source, sink), count in bits.items()
    ]
