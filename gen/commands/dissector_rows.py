"""Makes a dissector for Wireshark, in Lua, from the declarations of all frames."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from amaranth.lib import data

import hdl.netsparse.protocol as netsparse
from gen.base.templates import render
from hdl.allreduce.frame import HEADER_BYTES, WideFrame
from hdl.allreduce.frame import VERSION as WIDE_VERSION
from hdl.allreduce.wide_params import Operation
from hdl.mina.protocol import AgreementHead
from hdl.mina.protocol import Kind as AgreementKind
from hdl.p4sgd.network.frame import ETHERTYPE, LANES, Frame
from hdl.p4sgd.network.frame import VERSION as P4SGD_VERSION
from hdl.switch.tenancy_head import VERSION as TENANCY_VERSION
from hdl.switch.tenancy_head import TenancyHead, TenancyKind
from hdl.switchgnn.protocol import ACK_BITS, LANE_BITS, Head, Target
from hdl.switchgnn.protocol import VERSION as GNN_VERSION
from hdl.switchgnn.protocol import Kind as GnnKind

HERE = Path(__file__).parent
BEHIND = 14  #: bytes of Ethernet's header, which Wireshark shows by itself
REDUCTIONS = {0: "acknowledgement", 1: "activation", 2: "acked", 3: "pending"}  # by the flags


@dataclass(frozen=True, kw_only=True)
class Row:
    """Describes a field: the bytes that it lies in, counted from behind the Ethernet header."""

    name: str
    first: int
    size: int
    mask: int = 0  #: its bits in a number of these bytes; 0: all
    names: Mapping[int, str] = field(default_factory=dict)  #: of values
    about: str = ""
    signed: bool = False


@dataclass(frozen=True, kw_only=True)
class Format:
    """Describes the frames of a version and of some kinds, by the byte behind the version."""

    name: str  #: begin of the fields' names in filters, behind ``ingather.``
    title: str
    version: int
    kinds: Mapping[int, str]
    rows: Sequence[Row]
    numbers: Row | None = None  #: the first one of numbers that follow
    how_many: str = ""  #: of these, in Lua
    trailer: Row | None = None  #: what is behind the numbers


def formats() -> Iterator[Format]:
    """Yield the formats of all frames with our ethertype."""
    yield Format(
        name="p4sgd",
        title="P4SGD",
        version=P4SGD_VERSION,
        kinds=REDUCTIONS,
        rows=[*rows_of(Frame)],
        numbers=Row(name="payload", first=28 - BEHIND, size=4, signed=True, about="activation"),
        how_many=str(LANES),
    )
    rows = [*rows_of(WideFrame, enums={"operation": Operation})]
    count = next(row for row in rows if row.name == "count")
    yield Format(
        name="allreduce",
        title="wide AllReduce",
        version=WIDE_VERSION,
        kinds=REDUCTIONS,
        rows=rows,
        numbers=Row(name="number", first=HEADER_BYTES - BEHIND, size=4, signed=True),
        how_many=f"buffer({count.first}, {count.size}):le_uint() % {count.mask + 1}",
        trailer=Row(name="saturated", first=0, size=4, about="numbers that were clamped"),
    )
    for name, title, head, kind in (
        ("agreement", "MINA", AgreementHead, AgreementKind),
        ("tenancy", "tenancy", TenancyHead, TenancyKind),
    ):
        rows, kinds = [*rows_of(head)], names_of(kind)
        yield Format(name=name, title=title, version=TENANCY_VERSION, kinds=kinds, rows=rows)
    yield from gnn_formats()


def gnn_formats() -> Iterator[Format]:
    """Yield SwitchGNN's formats: ACK's, those with lanes of either size, and the others."""
    place = Head.as_shape()["about"].offset // 8 - BEHIND
    bitmap = Row(name="bitmap", first=place, size=ACK_BITS // 8, about="ACK: seq + k has come")
    groups: dict[tuple[bool, int], dict[int, str]] = {}
    for kind in GnnKind:
        group = kind is GnnKind.ACK, LANE_BITS.get(kind, 0) // 8
        groups.setdefault(group, {})[kind.value] = kind.name
    for (is_ack, size), kinds in groups.items():
        lane = Row(name=f"int{8 * size}", first=64 - BEHIND, size=size, signed=True, about="lane")
        yield Format(
            name="switchgnn",
            title="SwitchGNN",
            version=GNN_VERSION,
            kinds=kinds,
            rows=[*rows_of(Head), *([bitmap] if is_ack else rows_of(Target, start=place))],
            numbers=lane if size else None,
            how_many=f"(buffer:len() - {lane.first}) / {size}",
        )


def rows_of(
    struct: Any,
    said: Any = None,
    *,
    start: int = -BEHIND,
    big: bool = False,
    enums: Mapping[str, Any] | None = None,
) -> Iterator[Row]:
    """Yield the fields of a struct that begins at byte ``start``, those from byte 0 on.

    The source of ``said``, the struct unless given, has comments on them; ``enums`` are those of
    fields that are declared as numbers. In a ``big`` struct the first byte is the highest.
    """
    layout: Any = data.Layout.cast(struct)
    source = inspect.getsource(said or struct)
    for name, part in reversed([*layout]) if big else layout:
        at = layout.size - part.offset - part.width if big else part.offset
        first, size = at // 8, (at + part.width - 1) // 8 - at // 8 + 1
        if first + start < 0 or isinstance(part.shape, data.ArrayLayout | data.UnionLayout):
            continue
        comment = re.search(rf'^ +"?{name}"?: .*?#:? (.*)$', source, re.M)
        yield Row(
            name=name,
            first=first + start,
            size=size,
            mask=(1 << part.width) - 1 << at % 8 if part.width < 8 * size else 0,
            names=names_of((enums or {}).get(name, part.shape)),
            about=re.sub(r":\w+:`|`", "", comment[1]) if comment else "",
        )


def names_of(shape: Any) -> dict[int, str]:
    """Return the names of an enumeration's values; nothing for another shape."""
    if not isinstance(shape, type) or not issubclass(shape, Enum):
        return {}
    return {each.value: each.name for each in shape}


def dissector() -> str:
    """Return the dissector of all frames."""
    every, layer = [*formats()], netsparse.CONCATENATION_LAYER
    reserved, kinds = netsparse.UPPER_LAYERS["reserved"].width // 8, {"type": netsparse.Kind}
    heads = [*rows_of(layer, netsparse, start=reserved, big=True, enums=kinds)]
    requests = [*rows_of(netsparse.PR_LAYER, netsparse, start=0, big=True)]
    behind = Row(name="property", first=0, size=0, about="the property, byte 0 first")
    fields = {f"{each.name}.{row.name}": row for each in every for row in each.rows}
    more = ((each.name, row) for each in every for row in (each.numbers, each.trailer) if row)
    fields |= {f"{name}.{row.name}": row for name, row in more}
    fields |= {f"netsparse.{row.name}": row for row in heads}
    fields |= {f"netsparse.pr.{row.name}": row for row in (*requests, behind)}
    return render(
        HERE,
        "dissector.lua.j2",
        fields=fields,
        formats=every,
        heads=heads,
        requests=requests,
        head_bytes=reserved + layer.size // 8,
        pr_bytes=netsparse.PR_BYTES,
        response=netsparse.Kind.RESPONSE.value,
        ethertype=ETHERTYPE,
        udp_port=netsparse.PACKET_CONSTANTS["destination_port"],
    )
