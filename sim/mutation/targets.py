"""The components that mutants are made of, and the tests that must find them."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from hdl.common.component import Component
from sim.harness.cache import CHECKOUT, digest
from sim.harness.verilate import class_path

FOLDERS = ("hdl/common", "hdl/p4sgd", "hdl/netsparse", "hdl/u280")

#: tests of the components that no test file of their own simulates: those of what they stand in
ELSEWHERE = {
    "hdl/netsparse/request_check.py": ("hdl/netsparse/test_work_queue.py",),
    "hdl/netsparse/rig/command_tally.py": ("hdl/netsparse/rig/test_client.py",),
    "hdl/netsparse/rig/slot_table.py": ("hdl/netsparse/rig/test_client.py",),
    "hdl/netsparse/snic.py": ("sim/netsparse/test_gather.py",),
    "hdl/p4sgd/engine/datapath.py": ("hdl/p4sgd/engine/test_engine.py",),
    "hdl/p4sgd/core/engine_group.py": ("hdl/p4sgd/core/test_engine_chain.py",),
    "hdl/p4sgd/host/model_writer.py": ("hdl/p4sgd/host/test_model_port.py",),
    "hdl/p4sgd/switch/slot_rule.py": ("hdl/p4sgd/switch/test_aggregator.py",),
}


@dataclass(frozen=True, kw_only=True)
class Target:
    """A class of hardware whose tests are put to the test."""

    component: type[Component]
    source: Path  #: its file
    tests: tuple[Path, ...]  #: pytest files

    @property
    def name(self) -> str:
        """``hdl.common.fifo.Fifo``."""
        return class_path(self.component)

    @property
    def key(self) -> str:
        """Equal keys are equal hardware and equal tests, as far as their sources tell."""
        files = sorted({*closure(self.source), *(f for t in self.tests for f in closure(t))})
        return digest(self.name, *(f"{shown(file)}\n{file.read_text()}" for file in files))


def shown(path: Path) -> str:
    """``path`` as seen from the checkout."""
    return path.relative_to(CHECKOUT).as_posix()


def all_targets() -> dict[str, Target]:
    """Every component that mutants are made of, by name; none outside a checkout."""
    if not (CHECKOUT / "tests").is_dir():
        return {}
    found = (target for folder in FOLDERS for target in components_in(folder))
    return {target.name: target for target in found}


def is_called(path: str, name: str) -> bool:
    """Whether ``name`` means the component at ``path``, or a package or module it is in."""
    return path == name or path.rpartition(".")[2] == name or path.startswith(f"{name}.")


def components_in(folder: str) -> Iterator[Target]:
    """Every component that a file of ``folder`` defines."""
    for source in sorted((CHECKOUT / folder).rglob("*.py")):
        module = import_module(".".join(source.relative_to(CHECKOUT).with_suffix("").parts))
        for value in vars(module).values():
            if is_component(value) and value.__module__ == module.__name__:
                yield Target(component=value, source=source, tests=mirrors_of(source))


def is_component(value: object) -> bool:
    """Whether ``value`` is a class of hardware rather than the base of one."""
    return inspect.isclass(value) and issubclass(value, Component) and hasattr(value, "elaborate")


def mirrors_of(source: Path) -> tuple[Path, ...]:
    """The test files of a file of hardware: the one that mirrors it, unless they are elsewhere."""
    name = shown(source)
    if name in ELSEWHERE:
        return tuple(CHECKOUT / "tests" / test for test in ELSEWHERE[name])
    mirror = CHECKOUT / "tests" / Path(name).with_name(f"test_{source.name}")
    return (mirror,) if mirror.exists() else ()


@lru_cache
def closure(path: Path) -> frozenset[Path]:
    """``path`` and the files of hdl and tests that it imports, directly or not."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += imports(file)
    return frozenset(seen)


@lru_cache
def imports(path: Path) -> tuple[Path, ...]:
    """The files of hdl and tests that ``path`` itself imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    files = (CHECKOUT / f"{name.replace('.', '/')}.py" for name in names)
    wanted = (file for file in files if shown(file).startswith(("hdl/", "tests/")))
    return tuple(sorted(file for file in wanted if file.is_file()))
