"""Builds the Verilog of this folder with Verilator and runs the cocotb bench beside this file.

    python bench/run.py [+NAME=VALUE]...

Arguments that begin with + go to the bench, which says what it takes. Needs Python 3.11 or newer,
Verilator 5.036 or newer, a C++ compiler, make, and the Python packages cocotb (2.1 or newer),
cocotbext-axi and numpy, for a gather engine also cocotbext-pcie. What it builds goes into a folder
beside the generated one unless ``--build`` names another.
"""

import argparse
import json
import os
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
DESIGN = BENCH.parent


def main() -> None:
    """Build and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = DESIGN.with_name(f"{DESIGN.name}-bench")
    parser.add_argument("--build", type=Path, default=default, help="build in this folder")
    parser.add_argument("--waves", action="store_true", help="write waves (dump.vcd) there")
    asked, others = parser.parse_known_args()
    if wrong := [argument for argument in others if not argument.startswith("+")]:
        parser.error(f"unknown argument {wrong[0]}")
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    sys.path[:0] = [str(DESIGN), str(BENCH)]  # the simulator's Python gets the same path
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # the folder stays as it was generated
    build = asked.build.resolve()
    top = json.loads((DESIGN / "manifest.json").read_text())["top"]
    models = sorted(BENCH.glob("*.v"))  # of the vendor's primitives
    runner = get_runner("verilator")
    runner.build(
        sources=[*(DESIGN / name for name in (DESIGN / "filelist.f").read_text().split()), *models],
        hdl_toplevel=top,
        build_dir=build,
        # A name may be a word of C++. Signals that cocotb sees are not divided, so that parts of
        # one may seem to depend on themselves.
        build_args=["-Wno-lint", "-Wno-style", "-Wno-SYMRSVDWORD", "-Wno-UNOPTFLAT"],
        waves=asked.waves,
    )
    (test,) = (path.stem for path in BENCH.glob("*.py") if path.name != Path(__file__).name)
    results = runner.test(
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        test_module=test,
        build_dir=build,
        test_dir=build,
        plusargs=others,
        waves=asked.waves,
    )
    tests, failed = get_results(results)
    sys.exit(f"{failed} of {tests} tests failed" if failed or not tests else 0)


if __name__ == "__main__":
    main()
