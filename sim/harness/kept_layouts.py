"""Makes the layouts of parameters once in a simulation.

Parameters have their layouts as properties, which are made anew whenever they are asked for. A
bench that packs a struct every cycle spends more time in that than in all else.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from amaranth.lib.data import Layout

__all__ = ["keep_layouts"]


def keep_layouts(params: Any) -> Any:
    """Let ``params``, and those inside, return the same layouts from now on; return ``params``.

    That changes the properties of their classes for the whole process, so it is for simulators.
    """
    if is_dataclass(params) and not isinstance(params, type):
        keep_properties(type(params))
        for field in fields(params):
            keep_layouts(getattr(params, field.name))
    return params


@cache
def keep_properties(kind: type) -> None:
    """Let the properties of a class keep what cannot change: layouts, and other parameters."""
    for owner in kind.__mro__:
        for name, item in list(vars(owner).items()):
            if isinstance(item, property) and item.fget is not None:
                setattr(owner, name, property(stored(name, item.fget), doc=item.__doc__))


def stored(name: str, make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make the getter of a property that computes its value once for each object."""
    place = f"_kept_{name}"

    def get(params: Any) -> Any:
        own = getattr(params, "__dict__", {})
        if place not in own:
            value = make(params)
            if not (isinstance(value, Layout) or is_frozen(value)):
                return value
            own[place] = keep_layouts(value)
        return own[place]

    return get


def is_frozen(value: Any) -> bool:
    """Return whether it is the object of a frozen dataclass, as parameters are."""
    return is_dataclass(value) and not isinstance(value, type) and value.__dataclass_params__.frozen  # type: ignore[attr-defined]
