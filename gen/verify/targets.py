"""Finds the tests of what a user names."""

from collections.abc import Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from gen.base.errors import UserError
from gen.designs.catalogue import designs
from sim.harness.cache import CHECKOUT
from sim.harness.closure import Sources

#: what is collected when nothing is named; what simulates is chosen from it
EVERYTHING = ("tests",)


def targets(root: Path, names: Sequence[str]) -> list[str]:
    """Return paths of tests in checkout ``root`` for what is named, each once.

    A name is a design (the tests of every package from which the design takes a component), a
    component or package (``hdl.p4sgd.engine.bank``, ``hdl/p4sgd/engine/bank.py``), or a path under
    tests, which may end in ``::item``. Raises UserError for all else.
    """
    if not (root / "tests").is_dir():
        raise UserError("verify runs the tests of a checkout: there are none beside this package")
    result = [path for name in names for path in tests_of(root, name)]
    return list(dict.fromkeys(result)) or list(EVERYTHING)


def checkout_of(names: Sequence[str]) -> Path:
    """Return the checkout whose tests are meant: ours, or that of another package's design."""
    roots = {root_of(name) for name in names} or {CHECKOUT}
    if len(roots) > 1:
        raise UserError(f"{', '.join(names)} are of different checkouts: verify one at a time")
    return roots.pop()


def root_of(name: str) -> Path:
    """Return the checkout of ``name``: the folder nearest to its component that has tests."""
    module = designs()[name].component.partition(":")[0] if name in designs() else "hdl"
    if module.partition(".")[0] == "hdl":
        return CHECKOUT
    spec = find_spec(module)
    file = Path((spec and spec.origin) or ".").resolve()
    for folder in file.parents:
        if (folder / "tests").is_dir():
            return folder
    raise UserError(f"{name} has no tests: no folder tests is beside {file}")


def tests_of(root: Path, name: str) -> list[str]:
    """Return the paths of the tests for one name."""
    if name in designs():
        if root != CHECKOUT:
            return list(EVERYTHING)
        return tests_of_design(root, designs()[name].component.partition(":")[0])
    path, colons, item = name.partition("::")
    path = path.removeprefix("./").rstrip("/")
    inside = path == "tests" or (path.startswith("tests/") and ".." not in path.split("/"))
    if inside and (root / path).exists():
        return [path + colons + item]
    if module := module_of(root, name):
        return tests_of_module(root, module)
    raise nothing(root, name)


def tests_of_design(root: Path, top: str) -> list[str]:
    """Return the test folders that mirror all hardware that ``top`` depends on."""
    sources = Sources(root)
    files = (path for path in sources.files([top]) if path.name != "__init__.py")
    folders = {Path(sources.shown(path)).parent.as_posix() for path in files}
    return [
        str(path.relative_to(root))
        for folder in sorted(folders)
        for path in sorted((root / "tests" / folder).glob("test_*.py"))
    ]


def module_of(root: Path, name: str) -> str | None:
    """Return the module or package of hdl that ``name`` means: dotted, with a class, or a path."""
    dotted = name.removeprefix("./").rstrip("/").removesuffix(".py").replace("/", ".")
    if dotted.partition(".")[0] != "hdl":
        return None
    for candidate in (dotted, dotted.rpartition(".")[0]):
        present = root.joinpath(*candidate.split("."))
        if candidate and (present.is_dir() or present.with_suffix(".py").is_file()):
            return (
                candidate if candidate == dotted or present.with_suffix(".py").is_file() else None
            )
    return None


def tests_of_module(root: Path, module: str) -> list[str]:
    """Return the tests that mirror a module, or else those of its package."""
    path = Path(*module.split("."))
    for mirror in (Path("tests") / path, Path("tests") / path.parent / f"test_{path.name}.py"):
        if (root / mirror).exists():
            return [str(mirror)]
    if len(path.parts) < 2:
        raise UserError(f"no tests are of {module}")
    return tests_of_module(root, ".".join(path.parent.parts))


def nothing(root: Path, name: str) -> UserError:
    """Make the error for a name that means nothing; it suggests the nearest known one."""
    files = [path.relative_to(root) for path in (root / "hdl").rglob("*.py")]
    modules = [".".join(path.with_suffix("").parts) for path in files]
    paths = [str(path.relative_to(root)) for path in (root / "tests").rglob("test_*.py")]
    nearest = get_close_matches(name, [*designs(), *modules, *paths], n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    return UserError(
        f"nothing to verify is called {name!r}; {hint}name a design of `ingather list`,"
        " a component of `ingather mutate --list`, or a path under tests"
    )
