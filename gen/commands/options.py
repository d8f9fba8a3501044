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
    for one in fields(workload):
        if hints[one.name] is bool:
            yield flag_of(one)
        else:
            yield value_of(one, hints[one.name])


def flag_of(one: Field[Any]) -> inspect.Parameter:
    """Return the option ``--name``, or ``--no-name`` for a flag that is true by default."""
    about = one.metadata
    name = f"no_{one.name}" if one.default else one.name
    text = about["off"] if one.default else about["help"]
    option = typer.Option(spelled(name), *about["options"], help=text)
    return parameter(name, bool, False, option)


def value_of(one: Field[Any], kind: Any, of: str = "") -> inspect.Parameter:
    """Return the option ``--name VALUE`` of a field that takes a value.

    If it is only ``of`` some of what a command does, it is None unless the user gives it.
    """
    about = one.metadata
    option = typer.Option(
        spelled(one.name),
        *about["options"],
        help=f"{about['help'].removesuffix('.')} (only of {of})." if of else about["help"],
        min=about["least"],
        max=about["most"],
        metavar=about["metavar"],
        show_default=about["shown"] or (str(one.default) if of else True),
    )
    return parameter(one.name, kind | None if of else kind, None if of else one.default, option)


def shortcuts_of(params: str, names: Sequence[str]) -> Iterator[inspect.Parameter]:
    """Yield an option for each of ``names``, parameters of the hardware at the path ``params``.

    A whole number of a plain range is read in the source: to import hardware takes longer than to
    show a help text.
    """
    source = source_of(params.partition(":")[0]) if names else ""
    for name in names:
        if found := re.search(rf"^    {name}: int = {PLAIN_RANGE}", source, re.MULTILINE):
            kind, doc = int, with_limits(found[3], Whole(int(found[1]), int(found[2])))
        else:
            known = find_parameter(load(params), name)
            kind, doc = known.kind, known.doc
        text = f"Set a parameter of the hardware: {doc.rstrip('.')}."
        option = typer.Option(spelled(name), help=text, show_default="the preset's")
        yield parameter(name, kind | None, None, option)


def asked_of(workload: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``workload`` with the values of the options."""
    return {
        one.name: not values[f"no_{one.name}"] if f"no_{one.name}" in values else values[one.name]
        for one in fields(workload)
    }


def unused(asked: Any) -> Iterator[str]:
    """Yield a line for each option that was set and changes nothing beside the others."""
    for one in fields(asked):
        if one.name in asked.idle and getattr(asked, one.name) != one.default:
            name = f"no_{one.name}" if one.default is True else one.name
            yield f"{spelled(name)} has no effect on this run"


def with_options(function: Callable[..., None], options: list[inspect.Parameter]) -> Any:
    """Return ``function``, which takes any keywords, with the signature of ``options``."""

    def command(**values: Any) -> None:
        function(values)

    command.__signature__ = inspect.Signature(options)  # pyright: ignore[reportFunctionMemberAccess]
    command.__annotations__ = {one.name: one.annotation for one in options}
    return command
