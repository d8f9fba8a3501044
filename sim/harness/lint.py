"""Lints a design with Verilator."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from gen.base.emission.emit import WAIVERS, Emission, EmittedModule
from sim.harness.build_tools import execute, require_verilator, verilator_command
from sim.harness.cache import cached_folder, digest, workplace
from sim.harness.primitives import models_of

ONCE = 1_000_000  #: characters; copies of a module that come to more are looked at once, alone


def lint(emission: Emission, waivers: Path = WAIVERS) -> None:
    """Raise BuildError unless Verilator accepts ``emission`` with no warning but the ``waivers``.

    It takes every instance for a module of its own. What stands in a design so often that this
    takes long is looked at by itself, and as a shell where it stands. What was accepted once is
    not looked at again.
    """
    tool = require_verilator()
    for top, texts in parts(emission):
        sources = [waivers, *models_of("".join(texts.values()))]
        said = {path.name: path.read_text() for path in sources}
        said |= {f"{name}.v": text for name, text in texts.items()}
        key = digest(tool.source, tool.version, top, *said, *said.values())
        cached_folder("lint", key, lambda _, top=top, said=said: accept(top, said))


def accept(top: str, texts: Mapping[str, str]) -> None:
    """Raise BuildError unless Verilator accepts files of these texts, by name."""
    with workplace() as work:
        for name, text in texts.items():
            (work / name).write_text(text)
        command = [*verilator_command(work), "--lint-only", "-Wall", "--top-module", top]
        execute([*command, *texts], work)


def parts(emission: Emission) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield tops to lint, each with the texts of its modules."""
    shells = often(emission)
    if not shells:
        yield emission.top.name, {name: m.verilog for name, m in emission.modules.items()}
        return
    for top in (*shells, emission.top.name):
        texts = {}
        waiting = [top]
        while waiting:
            module = emission.modules[waiting.pop()]
            if module.name in texts:
                continue
            is_shell = module.name in shells and module.name != top
            texts[module.name] = shell(module) if is_shell else module.verilog
            waiting += [] if is_shell else module.instances
        yield top, texts


def often(emission: Emission) -> list[str]:
    """Return the modules, not one inside another, whose copies make a design large."""
    whole: dict[str, int] = {}
    for name, module in emission.modules.items():  # children first
        inside = sum(whole[child] * times for child, times in module.instances.items())
        whole[name] = len(module.verilog) + inside
    counts = emission.counts()
    large = [name for name in whole if (counts[name] - 1) * whole[name] > ONCE]
    inside = {child for name in large for child in below(emission, name)}
    return [name for name in large if name not in inside]


def below(emission: Emission, name: str) -> set[str]:
    """Collect the names of all modules below ``name``."""
    result: set[str] = set()
    waiting = [*emission.modules[name].instances]
    while waiting:
        child = waiting.pop()
        if child not in result:
            result.add(child)
            waiting += emission.modules[child].instances
    return result


def shell(module: EmittedModule) -> str:
    """Return a module of the same ports that gives zeros."""
    ports = module.ports
    lines = [f"module {module.name}({', '.join(port.name for port in ports)});"]
    lines += [f"  {port.direction} [{port.bits - 1}:0] {port.name};" for port in ports]
    lines += [f"  assign {port.name} = 0;" for port in ports if port.direction == "output"]
    return "\n".join([*lines, "endmodule", ""])
