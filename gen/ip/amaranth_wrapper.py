"""Writes a module of Python by which Amaranth designs place a generated design."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from gen.base.emission.emit import EmittedModule
from gen.base.registers.python_driver import class_name
from gen.base.templates import render

HERE = Path(__file__).parent


def wrapper(module: EmittedModule, name: str, about: str) -> str:
    """Return the text of a module with one class, named after ``name``, around ``module``.

    It needs Amaranth alone. Each bus is an interface with a signature of its own; equal buses share
    one. Structures of single ports are plain bits, as in the Verilog.
    """
    signature = module.component.signature
    shared: dict[tuple[str, ...], str] = {}
    members = [
        f"{port}: {flow_of(member)}({shape_of(member, port, shared)}){dimensions(member)}"
        for port, member in signature.members.items()
    ]
    return render(
        HERE,
        "wrapper.py.j2",
        design=name,
        top=module.name,
        kind=class_name(name),
        about=about,
        shared=list(shared.items()),
        members=members,
        clocked="sync" in module.domains,
    )


def flow_of(member: wiring.Member) -> str:
    """Return the name of a member's direction."""
    return "In" if member.flow is In else "Out"


def dimensions(member: wiring.Member) -> str:
    """Return what makes an array of a member that is one."""
    return f".array({', '.join(map(str, member.dimensions))})" if member.dimensions else ""


def shape_of(member: wiring.Member, name: str, shared: dict[tuple[str, ...], str]) -> str:
    """Return a port's width, or the name of its bus's signature, which joins those ``shared``."""
    if member.is_port:
        return str(Shape.cast(member.shape).width)
    signature, turned = described(member)
    return shared.setdefault(tuple(lines_of(signature)), name.upper()) + turned


def described(member: wiring.Member) -> tuple[wiring.Signature, str]:
    """Return the signature of a bus as its class describes it, and what turns it round, if any."""
    signature: Any = member.signature.flip() if member.flow is In else member.signature
    turned = isinstance(signature, wiring.FlippedSignature)
    return (signature.flip(), ".flip()") if turned else (signature, "")


def lines_of(signature: wiring.Signature) -> Iterator[str]:
    """Yield the members of a bus, each as Python writes it."""
    for name, member in signature.members.items():
        shape = bus_inside(member) if member.is_signature else Shape.cast(member.shape).width
        yield f'"{name}": {flow_of(member)}({shape}){dimensions(member)}'


def bus_inside(member: wiring.Member) -> str:
    """Return the signature of a bus inside a bus, as Python writes it."""
    signature, turned = described(member)
    return f"wiring.Signature({{{', '.join(lines_of(signature))}}}){turned}"
