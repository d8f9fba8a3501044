"""Turns Verilog into a program that simulates it: Verilator, make and g++, cached by content."""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from gen.base.emission.branches import with_branches
from gen.base.emission.emit import Emission
from sim.harness.build_tools import (
    JOBS,
    execute,
    require_compiler,
    require_verilator,
    verilator_command,
)
from sim.harness.cache import cached_folder, digest, workplace
from sim.harness.captures import PROBE, taps_of
from sim.harness.compile import NATIVE, PROGRAM, compile_all, instructions
from sim.harness.main_program import MAIN, main_program
from sim.harness.primitives import models_of
from sim.harness.verilator_tool import output_of

WAIVERS = Path(__file__).with_name("waivers.vlt")
OPTIMISE = "INGATHER_OPTIMISE"  #: environment: 0 for short simulations, whatever is asked for
WAVES = "INGATHER_WAVES"  #: environment: not empty for simulators that can write waves


@dataclass(frozen=True)
class Build:
    """Describes a finished simulator of a design."""

    folder: Path
    top: str
    traced: bool = False  #: it can write waves
    captures: bool = False  #: it writes the frames on its links
    built: bool = field(default=False, compare=False)  #: just now, not found in the cache
    seconds: float = field(default=0.0, compare=False)  #: time that it took to build or find
    #: the class of which each module was emitted, by module
    components: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def program(self) -> Path:
        """Return the simulator, a library whose ``main`` :mod:`sim.harness.host` calls."""
        return self.folder / PROGRAM


@dataclass(frozen=True)
class Recipe:
    """Holds all that decides what a simulator becomes."""

    texts: tuple[str, ...]  #: Verilog, the design's first
    top: str
    flags: tuple[str, ...]
    control: str  #: Verilator's own control file
    optimise: bool
    second_main: Path | None = None  #: C++ of another program of the same objects
    #: modules by name, if Verilator is to read each from a file of its own: what it makes of a
    #: block, with the lines that are named in it, is then the same in every design
    modules: Mapping[str, str] = field(default_factory=dict)
    functions: str = ""  #: C++ of the functions that the design imports

    @property
    def covers_blocks(self) -> bool:
        """Return whether coverage is measured of hierarchical blocks too."""
        return {"--hierarchical", "--coverage-toggle"} <= {*self.flags}

    @property
    def main(self) -> str:
        """Return the C++ of the program's ``main``, and of functions that the design calls."""
        return (
            main_program(covers_blocks=self.covers_blocks, own_clock=self.optimise) + self.functions
        )

    @property
    def effort(self) -> str:
        """Return the options that tell the C++ compiler how much to optimise.

        With coverage or waves, the code that watches signals is many times the design's own and
        seldom runs. Other short simulations run as fast with -Og as with -O1, whose compilation
        takes twice as long.
        """
        if self.optimise:
            return f"-O3 {NATIVE}"
        return "-O0" if {"--trace", "--coverage-toggle"} & {*self.flags} else "-Og"

    @property
    def key(self) -> str:
        """Return a key that is equal for equal simulators."""
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
            PROGRAM,
            instructions(self.effort),
            *([self.main] if self.covers_blocks or self.optimise or self.functions else []),
            *([self.second_main.read_text()] if self.second_main else []),
        )


def build(
    emission: Emission | None,
    *,
    top: str | None = None,
    extra_sources: Sequence[Path] = (),
    hier_blocks: Sequence[str] = (),
    waves: bool | None = None,
    coverage: bool = False,
    all_signals: bool = False,
    registers: Sequence[str] = (),
    timing: bool = False,
    optimise: bool = False,
    second_main: Path | None = None,
    functions: Path | None = None,
) -> Build:
    """Make a simulator of ``emission`` and ``extra_sources``, or find the one made before.

    Models of the vendor's primitives join it. ``top`` is the emission's own unless given.
    ``hier_blocks`` names modules that Verilator translates once each, however often they are
    placed. Python sees the ports of the top, and every signal with ``all_signals``; it sees and may
    set ``registers`` of these names in any module, such as a counter, to a value near its end.
    ``waves`` is what ``$INGATHER_WAVES`` says unless given, which ``--waves`` sets; frames on links
    are captured if ``$INGATHER_CAPTURES`` says so.
    ``timing`` lets sources wait for times, as models do that make clocks. ``optimise`` spends more
    on compiling to simulate faster. ``second_main`` has the ``main`` of a program without cocotb,
    which is linked from the same objects and stands in the build's folder under the file's name.
    ``functions`` has the C++ of those that sources import.
    """
    if top is None:
        if emission is None:
            raise ValueError("without an emission, name the top")
        top = emission.top.name
    waves = bool(os.environ.get(WAVES)) if waves is None else waves
    hier_blocks = () if waves else hier_blocks  # Verilator does not trace what is in a block.
    taps = taps_of(emission)  # a probe names its place, which a block does not know
    hier_blocks = [name for name in hier_blocks if name not in taps]
    if coverage and emission is not None:
        emission = with_branches(emission)
    texts = [emission.verilog] if emission is not None else []
    sources = (*models_of("".join(texts)), *extra_sources, *([PROBE] if taps else []))
    optimise = optimise and not waves and os.environ.get(OPTIMISE) != "0"
    recipe = Recipe(
        texts=(*texts, *(path.read_text() for path in sources), *taps.values()),
        top=top,
        flags=verilator_flags(bool(hier_blocks), waves, coverage, all_signals, timing, optimise),
        control=control_file(top, hier_blocks, registers, watched=coverage or all_signals),
        optimise=optimise,
        second_main=second_main,
        modules=modules_of(emission) if hier_blocks and not coverage else {},
        functions=functions.read_text() if functions else "",
    )
    start = time.monotonic()
    folder, fresh = cached_folder("sim", recipe.key, lambda target: make(recipe, target))
    seconds = time.monotonic() - start
    tally(f"built {recipe.key} {seconds:.1f}" if fresh else f"found {recipe.key}")
    return Build(folder, top, waves, bool(taps), fresh, seconds, components_of(emission))


def modules_of(emission: Emission | None) -> dict[str, str]:
    """Return the Verilog of each module, by name."""
    return {} if emission is None else {m.name: m.verilog for m in emission.modules.values()}


def components_of(emission: Emission | None) -> dict[str, str]:
    """Return the class that each module was emitted from, by the module's name."""
    modules = emission.modules.values() if emission is not None else ()
    return {module.name: class_path(module.kind) for module in modules}


def class_path(kind: type) -> str:
    """Return the path of a class: ``hdl.common.fifo.Fifo``."""
    return f"{kind.__module__}.{kind.__qualname__}"


def verilator_flags(
    hier: bool, waves: bool, coverage: bool, all_signals: bool, timing: bool, optimise: bool
) -> tuple[str, ...]:
    """Return Verilator's flags: those that differ from build to build, and the fixed ones."""
    flags = ["--cc", "--exe", "--vpi", "-O3", "-Wall", "--prefix", "Vtop"]
    flags += ["--hierarchical"] * hier + ["--trace"] * waves + ["--timing"] * timing
    flags += ["--public-flat-rw"] * all_signals
    # A compiler that optimises little takes a quarter longer for functions of a megabyte, and the
    # names of all signals as one function would take it many minutes.
    flags += ["--output-split-cfuncs", "200"] * (all_signals or not optimise)
    flags += ["--coverage-line", "--coverage-toggle"] * coverage
    return tuple(flags)


def control_file(
    top: str, hier_blocks: Sequence[str], registers: Sequence[str] = (), *, watched: bool
) -> str:
    """Return the control file: which signals Python can see, which modules are blocks."""
    lines = ["`verilator_config", f'public_flat_rw -module "{top}" -port "*"']
    lines += [f'public_flat_rw -module "*" -var "{name}"' for name in registers]
    lines += [f'hier_block -module "{name}"' for name in hier_blocks]
    # Verilator does not look into a block for paths, nor take a signal apart that is ``watched``,
    # and so sees loops where there are none; and it takes an input that a block passes on to
    # another block for an asynchronous reset.
    lines += ["lint_off -rule UNOPTFLAT"] * (watched or bool(hier_blocks))
    lines += ["lint_off -rule SYNCASYNCNET"] * bool(hier_blocks)
    return "\n".join(lines) + "\n"


def tally(line: str) -> None:
    """Append to the file ``$INGATHER_TALLY``, from which a test session counts its builds."""
    if path := os.environ.get("INGATHER_TALLY"):
        with open(path, "a") as file:
            file.write(line + "\n")


def make(recipe: Recipe, target: Path) -> None:
    """Translate, compile and link ``recipe``; leave the program and its sources in ``target``."""
    require_compiler()
    with workplace() as work:
        sources = []
        for index, text in enumerate(recipe.texts):
            sources.append(f"source_{index}.sv" if index else "design.v")
            (work / sources[-1]).write_text(text)
        for name, text in recipe.modules.items():
            (work / f"{name}.v").write_text(text)
        (work / "control.vlt").write_text(recipe.control)
        shutil.copy(WAIVERS, work / WAIVERS.name)
        (work / MAIN).write_text(recipe.main)
        command = [*verilator_command(work), *recipe.flags, "--top-module", recipe.top]
        command += ["-o", PROGRAM, "-Mdir", ".", "-j", str(JOBS)]
        command += [MAIN] * (recipe.second_main is not None)
        design = [f"{name}.v" for name in recipe.modules] or sources[:1]
        execute([*command, WAIVERS.name, "control.vlt", *design, *sources[1:]], work)
        compile_all(
            work,
            hierarchical="--hierarchical" in recipe.flags,
            effort=recipe.effort,
            second_main=recipe.second_main,
        )
        programs = [PROGRAM] + ([recipe.second_main.stem] if recipe.second_main else [])
        for name in (*programs, *sources):
            shutil.move(work / name, target / name)
