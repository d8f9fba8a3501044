"""Compiles Verilator's C++ to a simulator: one unit a block, headers and runtime shared."""

import re
import shlex
import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sim.harness.build_tools import JOBS, cocotb_folder, execute, require_verilator
from sim.harness.cache import cached_folder, digest, result_folder
from sim.harness.main_program import MAIN
from sim.harness.verilator_tool import output_of

PROGRAM = "simulation.so"
UNIT = "unit.cpp"  #: file name of what includes all of a design
OPTIONS = "options"  #: file name of the compiler and its options
HEADERS = "runtime.h"
NATIVE = "-march=native"
#: what every design needs of Verilator's own C++; a design's switches do not change it
COMMON = ("verilated", "verilated_dpi", "verilated_threads", "verilated_vpi")
BLOCKS = "blocks"  #: the cache's folder of hierarchical blocks
# Bessel's functions and their like, which nobody calls, would be instantiated in each unit.
HEADER_TEXT = "#define _GLIBCXX_BITS_SPECFUN_H 1\n"
HEADER_TEXT += "".join(f'#include "verilated{part}.h"\n' for part in ("", "_dpi", "_vpi"))
# What runs once, before the first clock edge, is nearly half of a design's code. It is optimised no
# more than it is worth.
HEADER_TEXT += "#undef VL_ATTR_COLD\n"
HEADER_TEXT += '#define VL_ATTR_COLD __attribute__((cold, optimize("O0")))\n'


@dataclass(frozen=True)
class Runtime:
    """Holds Verilator's own C++, compiled."""

    objects: list[str]  #: files to link with
    header: str  #: the compiler's option for the precompiled headers
    compiler: list[str]  #: the compiler, with the options that Verilator's makefile gives it


def compile_all(
    work: Path, *, hierarchical: bool, effort: str, second_main: Path | None = None
) -> None:
    """Compile what Verilator wrote and link it with the shared runtime and cocotb, as a library.

    A design, and each block of it, is one unit for the compiler, cocotb's main included: the
    many units of Verilator's own makefile would each read the same headers again. A design without
    blocks needs no makefile, which would take a third of a small design's time.
    """
    level = f"{effort} -fPIC"
    command = ["make", "-s", f"-j{JOBS}", "VM_PARALLEL_BUILDS=0", *require_verilator().variables]
    runtime = shared_runtime(work, command, level)
    (work / "cocotb").symlink_to(cocotb_folder() / "libs")
    libraries = [f"-L{work / 'cocotb'}", "-lcocotbvpi_verilator"]
    if not hierarchical and second_main is None:
        sources = sorted(path.name for path in work.glob("V*.cpp") if "vm_classes" not in path.name)
        (work / UNIT).write_text("".join(f'#include "{name}"\n' for name in (*sources, MAIN)))
        options = [*runtime.compiler, *shlex.split(f"{level} {runtime.header}"), "-shared"]
        execute([*options, "-o", PROGRAM, UNIT, *runtime.objects, *libraries], work)
        return
    if second_main is None:
        with (work / "Vtop.cpp").open("a") as unit:
            unit.write(f'#include "{MAIN}"\n')
    command += ["VM_GLOBAL_FAST=", "VM_GLOBAL_SLOW=", f"OPT_FAST={level} {runtime.header}"]
    command += ["-f", "Vtop_hier.mk" if hierarchical else "Vtop.mk"]
    # Nothing in the library asks for its main, which the host of simulations calls.
    shared = ["USER_LDFLAGS=-shared -u main"]
    links = f"USER_LDLIBS={shlex.join([*runtime.objects, *libraries])}"
    blocks = known_blocks(work, level) if hierarchical else {}
    execute([*command, *shared, links], work)
    for library, key in blocks.items():
        cached_folder(BLOCKS, key, partial(keep_block, library))
    if second_main is not None:
        link_again(second_main, command, runtime, work)


def known_blocks(work: Path, level: str) -> dict[Path, str]:
    """Copy libraries of blocks compiled before, and return all blocks with keys from their C++.

    Those that were compiled before, for whatever design, are there already: copied, so that make
    finds them newer than their C++.
    """
    result: dict[Path, str] = {}
    for makefile in work.glob("V*/V*.mk"):
        folder = makefile.parent
        if makefile.stem != folder.name:
            continue
        sources = sorted([*folder.glob("*.cpp"), *folder.glob("*.h")])
        texts = [text for path in sources for text in (path.name, path.read_text())]
        library = folder / f"lib{folder.name[1:]}.a"
        result[library] = digest(*texts, level, HEADER_TEXT, *tools(), instructions(level))
        with suppress(FileNotFoundError):
            shutil.copyfile(result_folder(BLOCKS, result[library]) / library.name, library)
    return result


def keep_block(library: Path, folder: Path) -> None:
    """Leave the library of a block in a folder of the cache."""
    shutil.copyfile(library, folder / library.name)


def link_again(main: Path, command: list[str], runtime: Runtime, work: Path) -> None:
    """Link what is compiled with another ``main`` in place of cocotb's."""
    shutil.move(work / PROGRAM, work / "first")
    shutil.copy(main, work)
    others = [f"VM_USER_CLASSES={main.stem}", f"USER_LDLIBS={shlex.join(runtime.objects)}"]
    execute([*command, *others], work)
    shutil.move(work / PROGRAM, work / main.stem)
    shutil.move(work / "first", work / PROGRAM)


def instructions(level: str) -> str:
    """Return the compiler's set of instructions, if it is chosen by this machine."""
    return output_of("g++", NATIVE, "-Q", "--help=target") if NATIVE in level else ""


def tools() -> tuple[str, ...]:
    """Return Verilator and the compiler, with their versions."""
    tool = require_verilator()
    return tool.source, tool.version, output_of("g++", "--version")


def shared_runtime(work: Path, command: list[str], level: str) -> Runtime:
    """Compile Verilator's own C++ once for all designs that use the same of it.

    Objects and headers take ten times longer to compile than a small design, so that designs with
    other switches, for waves or times, share what is the same for all.
    """
    classes = (work / "Vtop_classes.mk").read_text()
    listed = re.search(r"^VM_GLOBAL_FAST \+= \\\n((?:  .*\n)+)", classes, re.M)
    names = re.findall(r"\w+", listed[1]) if listed else []
    switches = re.findall(r"^VM_(?:C11|TIMING|COVERAGE|TRACE\w*) = \d$", classes, re.M)
    own = "-O2 -fPIC"  # once for all: it takes twice the time of -Og, and ports are a tenth faster

    def compiled(required: list[str], *decisive: str) -> Path:
        def make_them(target: Path) -> None:
            options = [f"OPT_GLOBAL={own}", f"OPT_FAST={level}"]
            make = [*command, "-f", "Vtop.mk", *options, *required]
            words = shlex.split(execute([*make, "-n"], work).replace(f"{work}/", ""))
            stored = [word for word in words[1:] if word[:2] in ("-D", "-I", "-f")]
            (target / OPTIONS).write_text(shlex.join([*words[:1], *dict.fromkeys(stored)]))
            execute(make, work)
            for name in required:
                shutil.move(work / name, target / name)
            # What the compiler reads should it ever refuse the precompiled form.
            (target / f"{HEADERS}.fast").write_text(HEADER_TEXT)

        key = digest(*required, *decisive, OPTIONS, *tools())
        return cached_folder("runtime", key, make_them)[0]

    objects: list[Path] = []
    for common in (True, False):
        if part := [f"{name}.o" for name in names if (name in COMMON) is common]:
            objects.append(compiled(part, own, *([] if common else switches)))
    (work / HEADERS).write_text(HEADER_TEXT)
    headers = compiled([f"{HEADERS}.fast.gch"], level, HEADER_TEXT, *switches)
    for path in headers.iterdir():  # work has a path without blanks
        (work / path.name).symlink_to(path)
    linked: list[str] = []
    for index, folder in enumerate(objects):
        (place := work / f"objects_{index}").symlink_to(folder)
        linked += sorted(map(str, place.glob("*.o")))
    compiler = shlex.split((headers / OPTIONS).read_text())
    return Runtime(linked, f"-include {work / HEADERS}.fast", compiler)
