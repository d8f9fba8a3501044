"""Writes generated folders, and runs programs in them without the project."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from gen.designs.catalogue import designs, find_design
from gen.designs.design import load
from gen.output.manifest import write_design
from sim.harness.emissions import emission_of

#: an import of the project ends a program, wherever it is installed
POISON = 'raise ImportError("the generated folder imports the project")\n'
WITH_SOFTWARE = [name for name, design in designs().items() if design.software]


def write(name, preset, folder, **changes):
    """Write the folder of a design; return its parameters."""
    design = find_design(name)
    params = design.params_of(preset, **changes)
    emission = emission_of(design.make(params), generated=True)
    write_design(folder, emission, design=name, preset=preset, settings=changes)
    return params


def software_of(name):
    """Return the host software of a design with its usual parameters."""
    design = find_design(name)
    return load(design.software)(design.params_of())


def poisoned(folder):
    """Return a folder that hides the project from a Python that has it on its path."""
    for name in ("gen", "hdl", "sim", "ingather"):
        (folder / f"{name}.py").write_text(POISON)
    return folder


def run(program, folder, *arguments):
    """Run a program with the generated folder and NumPy on its path, and nothing else."""
    packages = Path(np.__file__).parents[1]
    before = f"import sys; sys.dont_write_bytecode = True; sys.path += [{str(folder)!r}]\n"
    after = f"sys.path += [{str(packages)!r}]\n"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", before + after + program, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
