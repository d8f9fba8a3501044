"""Turns ``name=value``, as a user writes it, into a frozen dataclass of parameters."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from os import PathLike
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from gen.base.comments import comment_of
from gen.base.errors import UserError, unknown
from hdl.common.rules import Rule

NUMBERS = ConfigDict(coerce_numbers_to_str=True)  #: text may be a number, as in ``test=0.2``


@dataclass(frozen=True)
class Parameter:
    """Describes a field of a dataclass of parameters, or of a dataclass inside it."""

    path: str  #: names from the outer dataclass on, such as ``engine.banks``
    kind: Any
    default: Any
    doc: str  #: what it is, and in brackets what is legal

    @property
    def name(self) -> str:
        """Return the last word of the parameter's path."""
        return self.path.rpartition(".")[2]


def parameters(params_class: Any, prefix: str = "") -> Iterator[Parameter]:
    """Yield every plain field of ``params_class``, those of nested dataclasses in place."""
    hints = get_type_hints(params_class)
    source = source_of(params_class)
    for field in fields(params_class):
        path = prefix + field.name
        if is_dataclass(hints[field.name]):
            yield from parameters(hints[field.name], f"{path}.")
        else:
            default = None if field.default is MISSING else field.default
            yield Parameter(path, hints[field.name], default, about(field, source))


@cache
def source_of(params_class: Any) -> str:
    """Return the source of a dataclass, and of those that it inherits from."""
    bases = (kind for kind in params_class.__mro__ if "__dataclass_fields__" in vars(kind))
    return "".join(inspect.getsource(kind) for kind in bases)


def about(field: Field[Any], source: str) -> str:
    """Return what a field means: its help in a workload, or its comment, and what is legal."""
    rule = field.metadata.get("rule")
    return field.metadata.get("help") or with_limits(comment_of(field.name, source), rule)


def with_limits(doc: str, rule: Rule | None) -> str:
    """Return what a field means, followed by what is legal, if there is a limit."""
    return f"{doc} ({rule.short})" if rule and rule.short else doc


def find_parameter(params_class: Any, name: str) -> Parameter:
    """Return the parameter of that path, or the only one whose last name it is."""
    known = list(parameters(params_class))
    result = [p for p in known if name == p.path] or [p for p in known if name == p.name]
    if not result:
        raise unknown("parameter", name, [p.path if "." in name else p.name for p in known])
    if len(result) > 1:
        raise UserError(f"{name} could be: {', '.join(p.path for p in result)}")
    return result[0]


def parse_settings(texts: Sequence[str]) -> dict[str, str]:
    """Parse texts such as ``engines=4``; raise UserError for other forms, or a name twice."""
    settings: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise UserError(f"a setting is name=value: {text!r}")
        if name in settings:
            raise UserError(f"{name} is set twice")
        settings[name] = value
    return settings


def make_params(params_class: Any, *settings: Mapping[str, Any]) -> Any:
    """Make ``params_class`` from its defaults and ``settings``, of which later ones win."""
    chosen: dict[str, Any] = {}
    for mapping in settings:
        for name, value in mapping.items():
            parameter = find_parameter(params_class, name)
            chosen[parameter.path] = convert(parameter, value)
    try:
        return construct(params_class, chosen)
    except ValueError as error:
        raise UserError(" ".join(str(error).split())) from error


def convert(parameter: Parameter, value: Any) -> Any:
    """Convert ``value`` to the type that the parameter takes: a text, NumPy's number, a path."""
    plain = value.item() if hasattr(value, "item") else value
    plain = str(plain) if isinstance(plain, PathLike) else plain
    try:
        return TypeAdapter(parameter.kind, config=NUMBERS).validate_python(plain)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Input should be ")
        raise UserError(f"{parameter.name} should be {problem}: {value!r}") from error


def construct(params_class: Any, chosen: Mapping[str, Any], prefix: str = "") -> Any:
    """Make ``params_class`` from values by the paths of its parameters."""
    hints = get_type_hints(params_class)
    values = {}
    for field in fields(params_class):
        path = prefix + field.name
        if is_dataclass(hints[field.name]):
            values[field.name] = construct(hints[field.name], chosen, f"{path}.")
        elif path in chosen:
            values[field.name] = chosen[path]
    return params_class(**values)
