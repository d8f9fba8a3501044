"""Checks that arrows point one way: what each folder may import."""

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STANDARD = set(sys.stdlib_module_names)
BOARDS = ["opennic", "u280", "vitis"]
JOINS = ["network_switch"]  #: designs that are made of several systems, which boards may import
NEUTRAL = ["common", "pcie", "switch"]  #: of no system, each may import those before it
SYSTEMS = sorted(
    path.name
    for path in (ROOT / "hdl").iterdir()
    if path.is_dir() and path.name not in ("__pycache__", *NEUTRAL, *JOINS, *BOARDS)
)


@cache
def imported(path):
    return tuple(names_imported(path))


def names_imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_of(folder):
    """Yield files and what they import, of a folder, or of one file."""
    place = ROOT / folder
    for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        yield from ((path.relative_to(ROOT), name) for name in imported(path))


def starts(name, *prefixes):
    return any(
        name == prefix or name.startswith((f"{prefix}.", f"{prefix}/")) for prefix in prefixes
    )


def test_one_function_loads_yosys():
    """``import pyosys`` changes how this process loads every later library: see native_yosys."""
    files = {
        i[0].as_posix()
        for top in ("gen", "sim", "tests")
        for i in imports_of(top)
        if starts(i[1], "pyosys")
    }
    assert files == {"tests/formal/native_yosys.py"}, "call gen.base.emission.yosys.native_yosys"


def test_hdl_imports_only_amaranth():
    allowed = STANDARD | {"amaranth", "hdl"}
    assert [i for i in imports_of("hdl") if i[1].partition(".")[0] not in allowed] == []


#: what is specified by papers and standards, without hardware
SPECIFICATIONS = [
    *(f"sim/{path.parent.name}/golden" for path in sorted((ROOT / "sim").glob("*/golden"))),
    "sim/golden",
    "sim/mina/agreement",
    "sim/netsparse/microarchitecture",
    "sim/workloads",
]
#: modules that are copied into generated folders, with the specifications that they import
COPIED = [
    "sim/host",
    *(f"sim/{system}/host" for system in ("gather", "netsparse", "p4sgd", "switchgnn")),
]
#: folders of gen that run simulations and keep them in the cache, and what copies modules of sim
MAY_SIMULATE = [f"gen/{name}" for name in ("api.py", "commands", "sweep", "tutorials", "verify")]
MAY_SIMULATE += ["gen/cli.py", "gen/software", "gen/torch_loader.py"]
#: MINA has no switch of its own: it adds tenancy and trees to P4SGD's, which its simulations build
MINA_SWITCH = ["hdl.p4sgd.network", "hdl.p4sgd.switch", "sim.p4sgd.switch_side"]


def rules():
    """Yield folders of one kind, what they may not import, and what of it they may."""
    for folder in NEUTRAL:
        behind = NEUTRAL[NEUTRAL.index(folder) + 1 :] + SYSTEMS + JOINS + BOARDS
        yield [f"hdl/{folder}"], [f"hdl.{name}" for name in behind], []
    for system in SYSTEMS:
        others = [other for other in SYSTEMS if other != system]
        yield [f"hdl/{system}"], [f"hdl.{name}" for name in others + JOINS + BOARDS], []
        others = [f"{top}.{other}" for top in ("hdl", "sim") for other in others + JOINS]
        yield [f"sim/{system}"], others, MINA_SWITCH if system == "mina" else []
    yield [f"hdl/{name}" for name in JOINS], [f"hdl.{name}" for name in BOARDS], []
    neutral = {i[0].parts[1] for i in imports_of("sim")} - {*SYSTEMS, *JOINS}
    systems = [f"{top}.{name}" for top in ("hdl", "sim") for name in SYSTEMS + JOINS]
    yield [f"sim/{name}" for name in sorted(neutral)], systems, []
    yield SPECIFICATIONS, ["hdl", "gen", "amaranth"], []
    golden = [folder for folder in SPECIFICATIONS if folder.endswith("golden")]
    yield golden, ["sim.netsparse.microarchitecture"], []
    yield ["gen/base"], ["gen", "sim"], ["gen.base"]
    yield ["sim"], ["gen"], ["gen.base"]
    rest = {path.relative_to(ROOT).as_posix() for path in (ROOT / "gen").rglob("*.py")}
    yield sorted(file for file in rest if not starts(file, *MAY_SIMULATE)), ["sim"], []
    yield ["hdl", "gen", "sim"], ["tests"], []


@pytest.mark.parametrize(
    ("folders", "foreign", "allowed"), [pytest.param(*rule, id=rule[0][0]) for rule in rules()]
)
def test_imports(folders, foreign, allowed):
    result = [i for folder in folders for i in imports_of(folder) if starts(i[1], *foreign)]
    assert [i for i in result if not starts(i[1], *allowed)] == []


def test_what_tests_share_is_in_no_test_file():
    """A test file that another imports hides what is shared, and brings fixtures along."""
    assert [i for i in imports_of("tests") if re.match(r"tests\..*\btest_", i[1])] == []


def test_what_users_get_knows_only_specifications():
    known = [*(folder.replace("/", ".") for folder in COPIED), "sim.p4sgd.run_settings"]
    known.append("sim.surroundings.pcie_host")
    known += ["numpy", "cocotb", "cocotbext", "torch"]
    known += [folder.replace("/", ".") for folder in SPECIFICATIONS] + sorted(STANDARD)
    assert [i for folder in COPIED for i in imports_of(folder) if not starts(i[1], *known)] == []


def test_contributors_are_informed_of_all_systems():
    rooms = (ROOT / "CONTRIBUTING.md").read_text().partition("**Rooms**")[2].partition("- **")[0]
    assert f"({', '.join(f'`{system}`' for system in SYSTEMS)})" in rooms


#: a simulation that measures coverage starts what watches its ports, which needs a library of its
#: own; nothing else of the harness knows of it
COVERAGE = (("sim", "harness"), ("sim", "functional"))


def file_of(name):
    """Return the file of a module or of what it has, below the root; None if it is not ours."""
    for path in (ROOT.joinpath(*name.split(".")), ROOT.joinpath(*name.split(".")[:-1])):
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if path != ROOT and file.is_file():
                return file.relative_to(ROOT)
    return None


def circle_of(arrows):
    """Return a circle of ``arrows``, which are pairs, or None if there is none."""
    below = {}
    for a, b in arrows:
        below.setdefault(a, set()).add(b)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        return error.args[1]


def arrows(*tops):
    """Yield files and those that they import, in functions or for a type checker alone, too."""
    for path, name in (i for top in tops for i in imports_of(top)):
        if (file := file_of(name)) and file.parent != Path():
            yield path, file


def test_arrows_between_files_make_no_circle():
    assert circle_of(arrows("hdl", "gen", "sim", "tests")) is None


def test_arrows_between_rooms_make_no_circle():
    """A room is a folder such as ``hdl/p4sgd``, with all below it, or a file beside them."""
    result = {(a.parts[:2], b.parts[:2]) for a, b in arrows("hdl", "gen", "sim")} - {COVERAGE}
    assert circle_of((a, b) for a, b in result if a != b) is None


def test_no_file_is_empty():
    """Folders are packages without one; only the tops and a user's package have an ``__init__``."""
    tops = ("gen", "hdl", "sim", "tests", "gen/tutorials/tally/tally", "gen/tutorials/tally/tests")
    empty = [
        p
        for top in ("gen", "hdl", "sim", "tests")
        for p in (ROOT / top).rglob("*.py")
        if not p.stat().st_size
    ]
    assert sorted(p.parent.relative_to(ROOT).as_posix() for p in empty) == sorted(tops)
