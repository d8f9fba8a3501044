"""Finds out which tests simulate, without running them."""

import inspect
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

OWN = ("tests", "sim", "gen")  #: packages in which calls are followed
TARGETS = {("sim.harness.verilator", "simulate"), ("sim.harness.verilator", "run")}


def simulates(function: Callable[..., Any]) -> bool:
    """Return whether ``function``, or what it calls by name, can reach ``simulate`` or ``run``.

    Names are looked up in the globals of each function on the way, so that helpers, fixtures'
    own helpers and whole end-to-end runs count; what is called through an object's attribute or
    in another process does not.
    """
    waiting, seen = [plain(function)], set[CodeType]()
    while waiting:
        current = waiting.pop()
        if current is None or current.__code__ in seen:
            continue
        if (current.__module__, current.__qualname__) in TARGETS:
            return True
        seen.add(current.__code__)
        waiting.extend(named_in(current))
    return False


@cache
def named_in(function: FunctionType) -> tuple[FunctionType, ...]:
    """Return the functions of ours that ``function`` names."""
    names = list(names_of(function.__code__))
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    values += [cell.cell_contents for cell in function.__closure__ or () if filled(cell)]
    modules = [value for value in values if isinstance(value, ModuleType)]
    values += [vars(module)[name] for module in modules for name in names if name in vars(module)]
    result = [plain(part) for value in values for part in parts_of(value)]
    return tuple(f for f in result if f is not None and own(f.__module__))


def names_of(code: CodeType) -> Iterator[str]:
    """Yield the global names and attributes in ``code`` and in the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_of(constant)


def filled(cell: Any) -> bool:
    """Return whether a variable of an outer function has a value yet."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def parts_of(value: Any) -> list[Any]:
    """Return ``value``, or the functions of a class of ours and of those that it is made from."""
    if isinstance(value, type):
        classes = [item for item in value.__mro__ if own(item.__module__)]
        return [part for item in classes for part in vars(item).values()]
    return [value]


def own(module: str | None) -> bool:
    """Return whether calls in ``module`` are followed."""
    return (module or "").partition(".")[0] in OWN


def plain(value: Any) -> FunctionType | None:
    """Return the function inside of decorators and methods; None if there is none."""
    while isinstance(value, partial):
        value = value.func
    value = getattr(value, "__func__", value)
    if not callable(value):
        return None
    value = inspect.unwrap(value)
    return value if isinstance(value, FunctionType) else None
