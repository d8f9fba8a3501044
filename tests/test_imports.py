"""Checks that arrows point one way: what each folder may import."""

import ast
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STANDARD = set(sys.stdlib_module_names)
BOARDS = ["u280"]
NEUTRAL = ["common", "pcie", "switch"]  #: of no system, each may import those before it
SYSTEMS = sorted(
    path.name
    for path in (ROOT / "hdl").iterdir()
    if path.is_dir() and path.name not in ("__pycache__", *NEUTRAL, *BOARDS)
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
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield from ((path.relative_to(ROOT), name) for name in imported(path))


def starts(name, *prefixes):
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def test_hdl_imports_only_amaranth():
    allowed = STANDARD | {"amaranth", "hdl"}
    assert [i for i in imports_of("hdl") if i[1].partition(".")[0] not in allowed] == []


@pytest.mark.parametrize("folder", NEUTRAL)
def test_what_is_of_no_system_imports_none(folder):
    behind = NEUTRAL[NEUTRAL.index(folder) + 1 :]
    foreign = [f"hdl.{name}" for name in behind + SYSTEMS + BOARDS]
    assert [i for i in imports_of(f"hdl/{folder}") if starts(i[1], *foreign)] == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_systems_do_not_import_each_other(system):
    others = [f"hdl.{other}" for other in SYSTEMS + BOARDS if other != system]
    assert [i for i in imports_of(f"hdl/{system}") if starts(i[1], *others)] == []


#: MINA has no switch of its own: it adds tenancy and trees to P4SGD's, which its simulations build
MINA_SWITCH = ("hdl.p4sgd.network", "hdl.p4sgd.switch", "sim.p4sgd.tree_driver")


@pytest.mark.parametrize("system", SYSTEMS)
def test_systems_do_not_import_each_other_in_simulations(system):
    others = [f"{top}.{other}" for top in ("hdl", "sim") for other in SYSTEMS if other != system]
    foreign = [i for i in imports_of(f"sim/{system}") if starts(i[1], *others)]
    assert [i for i in foreign if system != "mina" or not starts(i[1], *MINA_SWITCH)] == []


def test_what_is_of_no_system_in_simulations_imports_none():
    systems = [f"{top}.{system}" for top in ("hdl", "sim") for system in SYSTEMS]
    foreign = [i for i in imports_of("sim") if starts(i[1], *systems)]
    assert [i for i in foreign if i[0].parts[1] not in SYSTEMS] == []


SPECIFICATIONS = [
    "sim/golden",
    "sim/gather/golden",
    "sim/p4sgd/golden",
    "sim/netsparse/golden",
    "sim/switchgnn/golden",
    "sim/mina/golden",
    "sim/mina/agreement",
    "sim/netsparse/microarchitecture",
    "sim/workloads",
]


@pytest.mark.parametrize("folder", SPECIFICATIONS)
def test_specifications_know_no_hardware(folder):
    assert [i for i in imports_of(folder) if starts(i[1], "hdl", "gen", "amaranth")] == []


BASE = "gen.base"  #: below sim, with hdl alone below it; the rest of gen is above sim


def test_base_imports_of_ours_only_hdl():
    wrong = [i for i in imports_of("gen/base") if starts(i[1], "gen", "sim", "tests")]
    assert [i for i in wrong if not starts(i[1], BASE)] == []


def test_sim_imports_of_gen_only_base():
    assert [i for i in imports_of("sim") if starts(i[1], "gen") and not starts(i[1], BASE)] == []


def test_golden_models_follow_no_model_of_the_hardware():
    golden = [i for folder in SPECIFICATIONS if "golden" in folder for i in imports_of(folder)]
    assert [i for i in golden if ".microarchitecture." in i[1]] == []


def test_contributors_are_told_all_systems():
    rooms = (ROOT / "CONTRIBUTING.md").read_text().partition("**Rooms**")[2].partition("- **")[0]
    assert f"({', '.join(f'`{system}`' for system in SYSTEMS)})" in rooms


#: the command line, sweeps and tutorials, which alone run simulations, and keep them in the cache
MAY_SIMULATE = (
    "gen/api",
    "gen/cli",
    "gen/commands",
    "gen/sweep",
    "gen/tutorials",
    "gen/verify",
)
#: modules that are copied into generated folders, with the specifications that they import
COPIED = "gen/software/emitted"
BENCHES = "gen/software/bench"  #: scripts that are copied, too


def test_gen_takes_sim_only_in_the_command_line():
    simulating = [i for i in imports_of("gen") if starts(i[1], "sim")]
    assert [
        i for i in simulating if not str(i[0]).startswith((*MAY_SIMULATE, COPIED, BENCHES))
    ] == []


def test_what_users_get_knows_only_specifications():
    known = [COPIED.replace("/", "."), "sim.p4sgd.run_settings", "sim.surroundings.pcie_host"]
    known += ["numpy", "cocotb", "cocotbext"]
    known += [folder.replace("/", ".") for folder in SPECIFICATIONS] + sorted(STANDARD)
    assert [i for i in imports_of(COPIED) if not starts(i[1], *known)] == []


def test_nobody_imports_tests():
    for folder in ("hdl", "gen", "sim"):
        assert [i for i in imports_of(folder) if starts(i[1], "tests")] == []


#: a simulation that measures coverage starts what watches its ports, which needs a library of its
#: own; nothing else of the harness knows of it
COVERAGE = ("sim.harness", "sim.functional")


def folder_of(module):
    """Return the folder of a module; a system of hdl is one, with its tops and their params."""
    folders = module.split(".")[:-1]
    return ".".join(folders[:2] if folders[0] == "hdl" else folders)


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


def test_arrows_between_files_make_no_circle():
    """Imports in functions count, too, and those for a type checker alone."""
    files = [i for top in ("hdl", "gen", "sim", "tests") for i in imports_of(top)]
    arrows = {(path, file) for path, name in files if (file := file_of(name))}
    assert circle_of(arrows) is None


def test_arrows_between_folders_make_no_circle():
    arrows = set()
    for path, name in (i for top in ("hdl", "gen", "sim") for i in imports_of(top)):
        file = ROOT.joinpath(*name.split(".")).with_suffix(".py")
        if file.is_file() and file.parent != ROOT:
            arrows.add((folder_of(".".join(path.with_suffix("").parts)), folder_of(name)))
    assert circle_of({(a, b) for a, b in arrows if a != b} - {COVERAGE}) is None


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
