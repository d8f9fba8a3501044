"""Groups the ports of a component into the buses and streams that they make up."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import stream, wiring

from hdl.common.axi import (
    Axi4Signature,
    AxiLiteSignature,
    AxiReadSignature,
    AxiStreamSignature,
    AxiWriteSignature,
    Bursts,
)
from hdl.common.component import Component
from hdl.pcie.axis import PcieStreamSignature

KINDS: Mapping[type, str] = {
    stream.Signature: "stream",
    AxiStreamSignature: "AXI4-Stream",
    PcieStreamSignature: "AXI4-Stream",
    AxiLiteSignature: "AXI4-Lite",
    Axi4Signature: "AXI4",
    AxiReadSignature: "AXI4, reads only",
    AxiWriteSignature: "AXI4, writes only",
}
SIGNAL = "signal"

#: ports that carry data from the side that begins; of a stream without data, ``valid``
FORWARD = ("payload", "tdata", "awaddr", "araddr")


@dataclass(frozen=True, kw_only=True)
class Interface:
    """Describes a bus, a stream or a plain signal, or all those of one array."""

    name: str
    kind: str  #: a value of KINDS, or SIGNAL
    begins: bool  #: whether this side sends: source of a stream, manager of a bus, output
    count: int  #: how many there are, in an array or not
    data_bits: int  #: width of payload or data; of a signal, its whole width
    details: str  #: more widths, in words
    names: tuple[str, ...]  #: what the names of the ports begin with, of each one in the array
    forward: tuple[str, ...]  #: which of these carry data from the side that begins
    reads: Bursts | None = None  #: what a manager reads at most
    writes: Bursts | None = None  #: what a manager writes at most
    of_block: bool = False  #: whether it is a stream of AMD's block for PCI Express

    @property
    def role(self) -> str:
        """Return which side of the interface the component is."""
        if self.kind == SIGNAL:
            return "output" if self.begins else "input"
        if self.kind in ("stream", "AXI4-Stream"):
            return "source" if self.begins else "sink"
        return "manager" if self.begins else "subordinate"

    @property
    def title(self) -> str:
        """Return the name, with its range of numbers if it is an array."""
        return f"{self.name}_0..{self.count - 1}" if self.count > 1 else self.name


def interfaces(component: Component) -> list[Interface]:
    """Return all of a component's ports but clock and reset, in order."""
    return list(result(component.signature, (), 1))


def result(signature: Any, path: tuple[str, ...], count: int) -> Iterator[Interface]:
    """Yield the interfaces of a signature whose members' names begin with ``path``."""
    for name, member in signature.members.items():
        near = (*path, name)
        total = count * prod(member.dimensions)
        if member.is_port:
            if bits := Shape.cast(member.shape).width:
                yield of_signal(near, member, total, bits)
            continue
        inner = member.signature
        kind = KINDS.get(type(plain(inner)))
        if kind is None:
            yield from result(inner, near, total)
        else:
            yield of_bundle(near, member, total, kind)


def plain(signature: Any) -> Any:
    """Return a signature as its class describes it, from the side that begins."""
    return signature.flip() if isinstance(signature, wiring.FlippedSignature) else signature


def of_signal(path: tuple[str, ...], member: Any, count: int, bits: int) -> Interface:
    """Describe a port that belongs to no bus and no stream."""
    return Interface(
        name="_".join(path),
        kind=SIGNAL,
        begins=member.flow == wiring.Out,
        count=count,
        data_bits=bits,
        details="",
        names=tuple(numbered("_".join(path), member.dimensions)),
        forward=(),
    )


def of_bundle(path: tuple[str, ...], member: Any, count: int, kind: str) -> Interface:
    """Describe a bus or a stream, or an array of them."""
    signature = plain(member.signature)
    members = {
        name: Shape.cast(port.shape).width
        for name, port in signature.members.items()
        if Shape.cast(port.shape).width
    }
    address_bits = getattr(signature, "address_bits", 0)
    id_bits = getattr(signature, "id_bits", 0)
    details = [f"{address_bits}-bit addresses"] if address_bits else []
    details += [f"{id_bits}-bit IDs"] if id_bits else []
    details += [f"{members['tuser']}-bit tuser"] if "tuser" in members else []
    data = next((members[n] for n in ("payload", "tdata", "rdata", "wdata") if n in members), 0)
    return Interface(
        name="_".join(path),
        kind=kind,
        begins=member.flow == wiring.Out,
        count=count,
        data_bits=data,
        details=", ".join(details),
        names=tuple(numbered("_".join(path), member.dimensions)),
        forward=tuple(port for port in FORWARD if port in members) or ("valid",),
        reads=getattr(signature, "reads", None),
        writes=getattr(signature, "writes", None),
        of_block=isinstance(signature, PcieStreamSignature),
    )


def numbered(name: str, dimensions: tuple[int, ...]) -> Iterator[str]:
    """Yield the names of an array's elements: ``words`` of (2,) gives ``words_0``, ``words_1``."""
    if not dimensions:
        yield name
        return
    for k in range(dimensions[0]):
        yield from numbered(f"{name}_{k}", dimensions[1:])
