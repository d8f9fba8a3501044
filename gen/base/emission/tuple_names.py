"""Names signals that a statement makes together after its variables.

Amaranth reads a signal's name from the bytecode behind the call that makes it, where
``a, b = Signal(), Signal()`` has none. The call's place in its file leads to the variable instead.
"""

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any
from unittest.mock import patch

from gen.base.emission.amaranth_internals import tracer

Place = tuple[int | None, int | None]  #: line and column


@cache
def variables(file: str) -> dict[Place, str]:
    """Return the variables of calls in tuples that are assigned to tuples, by the calls' places.

    There are none of what was compiled from no file.
    """
    result: dict[Place, str] = {}
    path = Path(file)
    for node in ast.walk(ast.parse(path.read_bytes() if path.is_file() else b"")):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for name, value in zip(names, values, strict=False):
                    if isinstance(name, ast.Name):
                        result[value.lineno, value.col_offset] = name.id
    return result


@cache
def places(code: CodeType) -> list[Place]:
    """Return where in its file each instruction's expression begins."""
    return [(line, column) for line, _, column, _ in code.co_positions()]


@contextmanager
def named_tuples() -> Iterator[None]:
    """Let Amaranth find names in tuples, too."""
    original = tracer.get_var_name

    def get_var_name(depth: int = 2, **default: Any) -> Any:
        name = original(depth + 1, **default)
        if name != default.get("default"):
            return name
        frame = sys._getframe(depth)
        at = places(frame.f_code)[frame.f_lasti // 2]
        return variables(frame.f_code.co_filename).get(at, name)

    with patch.object(tracer, "get_var_name", get_var_name):
        yield
