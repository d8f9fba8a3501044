"""Says what goes wrong with a rule of which one clause is altered."""

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from tests.protocol.explore import STUCK
from tests.tables import rows


class Variant(NamedTuple):
    """Other rules, what goes wrong with them first, and after how many steps, if that is known."""

    rules: Any
    fault: str = ""
    steps: int | None = None
    system: Any = None  # that it goes wrong in, if that is not the group's


def edited(rule: Callable, *edits: str, part: Callable | None = None) -> Callable:
    """Return the rule with texts of its module's functions replaced: ``old => new``.

    Each text stands there once, or else in the module of ``part``, of which the rule's module uses
    functions; ``\\n`` is the end of a line.
    """
    names: dict[str, Any] = {}
    for function in (part, rule):
        module = inspect.getmodule(function)
        source = functions_of(module) if module else ""
        for edit in edits:
            old, new = (text.strip() for text in edit.replace("\\n", "\n").split("=>"))
            if function is rule or old in source:
                assert source.count(old) == 1, old
                source = source.replace(old, new)
                edits = tuple(item for item in edits if item != edit)
        if module:
            names = vars(module) | {name: names[name] for name in vars(module) if name in names}
            exec(source, names)
            names = {name: item for name, item in names.items() if inspect.isfunction(item)}
    called = rule.__code__.co_names  # by a lambda, which stands for a function that it calls
    return names[called[0] if rule.__name__ == "<lambda>" else rule.__name__]


def functions_of(module: Any) -> str:
    """Return the source of a module's functions."""
    source = inspect.getsource(module)
    functions = [item for item in ast.parse(source).body if isinstance(item, ast.FunctionDef)]
    return "\n".join(str(ast.get_source_segment(source, item)) for item in functions)


def variants(
    nodes: ModuleType,
    text: str,
    *,
    base: Any = None,
    systems: ModuleType | None = None,
    **parts: Callable,
) -> dict[str, Variant]:
    """Return variants of the rules ``base`` of ``nodes``, by name, of a text with a line for each.

    A line says ``name; field; old => new; FAULT; steps``: which of the rules is edited, the fault
    as ``nodes`` call it, and how many steps it takes; then which of ``systems``, if they are given.
    Another field and edit may follow the first; what is harmless has no fault. ``parts`` are those
    of :func:`edited`, by field.
    """
    result = {}
    for name, *cells in rows(text, ";"):
        system = vars(systems)[cells.pop()] if systems else None
        steps = int(cells.pop()) if cells[-1].isdecimal() else None
        fault = vars(nodes).get(cells.pop(), STUCK) if len(cells) % 2 else ""
        rules, edits = nodes.Rules() if base is None else base, {}
        for field, edit in zip(cells[::2], cells[1::2], strict=True):
            edits.setdefault(field, []).append(edit)
        for field, several in edits.items():
            outer, _, inner = field.partition(".")
            changed = getattr(rules, outer)
            rule = getattr(changed, inner) if inner else changed
            other = edited(rule, *several, part=parts.get(field))
            rules = replace(
                rules, **{outer: replace(changed, **{inner: other}) if inner else other}
            )
        result[name] = Variant(rules, fault, steps, system)
    return result


def altered(rule: Callable, change: Callable, *verdicts: Any) -> Callable:
    """Return the rule, except that at one of `verdicts`, or at any if there are none, `change`
    makes another outcome of the rule's and of what the rule was given.
    """

    def other(*provided: Any) -> Any:
        outcome = rule(*provided)
        changes = not verdicts or outcome.verdict in verdicts
        return change(outcome, *provided) if changes else outcome

    return other


def parametrized(*groups: tuple[Any, Mapping[str, Variant]]) -> list:
    """Return the parameters of a test: for each variant its name, its system, and it."""
    return [
        pytest.param(name, variant.system or system, variant, id=name)
        for system, variants in groups
        for name, variant in variants.items()
    ]
