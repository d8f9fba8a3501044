"""Turns the fields of a workload into the options of a command."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, fields
from typing import Annotated, Any, get_type_hints

import typer

from gen.base.settings import find_parameter, with_limits
from gen.designs.design import load
from gen.software.copies import source_of
from hdl.common.rules import Whole

#: the source of a field that is a whole number from one literal to another, and its comment
PLAIN_RANGE = r"whole\((\d+), (\d+), default=\d+\)  #: (.*)$"


def parameter(name: str, kind: Any, default: Any, option: Any) -> inspect.Parameter:
    """Return a keyword parameter of a command's function, given as ``option``."""
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option],
    )


def spelled(name: str) -> str:
    """Return a name as an option: ``--like-this``."""
    return f"--{name.replace('_', '-')}"


def options_of(workload: type) -> Iterator[inspect.Parameter]:
    """Yield an option for each field of ``workload``."""
    hints = get_type_hints(workload)
    for item in fields(workload):
        if hints[item.name] is bool:
            yield flag_of(item)
        else:
            yield value_of(item, hints[item.name])


def flag_of(item: Field[Any]) -> inspect.Parameter:
    """Return the option ``--name``, or ``--no-name`` for a flag that is true by default."""
    about = item.metadata
    name = f"no_{item.name}" if item.default else item.name
    text = about["off"] if item.default else about["help"]
    option = typer.Option(spelled(name), *about["options"], help=text)
    return parameter(name, bool, False, option)


def value_of(item: Field[Any], kind: Any, of: str = "") -> inspect.Parameter:
    """Return the option ``--name VALUE`` of a field that takes a value.

    If it is only ``of`` some of what a command does, it is None unless the user gives it.
    """
    about = item.metadata
    option = typer.Option(
        spelled(item.name),
        *about["options"],
        help=f"{about['help'].removesuffix('.')} (only of {of})." if of else about["help"],
        min=about["least"],
        max=about["most"],
        metavar=about["metavar"],
        show_default=about["shown"] or (str(item.default) if of else True),
    )
    return parameter(item.name, kind | None if of else kind, None if of else item.default, option)


def shortcuts_of(params: str, names: Sequence[str]) -> Iterator[inspect.Parameter]:
    """Yield an option for each of ``names``, parameters of the hardware at the path ``params``.

    A whole number of a plain range is read in the source: to import hardware takes longer than to
    show a help text.
    """
    source = source_of(params.partition(":")[0]) if names else ""
    for name in names:
        if result := re.search(rf"^    {name}: int = {PLAIN_RANGE}", source, re.MULTILINE):
            kind, doc = int, with_limits(result[3], Whole(int(result[1]), int(result[2])))
        else:
            known = find_parameter(load(params), name)
            kind, doc = known.kind, known.doc
        text = f"Set a parameter of the hardware: {doc.rstrip('.')}."
        option = typer.Option(spelled(name), help=text, show_default="the preset's")
        yield parameter(name, kind | None, None, option)


def requested_from(workload: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``workload`` with the values of the options."""
    return {
        item.name: not values[f"no_{item.name}"]
        if f"no_{item.name}" in values
        else values[item.name]
        for item in fields(workload)
    }


def unused(requested: Any) -> Iterator[str]:
    """Yield a line for each option that was set and changes nothing beside the others."""
    for item in fields(requested):
        if item.name in requested.idle and getattr(requested, item.name) != item.default:
            name = f"no_{item.name}" if item.default is True else item.name
            yield f"{spelled(name)} has no effect on this run"


def with_options(function: Callable[..., None], options: list[inspect.Parameter]) -> Any:
    """Return ``function``, which takes any keywords, with the signature of ``options``."""

    def command(**values: Any) -> None:
        function(values)

    command.__signature__ = inspect.Signature(options)  # pyright: ignore[reportFunctionMemberAccess]
    command.__annotations__ = {item.name: item.annotation for item in options}
    return command
