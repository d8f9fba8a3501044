"""Between the plain values that tests write and the bits that ports carry."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from amaranth.hdl import Shape, ShapeCastable
from amaranth.lib import data, stream

from hdl.common.component import Component


def pack(shape: Any, value: Any) -> int:
    """``value`` as bits: mappings for structs, sequences for arrays, whole numbers else.

    NumPy's arrays and numbers will do. A whole number in place of a struct or an array is its
    bits. A field that is left out is 0. What does not fit raises ValueError.
    """
    if isinstance(value, data.Const):
        return value.as_bits()
    layout = layout_of(shape)
    if isinstance(value, Mapping) and layout is not None:
        for key in value:
            if key not in dict(layout):
                raise ValueError(f"no field {key!r} in {layout!r}")
        fields = {key: field for key, field in layout if key in value}
        return sum(pack(f.shape, value[key]) << f.offset for key, f in fields.items())
    if isinstance(layout, data.ArrayLayout) and hasattr(value, "__len__"):
        if len(value) != layout.length:
            raise ValueError(f"{len(value)} values for an array of {layout.length}")
        width = Shape.cast(layout.elem_shape).width
        return sum(pack(layout.elem_shape, item) << k * width for k, item in enumerate(value))
    return pack_number(shape if layout is None else layout.size, value)


def pack_number(shape: Any, value: Any) -> int:
    """A whole number or a member of an enumeration as bits; ValueError if it does not fit."""
    number = int(getattr(value, "value", value))
    plain = Shape.cast(shape)
    low = -(1 << plain.width - 1) if plain.signed else 0
    if not low <= number < low + (1 << plain.width):
        raise ValueError(f"{number} does not fit {plain!r}")
    return number & ((1 << plain.width) - 1)


def unpack(shape: Any, bits: int) -> Any:
    """What :func:`pack` takes: dicts, lists and whole numbers, enumerations as their members."""
    layout = layout_of(shape)
    if isinstance(layout, data.ArrayLayout):
        width = Shape.cast(layout.elem_shape).width
        mask = (1 << width) - 1
        return [unpack(layout.elem_shape, bits >> k * width & mask) for k in range(layout.length)]
    if layout is not None:
        return {
            key: unpack(field.shape, bits >> field.offset & ((1 << field.width) - 1))
            for key, field in layout
        }
    if isinstance(shape, ShapeCastable):
        return shape.from_bits(bits)
    plain = Shape.cast(shape)
    return bits - (1 << plain.width) if plain.signed and bits >> plain.width - 1 else bits


def layout_of(shape: Any) -> data.Layout | None:
    """The layout of an aggregate shape, None for any other."""
    if isinstance(shape, data.Layout):
        return shape
    aggregate = isinstance(shape, type) and issubclass(shape, data.Struct | data.Union)
    return data.Layout.cast(cast(Any, shape)) if aggregate else None


def payload_shape(component: Component, name: str) -> Any:
    """The payload's shape of the stream whose ports are ``name_payload`` and so on."""
    found = dict(streams_in(component.signature))
    if name not in found:
        raise LookupError(f"no stream {name} in {type(component).__name__}: {', '.join(found)}")
    return found[name].members["payload"].shape


def streams_in(signature: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every stream of ``signature`` with the name its ports start with."""
    for name, member in signature.members.items():
        if member.is_signature:
            for path in numbered(prefix + name, member.dimensions):
                if isinstance(member.signature, stream.Signature):
                    yield path, member.signature
                else:
                    yield from streams_in(member.signature, f"{path}_")


def numbered(name: str, dimensions: tuple[int, ...]) -> list[str]:
    """``name`` for each element of an array of interfaces: name_0, name_1, ..."""
    names = [name]
    for size in dimensions:
        names = [f"{prefix}_{index}" for prefix in names for index in range(size)]
    return names
