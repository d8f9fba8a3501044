"""Converts between the plain values that tests write and the bits that ports carry."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from amaranth.hdl import Shape, ShapeCastable
from amaranth.lib import data, stream

from hdl.common.component import Component


class Number:
    """Converts whole numbers and members of enumerations to bits of a shape, and back."""

    def __init__(self, shape: Any) -> None:
        self.shape = Shape.cast(shape)
        self.from_bits = shape.from_bits if isinstance(shape, ShapeCastable) else None
        self.mask = (1 << self.shape.width) - 1
        low = -(1 << self.shape.width - 1) if self.shape.signed else 0
        self.limits = range(low, low + self.mask + 1)

    def pack(self, value: Any) -> int:
        if isinstance(value, data.Const):
            return value.as_bits()
        number = int(getattr(value, "value", value))
        if number not in self.limits:
            raise ValueError(f"{number} does not fit {self.shape!r}")
        return number & self.mask

    def unpack(self, bits: int) -> Any:
        if self.from_bits is not None:
            return self.from_bits(bits)
        negative = self.shape.signed and bits >> self.shape.width - 1
        return bits - self.mask - 1 if negative else bits


class Struct(Number):
    """Converts dicts to bits of a layout with names, and back."""

    def __init__(self, layout: data.Layout) -> None:
        super().__init__(layout.size)
        self.layout = layout
        self.fields = {
            key: (coding_of(field.shape), field.offset, (1 << field.width) - 1)
            for key, field in layout
        }

    def pack(self, value: Any) -> int:
        if not isinstance(value, Mapping):
            return super().pack(value)
        bits = 0
        for key, item in value.items():
            if key not in self.fields:
                raise ValueError(f"no field {key!r} in {self.layout!r}")
            coding, offset, _ = self.fields[key]
            bits |= coding.pack(item) << offset
        return bits

    def unpack(self, bits: int) -> Any:
        return {
            key: coding.unpack(bits >> offset & mask)
            for key, (coding, offset, mask) in self.fields.items()
        }


class Array(Number):
    """Converts lists to bits of a layout of equal elements, and back."""

    def __init__(self, layout: data.ArrayLayout) -> None:
        super().__init__(layout.size)
        self.element = coding_of(layout.elem_shape)
        self.offsets = [k * self.element.shape.width for k in range(layout.length)]

    def pack(self, value: Any) -> int:
        if isinstance(value, data.Const) or not hasattr(value, "__len__"):
            return super().pack(value)
        if len(value) != len(self.offsets):
            raise ValueError(f"{len(value)} values for an array of {len(self.offsets)}")
        items = zip(value, self.offsets, strict=True)
        return sum(self.element.pack(item) << offset for item, offset in items)

    def unpack(self, bits: int) -> Any:
        element, mask = self.element, self.element.mask
        return [element.unpack(bits >> offset & mask) for offset in self.offsets]


#: maps the identity of a shape to it and its coding: layouts are compared by content and so
#: have no hash
codings: dict[int, tuple[Any, Number]] = {}
MAX_CODINGS = 1024


def coding_of(shape: Any) -> Number:
    """Return the converter of a shape, looked up once, as benches ask for it every cycle."""
    known = codings.get(id(shape))
    if known is None:
        if len(codings) >= MAX_CODINGS:
            codings.clear()
        layout = layout_of(shape)
        kind: Any = Array if isinstance(layout, data.ArrayLayout) else Struct
        known = codings[id(shape)] = (shape, Number(shape) if layout is None else kind(layout))
    return known[1]


def pack(shape: Any, value: Any) -> int:
    """Return ``value`` as bits: mappings become structs, sequences arrays, numbers themselves.

    NumPy's arrays and numbers will do. A whole number or a constant in place of a struct or an
    array is its bits. A field that is left out is 0. What does not fit raises ValueError.
    """
    return coding_of(shape).pack(value)


def unpack(shape: Any, bits: int) -> Any:
    """Return the value of ``bits`` as :func:`pack` takes it, with enumerations as members."""
    return coding_of(shape).unpack(bits)


def layout_of(shape: Any) -> data.Layout | None:
    """Return the layout of an aggregate shape; None for any other."""
    if isinstance(shape, data.Layout):
        return shape
    aggregate = isinstance(shape, type) and issubclass(shape, data.Struct | data.Union)
    return data.Layout.cast(cast(Any, shape)) if aggregate else None


def payload_shape(component: Component, name: str) -> Any:
    """Return the payload's shape of the stream whose ports are ``name_payload`` and so on."""
    result = dict(streams_in(component.signature))
    if name not in result:
        raise LookupError(f"no stream {name} in {type(component).__name__}: {', '.join(result)}")
    return result[name].members["payload"].shape


def streams_in(signature: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every stream of ``signature``, with the name that its ports begin with."""
    for name, member in signature.members.items():
        if member.is_signature:
            for path in numbered(prefix + name, member.dimensions):
                if isinstance(member.signature, stream.Signature):
                    yield path, member.signature
                else:
                    yield from streams_in(member.signature, f"{path}_")


def numbered(name: str, dimensions: tuple[int, ...]) -> list[str]:
    """Return ``name`` for each element of an array of interfaces: name_0, name_1, ..."""
    names = [name]
    for size in dimensions:
        names = [f"{prefix}_{index}" for prefix in names for index in range(size)]
    return names
