"""Copies Python modules of this project into a folder where they stand without it.

A host package is made of modules that are checked and tested here: those that are named, and all
that these import of the project. In the copies, imports of each other are relative.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

OWN = re.compile(r"^from ((?:gen|hdl|sim)\.[\w.]+) import ", re.MULTILINE)
OUTSIDE = ("gen", "hdl", "sim", "ingather")


def source_of(module: str) -> str:
    """Return the text of a module of this project; ValueError if there is none."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no module {module}")
    return Path(spec.origin).read_text()


def closure(modules: Iterable[str]) -> dict[str, str]:
    """Return the texts of ``modules`` and of all of the project that they import, by module."""
    result: dict[str, str] = {}
    left = list(modules)
    while left:
        module = left.pop()
        if module not in result:
            result[module] = source_of(module)
            left += OWN.findall(result[module])
    return dict(sorted(result.items()))


def copied(modules: Iterable[str], package: str) -> dict[str, str]:
    """Return the files of ``package`` with ``modules`` and what they import, by path.

    ValueError if two of them have one name, or if one imports the project in another way than
    ``from module import name``.
    """
    texts = closure(modules)
    files = {f"{package}/{file_name(module)}": standing(t, ".") for module, t in texts.items()}
    if len(files) < len(texts):
        raise ValueError(f"{package}: two modules have the same name: {', '.join(texts)}")
    return files


def file_name(module: str) -> str:
    """Return the name of a module's file in a package."""
    return f"{module.rpartition('.')[2]}.py"


def standing(text: str, where: str) -> str:
    """Return a module's text with each import of the project taken from ``where``.

    ``where`` is "." in a package, and ``"NAME."`` in a script that uses the package NAME.
    """
    built = OWN.sub(lambda result: f"from {where}{result[1].rpartition('.')[2]} import ", text)
    if left := sorted({*imported(built)} & {*OUTSIDE}):
        raise ValueError(f"a copy would import {', '.join(left)}")
    return built


def imported(text: str) -> Iterator[str]:
    """Yield the first name of each module that ``text`` imports absolutely."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]
