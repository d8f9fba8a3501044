"""Builds the Verilog of this folder with Verilator and runs the cocotb bench beside this file.

    python bench/run.py [+NAME=VALUE]...
    python bench/run.py --simulator icarus --standard 2005

Arguments that begin with + go to the bench, which says what it takes: with +reset=N, each bench
holds its reset for N cycles. Needs Python 3.11 or newer, a C++ compiler, make, perl, Verilator
5.036 or newer, which the Python package verilator may bring, and the Python packages cocotb (2.1 or
newer), cocotbext-axi and numpy, for a gather engine also cocotbext-pcie. What it builds goes into a
folder beside the generated one unless ``--build`` names another. Icarus Verilog (11 or newer) knows
what was never written: with it the bench fails, too, where an output is unknown that somebody reads
(known.py).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # the folder stays as it was generated
from sim.harness.verilator_tool import find_verilator, no_compiler, no_verilator  # noqa: E402

BENCH = Path(__file__).resolve().parent
DESIGN = BENCH.parent
PACKAGES = ("cocotb", "cocotbext", "numpy")
LINKS, LIBRARIES, SEEN = Path("verilator"), Path("libraries"), Path("seen.vlt")
# A name may be a word of C++. Signals that cocotb sees are not divided, so that parts of one may
# seem to depend on themselves.
WAIVED = ("-Wno-lint", "-Wno-style", "-Wno-SYMRSVDWORD", "-Wno-UNOPTFLAT")


def main() -> None:
    """Build and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = DESIGN.with_name(f"{DESIGN.name}-bench")
    parser.add_argument("--build", type=Path, default=default, help="build in this folder")
    parser.add_argument("--waves", action="store_true", help="write waves (dump.vcd) there")
    parser.add_argument("--optimise", action="store_true", help="compile for long simulations")
    parser.add_argument(
        "--simulator", choices=("verilator", "icarus"), default="verilator", help="simulate by it"
    )
    parser.add_argument(
        "--standard", choices=("2005", "2012"), default="2012", help="read the Verilog so in Icarus"
    )
    requested, others = parser.parse_known_args()
    if wrong := [argument for argument in others if not argument.startswith("+")]:
        parser.error(f"unknown argument {wrong[0]}")
    missing = [f"no {name}: `pip install {name}`" for name in PACKAGES if find_spec(name) is None]
    icarus = requested.simulator == "icarus"
    tools = [no_icarus()] if icarus else [no_verilator(), no_compiler()]
    if trouble := [*filter(None, tools), *missing]:
        sys.exit(f"run.py: {trouble[0]}")
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    sys.path[:0] = [str(DESIGN), str(BENCH)]  # the simulator's Python gets the same path
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    # Models of buses use names that a later cocotb will not have, which concerns only their makers.
    os.environ.setdefault("PYTHONWARNINGS", "ignore::DeprecationWarning")
    top = json.loads((DESIGN / "manifest.json").read_text())["top"]
    plusargs = [whole(argument) for argument in others]
    requested.build.mkdir(parents=True, exist_ok=True)
    os.chdir(requested.build)
    print(f"building the simulator in {Path.cwd()} ...", flush=True)
    (test,) = (path.stem for path in BENCH.glob("*.py") if "\n@cocotb" in path.read_text())
    runner: Any = get_runner(requested.simulator)
    if icarus:
        # What nobody reads may be anything to models of buses that read it.
        os.environ["COCOTB_RESOLVE_X"] = "random"
        os.environ["BENCH"], test = test, "known"
        elaborated(runner, top, requested.standard, requested.waves)
    else:
        compiled(top, requested.waves, "-Os" if requested.optimise else "-O0")
        os.environ["LD_LIBRARY_PATH"] = str(LIBRARIES.resolve())
    results = runner.test(
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        test_module=test,
        build_dir=".",
        test_dir=".",
        plusargs=plusargs,
        waves=requested.waves,
    )
    tests, failed = get_results(results)
    sys.exit(f"{failed} of {tests} tests failed" if failed or not tests else 0)


def whole(argument: str) -> str:
    """Return ``+NAME=VALUE`` with the whole path of a file, which the bench reads elsewhere."""
    name, equal, value = argument.partition("=")
    return f"{name}={Path(value).resolve()}" if equal and Path(value).is_file() else argument


def no_icarus() -> str:
    """Return in a line what is wrong with Icarus Verilog, and the mend; empty if nothing is."""
    return "" if shutil.which("iverilog") else "no Icarus Verilog: `apt install iverilog`"


def sources() -> list[Path]:
    """Return the design's files, children first, and models of the vendor's primitives."""
    listed = (DESIGN / name for name in (DESIGN / "filelist.f").read_text().split())
    return [*listed, *sorted(BENCH.glob("*.v"))]


def elaborated(runner: Any, top: str, standard: str, waves: bool) -> None:
    """Let Icarus Verilog read the design, in the working folder."""
    try:
        runner.build(
            sources=sources(),
            hdl_toplevel=top,
            build_args=[f"-g{standard}"],
            timescale=("1ns", "1ps"),
            build_dir=".",
            always=True,
            waves=waves,
        )
    except RuntimeError:
        sys.exit(f"run.py: iverilog failed, in {Path.cwd()}")


def compiled(top: str, waves: bool, effort: str) -> None:
    """Build the simulator in the working folder, by names without blanks, which make needs."""
    from cocotb_tools.config import libs_dir, share_dir

    tool = find_verilator()
    assert tool is not None
    shutil.rmtree(LINKS, ignore_errors=True)
    LIBRARIES.unlink(missing_ok=True)
    LIBRARIES.symlink_to(libs_dir)
    files = [share_dir / "lib" / "verilator" / "verilator.cpp", *sources()]
    for source in files:
        shutil.copy2(source, source.name)
    # Only ports are seen: a name for every signal takes most of the compiler's time.
    SEEN.write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -port "*"\n')
    translate = [
        *tool.command(LINKS),
        "--cc",
        "--exe",
        "--vpi",
        "--quiet-stats",
        str(SEEN),
        *WAIVED,
    ]
    translate += ["--prefix", "Vtop", "-Mdir", ".", "--top-module", top, "-o", top]
    translate += ["--trace"] * waves + ["-LDFLAGS", f"-L{LIBRARIES} -lcocotbvpi_verilator"]
    # Verilator's makefile refuses a folder with blanks, which it does not name.
    make = ["make", "--silent", f"-j{os.cpu_count()}", "-f", "Vtop.mk", "CURDIR=.", *tool.variables]
    # One unit, as each would read the same headers again.
    make += ["VM_PARALLEL_BUILDS=0", f"OPT_FAST={effort}", f"OPT_GLOBAL={effort}"]
    environment = os.environ | {"MAKEFLAGS": ""} | tool.environment(LINKS)
    for command in ([*translate, *(source.name for source in files)], make):
        if subprocess.run(command, env=environment, check=False).returncode:
            sys.exit(f"run.py: {command[0]} failed, in {Path.cwd()}")


if __name__ == "__main__":
    main()
