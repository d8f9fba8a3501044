"""Describes what a specification may set, and the values of its axes."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import exp, log
from typing import Any

from gen.base.errors import UserError
from gen.base.settings import Parameter, convert, parameters
from gen.designs.design import Design
from gen.sweep.spec import Range, Scalar
from gen.sweep.subject import Subject


@dataclass(frozen=True)
class Setting:
    """Describes a name that a specification may set."""

    name: str  #: name of the axis, as in results
    of_hardware: bool  #: whether it sets a parameter of the hardware, or else of the workload
    parameter: Parameter


def settings_of(design: Design, subject: Subject) -> Iterator[Setting]:
    """Yield all settings; names that hardware and workload share are written in full."""
    hardware, work = list(parameters(design.params_class)), list(parameters(subject.workload))
    words = [parameter.name for parameter in (*hardware, *work)]
    for parameter in hardware:
        alone = words.count(parameter.name) == 1
        name = parameter.name if alone else parameter.path
        if not alone and "." not in name:
            name = f"hardware.{name}"
        yield Setting(name, True, parameter)
    for parameter in work:
        yield Setting(parameter.name, False, parameter)


def full_name(setting: Setting) -> str:
    """Return a name that no other setting has."""
    if setting.of_hardware:
        return setting.parameter.path if "." in setting.name else setting.name
    return f"workload.{setting.parameter.path}"


def converted_axis(setting: Setting, axis: list[Scalar] | Range) -> list[Any] | Range:
    """Return the values of an axis, converted to the setting's type."""
    if isinstance(axis, list):
        result = [convert(setting.parameter, value) for value in axis]
        if len(set(result)) < len(result):
            raise UserError(f"{setting.name} has a value twice")
        return result
    for end in (axis.start, axis.to):
        convert(setting.parameter, end)
    return axis


def listed(setting: Setting, axis: list[Any] | Range) -> list[Any]:
    """Return the values of an axis one by one, converted to the setting's type."""
    try:
        values = axis.values() if isinstance(axis, Range) else axis
    except ValueError as error:
        raise UserError(f"{setting.name}: {error}") from error
    return [convert(setting.parameter, value) for value in values]


def check_once(parts: Iterable[tuple[str, Iterable[Setting]]]) -> None:
    """Raise UserError if two parts of a specification have a setting."""
    homes: dict[Setting, str] = {}
    for part, settings in parts:
        for setting in settings:
            if setting in homes:
                raise UserError(f"{setting.name} is in {homes[setting]} and in {part}")
            homes[setting] = part


def drawn(axis: Sequence[Any] | Range, draw: random.Random) -> Any:
    """Draw a value of an axis."""
    if not isinstance(axis, Range):
        return draw.choice(axis)
    if axis.log:
        value = exp(draw.uniform(log(axis.start), log(axis.to)))
        return min(round(value), int(axis.to)) if axis.whole else value
    if axis.whole or axis.step is not None:
        return draw.choice(axis.values())
    return draw.uniform(axis.start, axis.to)


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return value.value if isinstance(value, Enum) else value
