"""Finds the files that something depends on: what its modules import, name and have beside them.

A file of Python brings, wherever in it they stand:

- the modules that it imports, functions' own imports too, and the packages that these are in;
- the modules that a string of it names, ``sim.p4sgd.train_in_simulator`` or
  ``hdl.p4sgd.worker:Worker``;
- the other files of its folder, SystemVerilog, templates and tables, but neither pages of text
  nor pictures; and those of a folder without Python in it that a string of it names.

:data:`TABLES` are left out with all that they bring. Modules are followed in our own packages and
in those of the modules that are asked for, so that a user's design depends on the user's package.
"""

import ast
import os
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.util import find_spec, resolve_name
from pathlib import Path

from sim.harness.cache import CHECKOUT, digest

OWN = ("hdl", "gen", "sim", "tests")
#: lists tables of all designs: who depends on an entry asks for the modules that it names
TABLES = ("gen.designs.catalogue", "gen.cli", "gen.sweep.subject", "sim.functional.units")
UNREAD = (".md", ".png", ".svg", ".pyc")
MODULE = re.compile(r"(\w+(?:\.\w+)+)(?::\w+)?")


class Sources:
    """Reads the files of a checkout or an installation, each once."""

    def __init__(self, root: Path = CHECKOUT) -> None:
        self.root = root
        self._beside = cache(files_beside)
        self._digest = cache(lambda path: digest(path.read_bytes().hex()))
        self._named = cache(lambda path: names_in(path.read_text(encoding="utf-8")))
        self._files = cache(self._follow)
        self._own = cache(self._below_root)

    def digest(self, modules: Iterable[str]) -> str:
        """Return a hash of the names and contents of all files that ``modules`` depend on."""
        files = sorted((self.shown(path), path) for path in self.files(modules))
        return digest(*(part for name, path in files for part in (name, self._digest(path))))

    def files(self, modules: Iterable[str]) -> frozenset[Path]:
        """Return all files that ``modules`` depend on; raise LookupError if one is not known."""
        return self._files(frozenset(modules))

    def _follow(self, modules: frozenset[str]) -> frozenset[Path]:
        """Follow what files bring, from those of ``modules`` on."""
        waiting = list(modules)
        followed = {*OWN, *(name.partition(".")[0] for name in waiting)}
        if strange := [name for name in waiting if self.file_of(name) is None]:
            raise LookupError(f"no file is of module {strange[0]}")
        seen: set[str] = set(TABLES)
        result: set[Path] = set()
        while waiting:
            name = waiting.pop()
            if name in seen or name.partition(".")[0] not in followed:
                continue
            seen.add(name)
            waiting += [name.rpartition(".")[0]] if "." in name else []
            if (path := self.file_of(name)) is not None:
                result |= {path, *self._beside(path)}
                package = name if path.name == "__init__.py" else name.rpartition(".")[0]
                waiting += [resolve_name(new, package) for new in self._named(path)]
        return frozenset(result)

    def edited(self, modules: Iterable[str], since: float) -> bool:
        """Return whether a file below the root that ``modules`` depend on was written after
        ``since``.

        ``since`` is in seconds, as ``time.time`` counts.
        """
        return any(os.stat(path).st_mtime > since for path in self._own(frozenset(modules)))

    def _below_root(self, modules: frozenset[str]) -> tuple[str, ...]:
        """Return the paths below the root that ``modules`` depend on."""
        return tuple(str(path) for path in self.files(modules) if path.is_relative_to(self.root))

    def file_of(self, module: str) -> Path | None:
        """Return the file of a module, or a package's ``__init__.py``; None if there is none."""
        top, *rest = module.split(".")
        place = (self.root / top if top in OWN else place_of(top)).joinpath(*rest)
        files = (place / "__init__.py", place.with_name(f"{place.name}.py"))
        return next((path for path in files if path.is_file()), None)

    def shown(self, path: Path) -> str:
        """Return ``path`` as seen from the root if it is below it."""
        inside = path.is_relative_to(self.root)
        return path.relative_to(self.root).as_posix() if inside else str(path)


@lru_cache(maxsize=4096)
def names_in(text: str) -> frozenset[str]:
    """Return names that may be modules: what a Python file imports, and what its strings name."""
    result: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            within = base if base.endswith(".") else f"{base}."
            result |= {base, *(within + alias.name for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            result |= {match[1]} if (match := MODULE.fullmatch(node.value)) else set()
    return frozenset(result)


def files_beside(module: Path) -> frozenset[Path]:
    """Return the files beside a file of Python that it may read."""
    text = module.read_text(encoding="utf-8")
    result: set[Path] = set()
    for path in module.parent.iterdir():
        named = path.is_dir() and re.search(rf"""["']{re.escape(path.name)}["']""", text)
        inside = sorted(path.rglob("*")) if named else [path]
        if not any(item.suffix == ".py" for item in inside):
            result.update(item for item in inside if item.is_file() and item.suffix not in UNREAD)
    return frozenset(result)


@cache
def place_of(package: str) -> Path:
    """Return where a user's package or module is, without .py; its own name if it is nowhere."""
    result = find_spec(package)
    places = [*(result.submodule_search_locations or ()), result.origin] if result else []
    return Path(next(filter(None, places), package)).with_suffix("")


SOURCES = Sources()


def digest_of(modules: Iterable[str]) -> str:
    """Return a hash of all that ``modules`` depend on, as this process first read it."""
    return SOURCES.digest(tuple(modules))
