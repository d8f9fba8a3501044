"""Says what goes wrong with a rule of which one clause is altered."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest


class Variant(NamedTuple):
    """Other rules, what goes wrong with them first, and after how many steps, if that is known."""

    rules: Any
    fault: str = ""
    steps: int | None = None
    system: Any = None  # that it goes wrong in, if that is not the group's


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
