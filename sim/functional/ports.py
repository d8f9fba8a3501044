"""Finds the streams and the other ports in a component's signature."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Flow

from sim.harness.payloads import numbered

#: lists prefixes of ``valid`` and ``ready`` that make a stream of plain ports: AXI's channels
CHANNELS = ("", "t", "aw", "w", "b", "ar", "r")


@dataclass(frozen=True, kw_only=True)
class Part:
    """Describes a port that carries a value."""

    port: str  #: its name in Verilog
    label: str  #: its name in bins; empty for the payload of a stream
    shape: Any


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Describes the ports of a stream, or of a channel of AXI."""

    name: str  #: name in bins; all elements of an array share one
    valid: str | None  #: name of the port; None if every cycle is valid
    ready: str | None
    parts: tuple[Part, ...]


@dataclass(frozen=True, kw_only=True)
class Plain:
    """Describes a port that is no part of a stream."""

    name: str
    part: Part
    valid: str | None  #: port that says when it is valid; None: always
    driven: bool  #: whether it is an output of the component


def watched(signature: Any) -> list[Stream | Plain]:
    """Return all ports and streams to watch of a component with ``signature``."""
    return list(walk(signature, "", ""))


def walk(signature: Any, port: str, name: str) -> Iterator[Stream | Plain]:
    """Yield the ports and streams to watch inside an interface whose ports start with ``port``."""
    members = {key: member for key, member in signature.members.items() if member.is_port}
    used = set()
    for prefix in CHANNELS:
        valid, ready = members.get(f"{prefix}valid"), members.get(f"{prefix}ready")
        if valid is not None and ready is not None and valid.flow != ready.flow:
            result = channel(members, prefix, port, name)
            used |= {key for key in members if key.startswith(prefix)}
            yield result
    left = {key: member for key, member in members.items() if key not in used}
    yield from plain_ports(left, port, name)
    for key, member in signature.members.items():
        if member.is_signature:
            label = f"{name}{key}{'[]' * len(member.dimensions)}"
            for path in numbered(port + key, member.dimensions):
                if isinstance(member.signature, stream.Signature):
                    yield stream_of(member.signature, path, label)
                else:
                    yield from walk(member.signature, f"{path}_", f"{label}.")


def channel(members: dict[str, wiring.Member], prefix: str, port: str, name: str) -> Stream:
    """Return the stream whose valid and ready start with ``prefix``."""
    parts = tuple(
        Part(port=port + key, label=key, shape=member.shape)
        for key, member in members.items()
        if key.startswith(prefix) and key not in (f"{prefix}valid", f"{prefix}ready")
    )
    label = f"{name}{prefix}" if prefix not in ("", "t") else name.removesuffix(".")
    return Stream(
        name=label, valid=f"{port}{prefix}valid", ready=f"{port}{prefix}ready", parts=parts
    )


def stream_of(signature: stream.Signature, port: str, name: str) -> Stream:
    """Describe a stream of Amaranth's library."""
    shape = signature.members["payload"].shape
    return Stream(
        name=name,
        valid=None if signature.always_valid else f"{port}_valid",
        ready=None if signature.always_ready else f"{port}_ready",
        parts=(Part(port=f"{port}_payload", label="", shape=shape),),
    )


def plain_ports(members: dict[str, wiring.Member], port: str, name: str) -> Iterator[Plain]:
    """Yield ports by themselves; those beside a ``valid`` mean something only with it."""
    valid = members.get("valid")
    for key, member in members.items():
        guard = None
        if valid is not None and key != "valid" and valid.flow == member.flow:
            guard = f"{port}valid"
        for path in numbered(port + key, member.dimensions):
            label = f"{name}{key}{'[]' * len(member.dimensions)}"
            yield Plain(
                name=label,
                part=Part(port=path, label="", shape=member.shape),
                valid=guard,
                driven=member.flow is Flow.Out,
            )
