"""Chooses the values of a payload that are worth a bin: its extremes, its enumerations."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import EnumMeta
from functools import lru_cache
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data

from sim.harness.payloads import layout_of

Condition = Callable[[int], bool]

NUMBER_BITS = 64  #: wider ones are data without a meaning as a number
ENABLES = ("tkeep", "wstrb")
ELEMENTS = 8  #: elements that are looked at of an array, at either end


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """Describes a number, an enumeration or a bit somewhere in a payload."""

    name: str  #: ``header.length``; elements of arrays share ``delta[]``
    offset: int  #: its lowest bit
    shape: Any

    @property
    def named(self) -> bool:
        """Return whether the values of the leaf have names."""
        return isinstance(self.shape, EnumMeta)


def leaves(shape: Any, name: str = "", offset: int = 0) -> Iterator[Leaf]:
    """Yield every leaf of ``shape``; long arrays only at their ends."""
    layout = layout_of(shape)
    if layout is None:
        yield Leaf(name=name, offset=offset, shape=shape)
    elif isinstance(layout, data.ArrayLayout):
        width = Shape.cast(layout.elem_shape).width
        for k in range(layout.length):
            if k < ELEMENTS or k >= layout.length - ELEMENTS:
                yield from leaves(layout.elem_shape, f"{name}[]", offset + k * width)
    elif isinstance(layout, data.StructLayout):
        for key, field in layout:
            path = f"{name}.{key}" if name else str(key)
            yield from leaves(field.shape, path, offset + field.offset)


def value_bins(leaf: Leaf, level: bool = False) -> dict[str, Condition]:
    """Return the bins of a leaf, by name, each with what it asks of the leaf's bits.

    Each value of an enumeration, a bit zero or not, the extremes of a signed number and of an
    unsigned one that is all of a payload: that is data. As a field it is a place or a count, whose
    limit the parameters set: its highest bit shows that it is not cut short. A ``level`` is only
    not zero once.
    """
    plain = Shape.cast(leaf.shape)
    if leaf.named:
        members: list[Any] = list(leaf.shape)
        return {member.name: equals(plain, member) for member in members}
    if leaf.name in ENABLES:
        return enables(plain.width)
    if not 1 <= plain.width <= NUMBER_BITS:
        return {}
    top, ones = 1 << plain.width - 1, (1 << plain.width) - 1
    zero: dict[str, Condition] = {"zero": lambda bits: bits == 0}
    other: dict[str, Condition] = {"not zero": lambda bits: bits != 0}
    if plain.signed:
        return zero | {
            "negative": lambda bits: bits >= top,
            "most negative": lambda bits: bits == top,
            "most positive": lambda bits: bits == top - 1,
        }
    if level:
        return other
    if plain.width == 1:
        return zero | other
    highest: dict[str, Condition] = {"highest bit": lambda bits: bits >= top}
    return zero | highest if leaf.name else zero | highest | {"all ones": lambda b: b == ones}


def enables(width: int) -> dict[str, Condition]:
    """Return the bins of a beat's byte enables."""
    ones = (1 << width) - 1
    return {"all": lambda bits: bits == ones, "some": lambda bits: bits not in (0, ones)}


def equals(plain: Shape, value: Any) -> Condition:
    """Return a function that tells whether bits of shape ``plain`` are ``value``."""
    expected = int(getattr(value, "value", value)) & ((1 << plain.width) - 1)
    return lambda bits: bits == expected


class Values:
    """Holds all bins of a payload: their ``names``, and those that given bits hit.

    ``level`` if it is no beat but stands at a port; if it is also ``provided`` from outside, the
    fields of a struct are settings, of which only those with named values are looked at.
    """

    def __init__(
        self, shape: Any, name: str = "", level: bool = False, provided: bool = False
    ) -> None:
        self.looks = []  # (offset, mask, [(bin, asks)])
        names: dict[str, None] = {}
        for leaf in leaves(shape, name):
            if level and provided and leaf.name and not leaf.named:
                continue
            bins = value_bins(leaf, level)
            label = f"{leaf.name} " if leaf.name else ""
            demands = [(f"{label}{key}", issue) for key, issue in bins.items()]
            names |= dict.fromkeys(bin for bin, _ in demands)
            if demands:
                mask = (1 << Shape.cast(leaf.shape).width) - 1
                self.looks.append((leaf.offset, mask, demands))
        self.names = tuple(names)
        self.hit = lru_cache(maxsize=4096)(self._hit)

    def _hit(self, bits: int) -> frozenset[str]:
        return frozenset(
            name
            for offset, mask, demands in self.looks
            for name, issue in demands
            if issue(bits >> offset & mask)
        )
